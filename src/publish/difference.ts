import type { CommitFile } from "./git-objects.ts";

/** Beyond this many line pairs the exact count costs more than it tells: lines are then counted as sets. */
const LINE_PAIRS_MAX = 4_000_000;
/** Git's own rule: a zero byte near the start makes a file binary. */
const BINARY_PROBE_BYTES = 8_000;

export interface FileDifference {
  readonly path: string;
  readonly change: "added" | "changed" | "removed";
  /** Null for binary files. */
  readonly linesAdded: number | null;
  readonly linesRemoved: number | null;
}

/** What publishing `after` over `before` would change, file by file, sorted by path. */
export function findFileDifferences(before: readonly CommitFile[], after: readonly CommitFile[]): FileDifference[] {
  const old = new Map(before.map((file) => [file.path, file]));
  const current = new Map(after.map((file) => [file.path, file]));
  const differences: FileDifference[] = [];
  for (const path of [...new Set([...old.keys(), ...current.keys()])].sort()) {
    const was = old.get(path);
    const is = current.get(path);
    if (was !== undefined && is !== undefined && was.content.equals(is.content) && was.executable === is.executable)
      continue;
    const change = was === undefined ? "added" : is === undefined ? "removed" : "changed";
    differences.push({ path, change, ...countLines(was?.content ?? EMPTY, is?.content ?? EMPTY) });
  }
  return differences;
}

const EMPTY = Buffer.alloc(0);

function countLines(before: Buffer, after: Buffer): { linesAdded: number | null; linesRemoved: number | null } {
  if (isBinary(before) || isBinary(after)) return { linesAdded: null, linesRemoved: null };
  const [old, current] = trimCommon(splitLines(before), splitLines(after));
  const kept =
    old.length * current.length <= LINE_PAIRS_MAX ? countCommonInOrder(old, current) : countCommon(old, current);
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

/** The length of the longest common subsequence, with one row of the table kept. */
function countCommonInOrder(old: readonly string[], current: readonly string[]): number {
  let row = new Uint32Array(current.length + 1);
  for (const line of old) {
    const next = new Uint32Array(current.length + 1);
    for (let i = 0; i < current.length; i += 1) {
      next[i + 1] = line === current[i] ? (row[i] ?? 0) + 1 : Math.max(row[i + 1] ?? 0, next[i] ?? 0);
    }
    row = next;
  }
  return row[current.length] ?? 0;
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
