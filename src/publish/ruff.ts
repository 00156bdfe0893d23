import { TextDecoder } from "node:util";
import type { FileFix } from "../../domain/errors.ts";
import { toTask } from "../../system/threads/threads.ts";
import { openRuff, type Ruff } from "../patches/ruff-wasm.ts";

/** Of one instance. 128 KiB of honest code take a tenth of it. */
const MEMORY_BYTES_MAX = 128 * 1024 * 1024;
/** Pyflakes' rules, without two that say little: names that a star import may define, and f-strings without a value. */
const RULES = { select: ["F"], ignore: ["F405", "F541"] };
/** What an `__init__.py` imports, it offers to others. */
const UNUSED_IMPORT = "F401";
/** What no file of a commit has: Python says what does not parse. */
const NOT_PARSED = "invalid-syntax";
/** The Pythons that this Ruff knows, by their second number. */
const [OLDEST, NEWEST] = [10, 14];
const FINDINGS_OF_FILE_MAX = 50;
/** Of one finding. Honest ones have some dozens; what a hostile import gives is left out. */
const FIX_CHARACTERS_MAX = 2_000;

/** One thing that Ruff finds. Columns count UTF-16 units, as the editor does. */
export interface Finding {
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly fix?: FileFix | undefined;
}

export interface Sources {
  /** The second number of the Python that runs them. */
  readonly minor: number;
  readonly files: readonly { readonly path: string; readonly content: Uint8Array }[];
}

interface Diagnostic {
  readonly code: string | null;
  readonly message: string;
  readonly start_location: Location;
  readonly fix: {
    readonly message: string | null;
    readonly edits: readonly {
      readonly location: Location;
      readonly end_location: Location;
      readonly content: string | null;
    }[];
  } | null;
}

interface Location {
  readonly row: number;
  readonly column: number;
}

let open: (() => Ruff) | undefined;
let ruff: Ruff | undefined;

/**
 * Returns what Ruff finds in each file: at most 50 things, in the order of their places. Null: it came to no end, such as with a file
 * that nests too deeply. A file that is not UTF-8 has no findings. Runs on the thread that it is called on, and keeps its Ruff there.
 */
export function findNames({ files, minor }: Sources): (readonly Finding[] | null)[] {
  return files.map(({ path, content }) => {
    const text = decode(content);
    if (text === undefined) return [];
    try {
      open ??= openRuff(MEMORY_BYTES_MAX);
      ruff ??= open();
      return check(ruff, text, minor)
        .filter(({ code }) => code !== NOT_PARSED && !(code === UNUSED_IMPORT && /(?:^|\/)__init__\.py$/.test(path)))
        .map(toFinding)
        .toSorted((one, other) => one.line - other.line || one.column - other.column)
        .slice(0, FINDINGS_OF_FILE_MAX);
    } catch {
      // Out of stack or memory: nothing of this instance can be relied on.
      ruff = undefined;
      return null;
    }
  });
}

function check({ Workspace, PositionEncoding }: Ruff, text: string, minor: number): readonly Diagnostic[] {
  const target = `py3${Math.min(Math.max(minor, OLDEST), NEWEST)}`;
  const workspace = new Workspace({ "target-version": target, lint: RULES }, PositionEncoding.Utf16);
  try {
    return workspace.check(text) as readonly Diagnostic[];
  } finally {
    workspace.free();
  }
}

function toFinding({ code, message, start_location: { row, column }, fix }: Diagnostic): Finding {
  return { line: row, column, message: `${message} (Ruff ${code}).`, fix: fix === null ? undefined : toFix(fix) };
}

function toFix({ message, edits }: NonNullable<Diagnostic["fix"]>): FileFix | undefined {
  const title = message ?? "Apply Ruff's fix";
  const characters = edits.reduce((sum, { content }) => sum + (content?.length ?? 0) + 20, title.length);
  if (characters > FIX_CHARACTERS_MAX) return undefined;
  return {
    title,
    edits: edits.map(({ location, end_location: end, content }) => {
      return {
        line: location.row,
        column: location.column,
        endLine: end.row,
        endColumn: end.column,
        text: content ?? "",
      };
    }),
  };
}

/** Undefined: it is not UTF-8. */
function decode(content: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    return undefined;
  }
}

export const FIND_NAMES = toTask(import.meta.url, findNames);
