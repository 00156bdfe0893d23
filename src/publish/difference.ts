import { type Threads, toTask } from "../../system/threads/threads.ts";
import { type CommitFile, toBuffer } from "./git-objects.ts";

/** Steps of counting the lines of one request; 0.2 s. Files beyond are counted as sets of lines. */
const STEPS_MAX = 50_000_000;
/** Of one file: its lines are then all different, as good as. */
const STEPS_OF_FILE_MAX = 5_000_000;
/** Contents compared on the event loop, and what that may cost: some milliseconds. */
const INLINE_BYTES_MAX = 65_536;
const INLINE_STEPS_MAX = 500_000;
/** Contents copied to a thread at a time: copying is done on the event loop. */
const BATCH_BYTES_MAX = 4_000_000;
/** Of a batch. Its steps end long before. */
const TIMEOUT_MS = 30_000;
/** Git's own rule: a zero byte near the start makes a file binary. */
const BINARY_PROBE_BYTES = 8_000;

export interface FileDifference {
  readonly path: string;
  readonly change: "added" | "changed" | "removed";
  /** Null for binary files. */
  readonly linesAdded: number | null;
  readonly linesRemoved: number | null;
}

/** Lines added and removed; null for binary files. */
type LineCounts = Pick<FileDifference, "linesAdded" | "linesRemoved">;

interface ContentPair {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
}

/**
 * Returns what publishing the second folder over the first would change, file by file, sorted by path. Large folders are compared
 * beside the event loop, for `owner`. Never refuses: lines that take too long to compare in order are counted as sets.
 */
export async function compareFolders(
  threads: Threads,
  owner: string,
  [before, after]: readonly [readonly CommitFile[], readonly CommitFile[]],
): Promise<FileDifference[]> {
  const changed = findChanges(before, after);
  const counts: LineCounts[] = [];
  for (const batch of toBatches(changed)) {
    const pairs = batch.map((file) => ({ before: file.before, after: file.after }));
    const isSmall = changed.length === batch.length && bytesOf(batch) <= INLINE_BYTES_MAX;
    const steps = Math.floor((STEPS_MAX * batch.length) / changed.length);
    if (isSmall) counts.push(...countLinesOf({ pairs, steps: INLINE_STEPS_MAX }));
    else counts.push(...(await threads.run(COUNT, { pairs, steps }, { owner, timeoutMs: TIMEOUT_MS })));
  }
  return changed.map(({ path, change }, index) => ({ path, change, ...(counts[index] as LineCounts) }));
}

/** Compares on the thread that it is called on. */
export function countLinesOf({ pairs, steps }: { pairs: readonly ContentPair[]; steps: number }): LineCounts[] {
  const budget = { steps };
  return pairs.map(({ before, after }) => countLines(toBuffer(before), toBuffer(after), budget));
}

const COUNT = toTask(import.meta.url, countLinesOf);

interface Change extends ContentPair, Pick<FileDifference, "path" | "change"> {}

function findChanges(before: readonly CommitFile[], after: readonly CommitFile[]): Change[] {
  const old = new Map(before.map((file) => [file.path, file]));
  const current = new Map(after.map((file) => [file.path, file]));
  return [...new Set([...old.keys(), ...current.keys()])].sort().flatMap((path): Change[] => {
    const was = old.get(path);
    const is = current.get(path);
    if (was !== undefined && is !== undefined && was.content.equals(is.content) && was.executable === is.executable)
      return [];
    const change = was === undefined ? "added" : is === undefined ? "removed" : "changed";
    return [{ path, change, before: was?.content ?? EMPTY, after: is?.content ?? EMPTY }];
  });
}

function toBatches(changes: readonly Change[]): Change[][] {
  const batches: Change[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const change of changes) {
    bytes += bytesOf([change]);
    if (bytes > BATCH_BYTES_MAX) {
      batches.push([]);
      bytes = bytesOf([change]);
    }
    batches.at(-1)?.push(change);
  }
  return batches;
}

function bytesOf(changes: readonly Change[]): number {
  return changes.reduce((sum, { before, after }) => sum + before.length + after.length, 0);
}

const EMPTY = Buffer.alloc(0);

function countLines(before: Buffer, after: Buffer, budget: { steps: number }): LineCounts {
  if (isBinary(before) || isBinary(after)) return { linesAdded: null, linesRemoved: null };
  const [old, current] = trimCommon(splitLines(before), splitLines(after));
  const kept = countCommonInOrder(old, current, budget) ?? countCommon(old, current);
  return { linesAdded: current.length - kept, linesRemoved: old.length - kept };
}

/** Whether git would show the file as text. */
export function isBinary(content: Buffer): boolean {
  return content.subarray(0, BINARY_PROBE_BYTES).includes(0);
}

function splitLines(content: Buffer): string[] {
  const lines = content.toString("utf8").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function trimCommon(old: string[], current: string[]): [string[], string[]] {
  let start = 0;
  while (start < old.length && start < current.length && old[start] === current[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < current.length - start && old.at(-1 - end) === current.at(-1 - end))
    end += 1;
  return [old.slice(start, old.length - end), current.slice(start, current.length - end)];
}

/**
 * The length of the longest common subsequence, by Myers' algorithm: its time grows with how much differs, not with the lengths.
 * Lines that only one side has are left out before, they are in no common one. Undefined when that takes too many steps.
 */
function countCommonInOrder(
  oldLines: readonly string[],
  currentLines: readonly string[],
  budget: { steps: number },
): number | undefined {
  const inOld = new Set(oldLines);
  const inCurrent = new Set(currentLines);
  const old = oldLines.filter((line) => inCurrent.has(line));
  const current = currentLines.filter((line) => inOld.has(line));
  if (old.length === 0 || current.length === 0) return 0;
  const allowed = Math.min(budget.steps, STEPS_OF_FILE_MAX);
  const { edits, steps } = countEdits(old, current, allowed);
  budget.steps -= steps;
  return edits === undefined ? undefined : (old.length + current.length - edits) / 2;
}

/** The least number of lines to remove and add; undefined when that takes more steps than are allowed. */
function countEdits(
  old: readonly string[],
  current: readonly string[],
  stepsMax: number,
): { edits: number | undefined; steps: number } {
  const longest = old.length + current.length;
  const furthest = new Int32Array(2 * longest + 3);
  let steps = 0;
  for (let edits = 0; edits <= longest; edits += 1) {
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = diagonal + longest + 1;
      const below = furthest[at - 1] as number;
      const above = furthest[at + 1] as number;
      const isDown = diagonal === -edits || (diagonal !== edits && below < above);
      let row = isDown ? above : below + 1;
      const begin = row;
      while (row < old.length && row - diagonal < current.length && old[row] === current[row - diagonal]) row += 1;
      furthest[at] = row;
      steps += 1 + row - begin;
      if (row >= old.length && row - diagonal >= current.length) return { edits, steps };
    }
    if (steps > stepsMax) return { edits: undefined, steps };
  }
  return { edits: longest, steps };
}

function countCommon(old: readonly string[], current: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const line of old) counts.set(line, (counts.get(line) ?? 0) + 1);
  let common = 0;
  for (const line of current) {
    const left = counts.get(line) ?? 0;
    if (left === 0) continue;
    counts.set(line, left - 1);
    common += 1;
  }
  return common;
}
