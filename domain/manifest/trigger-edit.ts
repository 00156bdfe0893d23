import { isMap, isScalar, type Node, type Pair, parseDocument, stringify, type YAMLMap } from "yaml";
import { DEFAULT_BOUNDS } from "./bounds.ts";
import { readConfigDocument } from "./document.ts";
import { hideBraces, showBraces } from "./references.ts";

export type TriggerEdit =
  | { readonly ok: true; readonly text: string }
  /** `message` says why the text was left alone, and what to do. */
  | { readonly ok: false; readonly message: string };

/** A text in the place of what stands from `start` to `end`. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * A `config.yaml` in which `triggers.api.enabled`, `triggers.schedule.enabled` or that of a named schedule is as wanted. Only that value is touched, or
 * the fewest lines that bring it in are added: comments, order and layout stay. A schedule that is not there cannot be
 * enabled, because nobody has said when it is due.
 */
export function editTrigger(
  source: string,
  trigger: "api" | "schedule" | { readonly schedule: string },
  enabled: boolean,
): TriggerEdit {
  if (typeof trigger === "object")
    return editConfig(source, "change the trigger", (root) => findNamedChange(source, root, trigger.schedule, enabled));
  return editConfig(source, "change the trigger", (root) => findChange(source, root, trigger, enabled));
}

/** A `config.yaml` whose `name` is this one. Nothing else is touched. */
export function editName(source: string, name: string): TriggerEdit {
  const edit = editConfig(source, "change the name", (root) => {
    const text = root?.flow ? JSON.stringify(name) : stringify(name, { lineWidth: 0, blockQuote: false }).trimEnd();
    const pair = root && findPair(root, "name");
    if (pair !== undefined) return replaceValue(source, pair, text);
    if (root !== undefined) return insertIntoMap(source, root, `name: ${text}`);
    return appendLines(source, `name: ${text}\n`);
  });
  // A name written over several lines may not be replaced by one: then the text is left alone.
  if (!edit.ok || findName(edit.text) === name) return edit;
  return { ok: false, message: "The name in config.yaml is laid out in an unusual way. Change it there." };
}

function findName(source: string): unknown {
  const name: unknown = parseDocument(hideBraces(source), { logLevel: "silent" }).get("name");
  return typeof name === "string" ? showBraces(name) : name;
}

/** A `config.yaml` with changes that `find` returns for its keys, in any order. A text says why it is left alone. */
export function editConfig(
  source: string,
  purpose: string,
  find: (root: YAMLMap | undefined) => Replacement | readonly Replacement[] | string,
): TriggerEdit {
  // From any author: what follows is only safe with text that was checked here.
  if (!readConfigDocument(source, DEFAULT_BOUNDS.configBytesMax).readable)
    return { ok: false, message: `config.yaml is not valid YAML. Correct it first, then ${purpose}.` };
  const root = parseDocument(hideBraces(source), { version: "1.2", schema: "core", logLevel: "silent" })
    .contents as Node | null;
  if (root !== null && !isMap(root) && !(isScalar(root) && root.value === null))
    return { ok: false, message: `config.yaml is not a map of keys. Correct it first, then ${purpose}.` };
  const change = find(isMap(root) ? root : undefined);
  if (typeof change === "string") return { ok: false, message: change };
  const changes = [change].flat().toSorted((a, b) => b.start - a.start);
  return {
    ok: true,
    text: changes.reduce((text, { start, end, text: put }) => text.slice(0, start) + put + text.slice(end), source),
  };
}

function findChange(
  source: string,
  root: YAMLMap | undefined,
  trigger: "api" | "schedule",
  enabled: boolean,
): Replacement | string {
  const value = String(enabled);
  const triggers = root && findPair(root, "triggers");
  const section = isMap(triggers?.value) ? findPair(triggers.value, trigger) : undefined;
  const flag = isMap(section?.value) ? findPair(section.value, "enabled") : undefined;
  if (flag !== undefined) return replaceValue(source, flag, value);
  if (trigger === "schedule" && !isMap(section?.value))
    return "config.yaml declares no schedule. Write triggers.schedule with a cron expression first.";
  if (isMap(section?.value)) return insertIntoMap(source, section.value, `enabled: ${value}`);
  if (section !== undefined) return replaceValue(source, section, `{ enabled: ${value} }`);
  if (isMap(triggers?.value)) return insertIntoMap(source, triggers.value, `${trigger}: { enabled: ${value} }`);
  if (triggers !== undefined) return replaceValue(source, triggers, `{ ${trigger}: { enabled: ${value} } }`);
  if (root?.flow) return insertIntoMap(source, root, `triggers: { ${trigger}: { enabled: ${value} } }`);
  return appendLines(source, `triggers:\n  ${trigger}: { enabled: ${value} }\n`);
}

function findNamedChange(
  source: string,
  root: YAMLMap | undefined,
  name: string,
  enabled: boolean,
): Replacement | string {
  let map: unknown = root;
  for (const key of ["triggers", "schedules", name])
    map = isMap(map) ? findPair(map as YAMLMap, key)?.value : undefined;
  if (!isMap(map))
    return `config.yaml declares no schedule ${name}. Write triggers.schedules.${name} with a cron expression first.`;
  const flag = findPair(map as YAMLMap, "enabled");
  if (flag === undefined) return insertIntoMap(source, map as YAMLMap, `enabled: ${enabled}`);
  return replaceValue(source, flag, String(enabled));
}

/** The pair of a key; of one that is there twice the last. */
export function findPair(map: YAMLMap, key: string): Pair<unknown, unknown> | undefined {
  return map.items.findLast((pair) => isScalar(pair.key) && pair.key.value === key);
}

/** Where a node begins and ends in its text. */
export function rangeOf(node: Node): readonly [number, number] {
  const [start = 0, end = 0] = node.range ?? [];
  return [start, end];
}

/** In place of the value of a key. Where there is none, right after the colon, before any comment. */
export function replaceValue(source: string, pair: Pair<unknown, unknown>, text: string): Replacement {
  const [start, end] = pair.value == null ? [0, 0] : rangeOf(pair.value as Node);
  if (start < end) return { start, end, text };
  const colon = source.indexOf(":", rangeOf(pair.key as Node)[1]);
  if (colon !== -1) return { start: colon + 1, end: colon + 1, text: ` ${text}` };
  const [, keyEnd] = rangeOf(pair.key as Node);
  return { start: keyEnd, end: keyEnd, text: `: ${text}` };
}

/** As the first key of a map, laid out as its keys are. */
export function insertIntoMap(source: string, map: YAMLMap, text: string): Replacement {
  const [start] = rangeOf(map);
  if (map.flow) {
    const at = start + 1;
    return { start: at, end: at, text: map.items.length === 0 ? ` ${text} ` : ` ${text},` };
  }
  const [keyStart] = rangeOf(map.items[0]?.key as Node);
  const lineStart = source.lastIndexOf("\n", keyStart - 1) + 1;
  const indent = source.slice(lineStart, keyStart).replace(/[^ ]/g, " ");
  return { start: keyStart, end: keyStart, text: `${text}\n${indent}` };
}

/** At the end of the document. */
export function appendLines(source: string, text: string): Replacement {
  // A document may end with "...", after which nothing more belongs to it.
  const ending = /^\.\.\.[ \t]*\r?$/m.exec(source);
  const end = ending?.index ?? source.length;
  const separator = end === 0 || source[end - 1] === "\n" ? "" : "\n";
  return { start: end, end, text: `${separator}${text}` };
}
