import { isMap, isScalar, isSeq, type Node, parseDocument } from "yaml";
import { DEFAULT_BOUNDS } from "../../../domain/manifest/bounds.ts";
import { readConfigDocument } from "../../../domain/manifest/document.ts";
import type { Path } from "../../../domain/manifest/positions.ts";

/** What is being written at a place of a `config.yaml`. Offsets count from the beginning of the text. */
export interface ConfigPlace {
  /** `key`: the name of a key of the map at `path`. `value`: the value at `path`. */
  readonly kind: "key" | "value";
  readonly path: Path;
  /** The word that is there already, up to the cursor and behind it. */
  readonly from: number;
  readonly to: number;
  /** The whole file as far as it can be read, with the word left out. */
  readonly data: unknown;
  /** Keys are written in braces on one line here. */
  readonly flow: boolean;
  /** How far the line of the key is indented. */
  readonly indent: number;
}

/** Stands for the word at the cursor while the text is read. */
const MARK = "__here__";

/** What is being written at the cursor, so that it can be completed; undefined in comments and in text that cannot be read. */
export function findConfigPlace(text: string, cursor: number): ConfigPlace | undefined {
  const lineStart = text.lastIndexOf("\n", cursor - 1) + 1;
  const lineEnd = text.indexOf("\n", cursor) === -1 ? text.length : text.indexOf("\n", cursor);
  const before = text.slice(lineStart, cursor);
  if (/(^|\s)#/.test(before)) return undefined;
  const from = cursor - (/[\w./+-]*$/.exec(before)?.[0].length ?? 0);
  const to = cursor + (/^[\w./+-]*/.exec(text.slice(cursor, lineEnd))?.[0].length ?? 0);
  const lead = text.slice(lineStart, from);
  const rest = text.slice(to, lineEnd);
  const isValue = /[^\s]\s*:\s+["']?$/.test(lead) || /\[[^\]]*$/.test(lead);
  const isKey = !isValue && (/^\s*(-\s+)*["']?$/.test(lead) || /[{,]\s*$/.test(lead));
  if (!isValue && !isKey) return undefined;
  const hasColon = /^["']?\s*:/.test(rest);
  const marked = `${text.slice(0, from)}${MARK}${isKey && !hasColon ? ":" : ""}${text.slice(to)}`;
  const read = readMarked(marked);
  if (read === undefined) return undefined;
  const indent = /^[\s-]*/.exec(lead)?.[0].length ?? 0;
  return { ...read, from, to, indent };
}

function readMarked(text: string): Pick<ConfigPlace, "kind" | "path" | "data" | "flow"> | undefined {
  const { readable, value } = readConfigDocument(text, DEFAULT_BOUNDS.configBytesMax);
  if (!readable) return undefined;
  const root = parseDocument(text, { version: "1.2", schema: "core", logLevel: "silent" }).contents as Node | null;
  const found = findMark(root, []);
  return found && { ...found, data: value };
}

type Found = Pick<ConfigPlace, "kind" | "path" | "flow">;

function findMark(node: unknown, path: Path): Found | undefined {
  if (isScalar(node)) return node.value === MARK ? { kind: "value", path, flow: false } : undefined;
  if (isSeq(node)) {
    for (const [index, item] of node.items.entries()) {
      const found = findMark(item, [...path, index]);
      if (found) return found;
    }
    return undefined;
  }
  if (!isMap(node)) return undefined;
  for (const { key, value } of node.items) {
    const name = isScalar(key) ? String(key.value) : "";
    if (name === MARK) return { kind: "key", path, flow: node.flow === true };
    const found = findMark(value, [...path, name]);
    if (found) return found;
  }
  return undefined;
}

/** A key or value that stands in a `config.yaml`, and where. */
export interface ConfigNode {
  readonly kind: "key" | "value";
  /** Of the value; of a key, of the value that it has. */
  readonly path: Path;
  readonly from: number;
  readonly to: number;
  readonly data: unknown;
}

/** What stands at a place of the text; undefined between nodes and in text that cannot be read. */
export function findConfigNode(text: string, offset: number): ConfigNode | undefined {
  const { readable, value } = readConfigDocument(text, DEFAULT_BOUNDS.configBytesMax);
  if (!readable) return undefined;
  const root = parseDocument(text, { version: "1.2", schema: "core", logLevel: "silent" }).contents as Node | null;
  const found = findNode(root, [], offset);
  return found && { ...found, data: value };
}

function findNode(node: unknown, path: Path, offset: number): Omit<ConfigNode, "data"> | undefined {
  if (isScalar(node)) {
    const range = rangeAt(node, offset);
    return range && { kind: "value", path, ...range };
  }
  if (isSeq(node)) {
    for (const [index, item] of node.items.entries()) {
      const found = findNode(item, [...path, index], offset);
      if (found) return found;
    }
    return undefined;
  }
  if (!isMap(node)) return undefined;
  for (const { key, value } of node.items) {
    if (!isScalar(key)) continue;
    const inner = [...path, String(key.value)];
    const range = rangeAt(key, offset);
    if (range) return { kind: "key", path: inner, ...range };
    const found = findNode(value, inner, offset);
    if (found) return found;
  }
  return undefined;
}

function rangeAt(node: Node, offset: number): { from: number; to: number } | undefined {
  const [from, to] = node.range ?? [0, 0];
  return from <= offset && offset <= to && from < to ? { from, to } : undefined;
}
