import type { FileFix } from "../../../domain/errors.ts";
import type { DraftSaving } from "./draft-saving.ts";
import { listStarts, type ShownProblem } from "./problems.ts";

/**
 * Makes the fix of a problem in the draft. Saves first: what was written since then may have moved the place, and the service knows the
 * fix of what is there now. Does nothing where the problem has gone by itself.
 */
export async function fixProblem(saving: DraftSaving, { file, line, message }: ShownProblem): Promise<void> {
  if (!(await saving.saveNow())) return;
  const { files, warnings } = saving.getState();
  const text = files.get(file)?.text ?? null;
  const [nearest] = warnings
    .filter((warning) => warning.file === file && warning.message === message)
    .toSorted((one, other) => Math.abs(one.line - line) - Math.abs(other.line - line));
  if (text === null || nearest?.fix === undefined) return;
  saving.change({ path: file, text: applyFix(text, nearest.fix) });
}

/** Returns a text with a fix made in it. The fix is of exactly this text. */
export function applyFix(text: string, { edits }: FileFix): string {
  const starts = listStarts(text);
  const offset = (line: number, column: number): number => (starts[line - 1] ?? text.length) + column - 1;
  return edits
    .toSorted((one, other) => other.line - one.line || other.column - one.column)
    .reduce(
      (fixed, { line, column, endLine, endColumn, text: inside }) =>
        fixed.slice(0, offset(line, column)) + inside + fixed.slice(offset(endLine, endColumn)),
      text,
    );
}
