import type { FileProblem } from "../../domain/errors.ts";

export const REQUIREMENTS_FILE = "requirements.txt";
const FILE_BYTES_MAX = 64 * 1024;
const LINES_MAX = 500;
const LINE_CHARACTERS_MAX = 1_000;

const NAME = /[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?/y;
const EXTRAS = /[ \t]*\[[A-Za-z0-9._, \t-]*\]/y;
const VERSION = /[ \t]*(?:===|==|!=|<=|>=|~=|<|>)[ \t]*[A-Za-z0-9.*+!_-]+/y;
const COMMA = /[ \t]*,/y;
const OPEN = /[ \t]*\(/y;
const CLOSE = /[ \t]*\)/y;
const MARKER = /[ \t]*;[ \t]*[A-Za-z0-9_.,'"()<>=!~*+ \t-]+$/y;
/** Words of a marker, and texts in quotes, which may hold anything. */
const MARKER_WORD = /"[^"]*"|'[^']*'|[A-Za-z_][A-Za-z0-9_.]*/g;
const MARKER_WORDS = new Set(
  "and or in not extra os_name sys_platform python_version python_full_version implementation_name implementation_version platform_machine platform_release platform_system platform_version platform_python_implementation".split(
    " ",
  ),
);
const BLANK = /[ \t]*/y;
/** `# /// script` in a Python file, as PEP 723 writes it. */
const INLINE_METADATA = /^# \/\/\/ script[ \t]*\r?$/m;

/** A line that is no plain requirement, each with the words its author needs. Tried in this order, before the grammar. */
const REFUSED: readonly { readonly pattern: RegExp; readonly message: (found: string) => string }[] = [
  {
    pattern: /^(?:-r|--requirement|-c|--constraint)/,
    message: () => "Other requirement files are not read. Put every requirement into this file.",
  },
  {
    pattern: /^(?:-e|--editable)/,
    message: () =>
      "Editable installs are not possible. Publish the package's code with the workflow, or name a released package.",
  },
  {
    pattern: /(?:^|[ \t])--hash\b/,
    message: () => "Hashes are not read here. Remove --hash: publishing locks every package with its hashes by itself.",
  },
  {
    pattern: /(?:^|[ \t])--?[A-Za-z][A-Za-z-]*/,
    message: (found) =>
      `The option ${found.trim()} is not allowed. Where packages come from is a setting of the machine.`,
  },
  { pattern: /\$/, message: () => "Environment variables are not replaced here. Write the value itself." },
  { pattern: /\\/, message: () => "A backslash is not allowed. Write each requirement on one line." },
  {
    pattern: /(?:git|hg|svn|bzr)\+|[A-Za-z][A-Za-z0-9+.-]*:\/\/|\bfile:|@/,
    message: () => "Packages by URL are not allowed. Name a package of the index, such as requests==2.32.3.",
  },
  {
    pattern: /^(?:\.|\/|~[^=])|^[^;]*\/|\.(?:whl|zip|tar\.gz|tgz)(?=[ \t]*(?:;|$))/,
    message: () => "Packages by path are not allowed. Name a package of the index, such as requests==2.32.3.",
  },
];

/** One requirement as its author wrote it, without comment. */
export interface Requirement {
  /** Lower case, words joined by single hyphens: how indexes compare names. */
  readonly name: string;
  readonly text: string;
  readonly line: number;
  readonly column: number;
}

export interface Requirements {
  /** Path of the file in the folder. */
  readonly file: string;
  /** At least one. */
  readonly list: readonly Requirement[];
}

export type RequirementsReading =
  /** `requirements: null` means that no environment is needed. Notes do not stop a publish. */
  | { readonly ok: true; readonly requirements: Requirements | null; readonly notes: readonly FileProblem[] }
  | { readonly ok: false; readonly problems: readonly FileProblem[] };

interface FolderFile {
  readonly path: string;
  readonly content: Buffer;
}

/**
 * Finds what Python packages a workflow's folder asks for. Reports all problems at once; whatever could make an
 * installer run code, read files or ask another server is a problem. Other ways to declare them get a note for now.
 */
export function readRequirements(files: Iterable<FolderFile>): RequirementsReading {
  const notes: FileProblem[] = [];
  let reading: RequirementsReading | undefined;
  for (const { path, content } of files) {
    if (path === REQUIREMENTS_FILE) reading = parseRequirements(path, content);
    else if (path === "pyproject.toml") notes.push(noteOf(path, "pyproject.toml"));
    else if (path.endsWith(".py") && !path.includes("/")) {
      if (INLINE_METADATA.test(content.toString("latin1")))
        notes.push(noteOf(path, "inline script metadata (PEP 723)"));
    }
  }
  if (reading?.ok === false || reading?.requirements) return reading;
  return { ok: true, requirements: null, notes };
}

function noteOf(file: string, what: string): FileProblem {
  return {
    file,
    line: 1,
    column: 1,
    message: `Packages listed in ${what} are not installed. List them in ${REQUIREMENTS_FILE}.`,
  };
}

/** `Foo_Bar.baz` and `foo-bar-baz` are one package. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, "-");
}

/** The requirements for a resolver, each at its own line number, so that its line numbers are ours. */
export function toRequirementsText(requirements: Requirements): string {
  const lines: string[] = [];
  for (const { line, text } of requirements.list) lines[line - 1] = text;
  return `${Array.from(lines, (line) => line ?? "").join("\n")}\n`;
}

function parseRequirements(file: string, content: Buffer): RequirementsReading {
  const whole = (message: string): RequirementsReading => ({
    ok: false,
    problems: [{ file, line: 1, column: 1, message }],
  });
  if (content.length > FILE_BYTES_MAX) {
    return whole(
      `The file has ${content.length.toLocaleString("en")} bytes; at most ${FILE_BYTES_MAX.toLocaleString("en")} are read.`,
    );
  }
  const text = content.toString("utf8").replace(/^\ufeff/, "");
  if (!Buffer.from(text).equals(content.subarray(content.length - Buffer.byteLength(text)))) {
    return whole("The file is not valid UTF-8 text. Save it as UTF-8.");
  }
  const lines = text.split(/\r\n|\r|\n/);
  if (lines.length - (lines.at(-1) === "" ? 1 : 0) > LINES_MAX) {
    return whole(`The file has ${lines.length.toLocaleString("en")} lines; at most ${LINES_MAX} are read.`);
  }
  const list: Requirement[] = [];
  const problems: FileProblem[] = [];
  for (const [index, line] of lines.entries()) {
    const parsed = parseLine(line);
    if (parsed === undefined) continue;
    const line1 = index + 1;
    if ("message" in parsed) problems.push({ file, line: line1, column: parsed.column, message: parsed.message });
    else list.push({ ...parsed, line: line1 });
  }
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, requirements: list.length === 0 ? null : { file, list }, notes: [] };
}

type ParsedLine = Pick<Requirement, "name" | "text" | "column"> | { column: number; message: string } | undefined;

/** Undefined for a line without a requirement. Columns count characters from 1. */
function parseLine(line: string): ParsedLine {
  if (line.length > LINE_CHARACTERS_MAX) {
    return {
      column: LINE_CHARACTERS_MAX + 1,
      message: `The line is longer than ${LINE_CHARACTERS_MAX.toLocaleString("en")} characters.`,
    };
  }
  const bare = line.replace(/(?:^|[ \t]+)#.*$/, "").trimEnd();
  const text = bare.trimStart();
  const start = bare.length - text.length;
  if (text === "") return undefined;
  for (const { pattern, message } of REFUSED) {
    const found = pattern.exec(text);
    if (found === null) continue;
    const leading = found[0].length - found[0].trimStart().length;
    return { column: start + found.index + leading + 1, message: message(found[0]) };
  }
  const name = take(NAME, text, 0);
  if (name === 0) return { column: start + 1, message: "A requirement begins with the name of a package." };
  const end = findMistake(text, name);
  if (end !== undefined) {
    const found = end === text.length ? "The end of the line" : JSON.stringify(text.slice(end, end + 20));
    const message = `${found} is not understood here. A requirement looks like: name[extra]>=1.2,<2; python_version < "3.13"`;
    return { column: start + end + 1, message };
  }
  return { name: normalizeName(text.slice(0, name)), text, column: start + 1 };
}

/** Where the grammar of a requirement stops understanding the text; undefined when it understands all of it. */
function findMistake(text: string, afterName: number): number | undefined {
  let at = take(EXTRAS, text, afterName);
  const afterOpen = take(OPEN, text, at);
  const inParentheses = afterOpen > at;
  at = afterOpen;
  for (let next = take(VERSION, text, at); next > at; ) {
    at = next;
    const afterComma = take(COMMA, text, at);
    if (afterComma === at) break;
    next = take(VERSION, text, afterComma);
    if (next === afterComma) return at; // nothing behind the comma
  }
  if (inParentheses) {
    const afterClose = take(CLOSE, text, at);
    if (afterClose === at) return at;
    at = afterClose;
  }
  const marker = at;
  at = take(BLANK, text, take(MARKER, text, at));
  if (at < text.length) return at;
  for (const { 0: word, index } of text.slice(marker).matchAll(MARKER_WORD)) {
    if (!/^["']/.test(word) && !MARKER_WORDS.has(word)) return marker + index;
  }
  return undefined;
}

/** The position after what a sticky pattern matches at a position; the position itself when it does not match. */
function take(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
