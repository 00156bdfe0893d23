import { parse, TomlError } from "smol-toml";

/** Deeper than any honest file; the parser goes one call down for each level. */
const DEPTH_MAX = 64;
const TOKEN =
  /(?<blank>[ \t\r]+|#[^\n]*)|(?<newline>\n)|(?<text>"""[^]*?(?<!\\)(?:\\\\)*"{3,5}|'''[^]*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')|(?<bare>[A-Za-z0-9_-]+)|(?<sign>[^])/gy;

/** Counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Where a key stands, and where the texts in its value do, in their order. */
export interface KeyPlace extends Place {
  readonly texts: readonly Place[];
}

export type TomlTable = Readonly<Record<string, unknown>>;

export type TomlReading =
  | { readonly ok: true; readonly table: TomlTable; readonly findPlace: (...path: readonly string[]) => KeyPlace }
  | ({ readonly ok: false; readonly message: string } & Place);

/** Reads a TOML document, and can say where in it a key stands, or else the nearest table that it would be in. */
export function readToml(text: string): TomlReading {
  let table: TomlTable;
  try {
    table = parse(text, { integersAsBigInt: "asNeeded", maxDepth: DEPTH_MAX });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = (error.message.split("\n")[0] ?? "").replace(/^Invalid TOML document: /, "");
    return { ok: false, line: error.line, column: error.column, message: `This is no valid TOML: ${reason}.` };
  }
  let places: Map<string, KeyPlace> | undefined;
  const findPlace = (...path: readonly string[]): KeyPlace => {
    places ??= locateKeys(text);
    for (let depth = path.length; depth > 0; depth -= 1) {
      const place = places.get(toId(path.slice(0, depth)));
      if (place !== undefined) return depth === path.length ? place : { ...place, texts: [] };
    }
    return { line: 1, column: 1, texts: [] };
  };
  return { ok: true, table, findPlace };
}

/** A table below another one; undefined when it is not there, or is no table. */
export function tableOf(table: TomlTable | undefined, key: string): TomlTable | undefined {
  const value = table?.[key];
  const isTable = typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
  return isTable ? (value as TomlTable) : undefined;
}

interface Token extends Place {
  readonly kind: "newline" | "text" | "bare" | "sign";
  readonly written: string;
}

type Remember = (path: readonly string[], place: Place, texts: readonly Place[]) => void;

/** Walks through a document that is known to be valid. */
function locateKeys(text: string): Map<string, KeyPlace> {
  const places = new Map<string, KeyPlace>();
  const remember: Remember = (path, { line, column }, texts) => {
    if (!places.has(toId(path))) places.set(toId(path), { line, column, texts });
  };
  let table: string[] = [];
  for (const statement of splitStatements(text)) {
    const [first] = statement;
    if (first === undefined) continue;
    if (first.written === "[") {
      table = statement.filter(isName).map(toName);
      remember(table, first, []);
    } else locateEntry(statement, 0, table, remember);
  }
  return places;
}

/** Remembers the key at a token, with the texts of its value, and the keys of tables within it. Returns where it ends. */
function locateEntry(tokens: readonly Token[], start: number, table: readonly string[], remember: Remember): number {
  let equals = start;
  while (equals < tokens.length && tokens[equals]?.written !== "=") equals += 1;
  const key = tokens[start];
  if (key === undefined) return tokens.length;
  const path = [...table, ...tokens.slice(start, equals).filter(isName).map(toName)];
  const texts: Place[] = [];
  const end = locateValue(tokens, equals + 1, path, { remember, texts });
  remember(path, key, texts);
  return end;
}

function locateValue(
  tokens: readonly Token[],
  start: number,
  path: readonly string[],
  found: { readonly remember: Remember; readonly texts: Place[] },
): number {
  const first = tokens[start];
  if (first?.kind === "text") found.texts.push(first);
  if (first?.written !== "{" && first?.written !== "[") return findEnd(tokens, start);
  const close = first.written === "{" ? "}" : "]";
  let at = start + 1;
  while (at < tokens.length && tokens[at]?.written !== close) {
    if (tokens[at]?.written === ",") at += 1;
    else if (close === "}") at = locateEntry(tokens, at, path, found.remember);
    else at = locateValue(tokens, at, path, { ...found, remember: () => undefined }); // a table in a list has no path
  }
  return at + 1;
}

/** The end of a value that is no list and no table: numbers and dates are several tokens. */
function findEnd(tokens: readonly Token[], start: number): number {
  let at = start;
  while (at < tokens.length && !(tokens[at]?.kind === "sign" && /[,\]}]/.test(tokens[at]?.written ?? ""))) at += 1;
  return at;
}

/** Tokens without blanks and comments, as one list for each table header and each key with its value. */
function* splitStatements(text: string): Generator<Token[]> {
  let statement: Token[] = [];
  let depth = 0;
  for (const token of listTokens(text)) {
    if (token.kind === "newline") {
      if (depth > 0) continue;
      yield statement;
      statement = [];
      continue;
    }
    if (token.kind === "sign") depth += Number(/[[{]/.test(token.written)) - Number(/[\]}]/.test(token.written));
    statement.push(token);
  }
  yield statement;
}

function* listTokens(text: string): Generator<Token> {
  let line = 1;
  let lineStart = 0;
  for (const { 0: written, index, groups } of text.matchAll(TOKEN)) {
    const place = { line, column: index - lineStart + 1 };
    for (let at = written.indexOf("\n"); at >= 0; at = written.indexOf("\n", at + 1)) {
      line += 1;
      lineStart = index + at + 1;
    }
    const kind = (["newline", "text", "bare", "sign"] as const).find((name) => groups?.[name] !== undefined);
    if (kind !== undefined) yield { kind, written, ...place };
  }
}

function isName({ kind }: Token): boolean {
  return kind === "bare" || kind === "text";
}

function toName({ kind, written }: Token): string {
  return kind === "bare" ? written : (parse(`name = ${written}`).name as string);
}

function toId(path: readonly string[]): string {
  return JSON.stringify(path);
}
