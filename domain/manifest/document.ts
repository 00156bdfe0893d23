import {
  type CST,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  parseDocument,
  type YAMLError,
} from "yaml";
import { countBytes } from "./file-names.ts";
import { isStorable, quote } from "./json-values.ts";
import { createPlaces, type Place, type Places } from "./positions.ts";
import { hideBraces, showBraces } from "./references.ts";

export interface PlacedProblem extends Place {
  readonly message: string;
}

export interface ConfigDocument {
  /** The document as plain JSON; null when it is empty. Undefined when the text is not YAML that can be read on. */
  readonly value: unknown;
  readonly readable: boolean;
  readonly places: Places;
  readonly problems: readonly PlacedProblem[];
}

/** Deeper than any manifest. yaml composes recursively, and V8 aborts the process when a regular expression meets a full stack. */
const DEPTH_MAX = 100;

/** Tokens that the parser may have open: one for each level, and the document, the last key and the last scalar. */
const OPEN_MAX = DEPTH_MAX + 3;

/** Far above what 64 KiB of honest YAML hold; each token of nonsense costs the composer an error with a stack trace. */
const TOKENS_MAX = 20_000;

/** Nodes after every alias is written out: some 4,000 fit into 64 KiB of honest text. */
const NODES_MAX = 20_000;

/**
 * Reads YAML 1.2 from anybody: exactly one document, keys that are unique strings, no tags, bounded size, depth and
 * aliases. Problems have places; with syntax errors nothing else is looked at.
 */
export function readConfigDocument(source: string, bytesMax: number): ConfigDocument {
  const lines = new LineCounter();
  const unreadable = (problems: PlacedProblem[]): ConfigDocument => {
    return { value: undefined, readable: false, places: createPlaces(null, lines), problems };
  };
  if (source.length > bytesMax || countBytes(source) > bytesMax) {
    return unreadable([
      { line: 1, column: 1, message: `The file is larger than ${bytesMax} bytes. Move data into files of its own.` },
    ]);
  }
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };

  // Counted by us: of a line break in some kinds of nonsense the parser says nothing.
  lines.addNewLine(0);
  for (let at = source.indexOf("\n"); at !== -1; at = source.indexOf("\n", at + 1)) lines.addNewLine(at + 1);
  const text = hideBraces(source);
  const shape = findTokensProblem(text);
  if (shape) return unreadable([{ ...place(shape.offset), message: shape.message }]);

  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    resolveKnownTags: false,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "silent",
  });
  const syntax = [...document.errors, ...document.warnings].map((error) => {
    return { ...place(error.pos[0]), message: showBraces(explainSyntax(error)) };
  });
  if (syntax.length > 0) return unreadable(syntax);

  const places = createPlaces(document.contents, lines);
  const found = inspectNodes(document.contents);
  const problems = found.problems.map(({ offset, message }) => ({ ...place(offset), message }));
  if (!found.readable) return { value: undefined, readable: false, places, problems };
  return { value: document.toJS({ maxAliasCount: -1 }), readable: true, places, problems };
}

/** What is wrong with the shape of a text. Nothing is read once it is too deep: the parser of tokens recurses, too, where levels end. */
function findTokensProblem(source: string): OffsetProblem | undefined {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(source)) {
    tokens.push(...parser.next(lexeme));
    if (parser.stack.length > OPEN_MAX) return tooDeep(parser.offset);
  }
  tokens.push(...parser.end());
  return findShapeProblem(tokens);
}

function tooDeep(offset: number): OffsetProblem {
  return { offset, message: `This is nested deeper than ${DEPTH_MAX} levels.` };
}

interface OffsetProblem {
  readonly offset: number;
  readonly message: string;
}

/** Depth and number of documents, from the tokens: reading those does not recurse. */
function findShapeProblem(tokens: readonly CST.Token[]): OffsetProblem | undefined {
  const documents = tokens.filter((token) => token.type === "document");
  const second = documents[1];
  if (second)
    return {
      offset: second.offset,
      message: "The file holds more than one YAML document. Remove the line --- and what follows.",
    };
  const open: { token: CST.Token; depth: number }[] = tokens.map((token) => ({ token, depth: 0 }));
  let seen = 0;
  for (let item = open.pop(); item; item = open.pop()) {
    const { token, depth } = item;
    seen += 1 + countBeside(token);
    if (seen > TOKENS_MAX || tokens.length > TOKENS_MAX)
      return { offset: token.offset, message: `The file has more than ${TOKENS_MAX} parts.` };
    if (depth > DEPTH_MAX) return tooDeep(token.offset);
    if (token.type === "document" && token.value) open.push({ token: token.value, depth });
    if (!("items" in token)) continue;
    for (const child of token.items) {
      if (child.key) open.push({ token: child.key, depth: depth + 1 });
      if (child.value) open.push({ token: child.value, depth: depth + 1 });
    }
  }
  return undefined;
}

/** What honest text has between its nodes, in any number. */
const BETWEEN: ReadonlySet<string> = new Set([
  "space",
  "newline",
  "comma",
  "comment",
  "map-value-ind",
  "seq-item-ind",
  "explicit-key-ind",
]);

/** Tokens that stand beside the nodes: nonsense ends up there, too. */
function countBeside(token: CST.Token): number {
  const items = "items" in token ? token.items : [];
  const around = [token as { start?: unknown; end?: unknown }, ...items] as {
    start?: unknown;
    sep?: unknown;
    end?: unknown;
  }[];
  const lists = around.flatMap(({ start, sep, end }) => [start, sep, end]).filter((list) => Array.isArray(list));
  return lists.reduce(
    (sum, list) => sum + (list as CST.SourceToken[]).filter(({ type }) => !BETWEEN.has(type)).length,
    0,
  );
}

/** Looks at every node once: keys, aliases, characters that cannot be stored, and how large the value becomes. */
function inspectNodes(root: Node | null): { readable: boolean; problems: OffsetProblem[] } {
  const problems: OffsetProblem[] = [];
  const sizes = new Map<string, number>();
  let readable = true;

  function report(node: Node | null, message: string): void {
    problems.push({ offset: node?.range?.[0] ?? 0, message });
  }

  function refuseAlias(node: Node, message: string): number {
    readable = false;
    report(node, message);
    return 1;
  }

  function visit(node: unknown): number {
    if (isAlias(node)) {
      const size = sizes.get(node.source);
      if (size === undefined)
        return refuseAlias(node, `*${node.source} refers to itself, or to no &${node.source} before it.`);
      return size;
    }
    let size = 1;
    if (isScalar(node) && typeof node.value === "string") node.value = showBraces(node.value);
    if (isScalar(node) && typeof node.value === "string" && !isStorable(node.value)) {
      report(node, "This text holds a NUL character or half of a surrogate pair, which cannot be stored. Remove it.");
    }
    if (isSeq(node)) for (const item of node.items) size += visit(item);
    if (isMap(node)) {
      const keys = new Set<string>();
      for (const pair of node.items) {
        readable = checkKey(pair.key, keys, report) && readable;
        size += 1 + visit(pair.value);
      }
    }
    if ((isScalar(node) || isSeq(node) || isMap(node)) && node.anchor !== undefined) sizes.set(node.anchor, size);
    if (size > NODES_MAX && readable)
      refuseAlias(node as Node, `Aliases make this grow to more than ${NODES_MAX} values. Write it out.`);
    return size;
  }

  visit(root);
  return { readable, problems };
}

/** False when the key makes the rest unreadable. A repeated key is reported, and the value that stands last counts. */
function checkKey(key: unknown, keys: Set<string>, report: (node: Node | null, message: string) => void): boolean {
  if (isScalar(key) && typeof key.value === "string") key.value = showBraces(key.value);
  const value = isScalar(key) ? key.value : null;
  if (!isScalar(key) || (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")) {
    report(key as Node | null, "A key must be a plain text.");
    return false;
  }
  const name = String(value);
  if (!isStorable(name)) report(key, "This key holds a NUL character or half of a surrogate pair. Remove it.");
  if (name === "__proto__") report(key, '"__proto__" cannot be a key. Choose another name.');
  if (name === "<<") report(key, "Merge keys (<<) are not part of YAML 1.2. Write the keys out.");
  if (keys.has(name)) report(key, `The key ${quote(name)} stands here a second time. Remove one of them.`);
  keys.add(name);
  return name !== "__proto__";
}

function explainSyntax(error: YAMLError): string {
  if (error.code === "TAB_AS_INDENT") return "A tab indents this line. YAML allows spaces only.";
  if (error.code === "TAG_RESOLVE_FAILED") return `Tags (!…) are not supported: ${error.message}. Remove the tag.`;
  if (error.code === "BLOCK_AS_IMPLICIT_KEY")
    return `${error.message}. Put the value in quotes if it contains a colon and a space.`;
  return error.message.endsWith(".") ? error.message : `${error.message}.`;
}
