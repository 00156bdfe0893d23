import type { FileProblem } from "../domain/errors.ts";

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

/** A text that is no plain requirement, each with the words its author needs. Tried in this order, before the grammar. */
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

/** What a file says about the Python it needs: a `requires-python` and where it stands. */
export interface PythonDemand {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Such as `>=3.11,<3.13`; understood by `fitsVersion`. */
  readonly text: string;
}

/** What one file declares, or everything that is wrong with it. */
export type Declaration =
  | {
      readonly ok: true;
      readonly list: readonly Requirement[];
      readonly python: PythonDemand | null;
      readonly notes: readonly FileProblem[];
    }
  | { readonly ok: false; readonly problems: readonly FileProblem[] };

/** A requirement, or what is wrong with it; `column` counts characters of the text that was parsed, from 1. */
export type ParsedRequirement =
  | { readonly name: string; readonly text: string; readonly column: number }
  | { readonly column: number; readonly message: string };

/** `Foo_Bar.baz` and `foo-bar-baz` are one package. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, "-");
}

/**
 * Reads one requirement by PEP 508, without the parts that could make an installer run code, read files or ask another
 * server: options, URLs, paths. Undefined for a blank text.
 */
export function parseRequirement(written: string): ParsedRequirement | undefined {
  if (written.length > LINE_CHARACTERS_MAX) {
    return {
      column: LINE_CHARACTERS_MAX + 1,
      message: `The line is longer than ${LINE_CHARACTERS_MAX.toLocaleString("en")} characters.`,
    };
  }
  const bare = written.trimEnd();
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
  if (name === 0)
    return { column: start + 1, message: "A requirement begins with the name of a package, such as requests==2.32.3." };
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
