import type { FileProblem } from "../../../domain/errors.ts";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import { LINE_BREAKS, toLineFeeds } from "./line-breaks.ts";

export const MANIFEST_FILE = "config.yaml";

/** A problem, or what is only to be known: that refuses nothing. */
export interface ShownProblem extends FileProblem {
  readonly isWarning?: true;
}

/** A part of a text that is underlined. */
export interface Mark {
  readonly from: number;
  readonly to: number;
  readonly problem: Omit<ShownProblem, "file">;
}

const WORD = /^(?:"[^"\n]*"|'[^'\n]*'|[^\s,:\]}#]+|\S)/;
/** Warnings are about names, with or without what is before a dot. */
const NAME = /^(?:[\p{L}\p{N}_.]+|\S)/u;

/** What the service would say of a `config.yaml`, without what only the service knows. */
export function findManifestProblems(text: string): readonly FileProblem[] {
  const result = parseManifest(text);
  return result.ok ? [] : result.problems;
}

/** Problems found here and by the service together, each once, in the order of files and places. */
export function mergeProblems(own: readonly FileProblem[], theirs: readonly ShownProblem[]): ShownProblem[] {
  const distinct = new Map([...own, ...theirs].map((problem) => [keyOf(problem), problem]));
  return [...distinct.values()].toSorted((one, other) =>
    one.file < other.file ? -1 : one.file > other.file ? 1 : one.line - other.line || one.column - other.column,
  );
}

function keyOf({ file, line, column, message }: FileProblem): string {
  return JSON.stringify([file, line, column, message]);
}

/**
 * Returns where problems are underlined in a text: from their place to the end of the word, quoted text or number there.
 * At the end of a line the whole line is underlined. A place that the text no longer has moves to the nearest line.
 * Offsets count a line break as one character, as the editor does.
 */
export function toMarks(written: string, problems: readonly Mark["problem"][]): Mark[] {
  const text = toLineFeeds(written);
  const starts = listStarts(text);
  return problems.map((problem) => {
    const { line, column, isWarning } = problem;
    const index = Math.min(Math.max(line, 1), starts.length) - 1;
    const start = starts[index] as number;
    const end = index + 1 < starts.length ? (starts[index + 1] as number) - 1 : text.length;
    const from = Math.min(start + Math.max(column, 1) - 1, end);
    const word = (isWarning ? NAME : WORD).exec(text.slice(from, end))?.[0].length ?? 0;
    if (word > 0) return { from, to: from + word, problem };
    const indent = /^\s*/.exec(text.slice(start, end))?.[0].length ?? 0;
    return { from: Math.min(start + indent, end), to: end, problem };
  });
}

/** Returns the offset at which each line of a text begins, with line breaks of every kind. */
export function listStarts(text: string): number[] {
  return [0, ...Array.from(text.matchAll(LINE_BREAKS), ({ 0: ending, index }) => index + ending.length)];
}
