import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { compareFolders } from "../../src/publish/difference.ts";
import type { CommitFile } from "../../src/publish/git-objects.ts";
import { watchLoop } from "../support/loop-watch.ts";
import { readProcessorMs } from "../support/processor.ts";
import { TEST_THREADS } from "../support/threads.ts";

const compare = (before: readonly CommitFile[], after: readonly CommitFile[]) =>
  compareFolders(TEST_THREADS, "acct_test", [before, after]);

const file = (path: string, content: string, executable = false): CommitFile => ({
  path,
  content: Buffer.from(content),
  executable,
});

test("compareFolders, on added, changed, removed and equal files, counts lines of each", async () => {
  const before = [file("gone.py", "a\nb\n"), file("same.py", "x"), file("main.py", "one\ntwo\nthree\nfour\n")];
  const after = [file("main.py", "one\n2\nthree\nfour\nfive\n"), file("same.py", "x"), file("new.py", "a\nb\nc")];
  expect(await compare(before, after)).toEqual([
    { path: "gone.py", change: "removed", linesAdded: 0, linesRemoved: 2 },
    { path: "main.py", change: "changed", linesAdded: 2, linesRemoved: 1 },
    { path: "new.py", change: "added", linesAdded: 3, linesRemoved: 0 },
  ]);
});

test("compareFolders, when lines change places, counts what left its order", async () => {
  expect(await compare([file("a", "1\n2\n3\n4\n")], [file("a", "4\n1\n2\n3\n")])).toEqual([
    { path: "a", change: "changed", linesAdded: 1, linesRemoved: 1 },
  ]);
});

test("compareFolders, on binary files and modes, says changed without made-up lines", async () => {
  const differences = await compare(
    [file("a.bin", "\0a"), file("run", "x")],
    [file("a.bin", "\0b"), file("run", "x", true)],
  );
  expect(differences).toEqual([
    { path: "a.bin", change: "changed", linesAdded: null, linesRemoved: null },
    { path: "run", change: "changed", linesAdded: 0, linesRemoved: 0 },
  ]);
});

test("compareFolders, on very long files, answers within a second", async () => {
  const before = Array.from({ length: 100_000 }, (_, line) => `a${line}`).join("\n");
  const after = Array.from({ length: 100_000 }, (_, line) => `b${line}`).join("\n");
  const since = readProcessorMs();
  expect((await compare([file("a", before)], [file("a", after)]))[0]).toMatchObject({
    linesAdded: 100_000,
    linesRemoved: 100_000,
  });
  expect(readProcessorMs() - since).toBeLessThan(5_000);
});

test("compareFolders, on any lines, keeps as many as their longest common subsequence has", async () => {
  const lines = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(lines, lines, async (before, after) => {
      const [found] = await compare([file("x", toText(before))], [file("x", toText(after))]);
      const kept = findLongestCommon(before, after);
      const expected = { linesAdded: after.length - kept, linesRemoved: before.length - kept };
      expect(found ?? { linesAdded: 0, linesRemoved: 0 }).toMatchObject(expected);
    }),
    { numRuns: 300 },
  );
});

test.each([
  ["of lines that all differ", (line: number) => `a${line}`],
  ["of the same lines in another order", (line: number) => `b${(line * 997) % 1_990}`],
])("compareFolders, with 990 files %s, takes seconds at most and leaves the event loop free", async (_what, toLine) => {
  const folder = (toLineOf: (line: number) => string) =>
    Array.from({ length: 990 }, (_file, at) =>
      file(`f${at}.txt`, Array.from({ length: 1_990 }, (_line, line) => toLineOf(line)).join("\n")),
    );
  const before = folder((line) => `b${line}`);
  const after = folder(toLine);
  const since = readProcessorMs();
  const watch = watchLoop();
  const differences = await compare(before, after);
  expect(watch.stop()).toBeLessThan(150);
  expect(readProcessorMs() - since).toBeLessThan(20_000);
  expect(differences).toHaveLength(990);
});

function toText(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

function findLongestCommon(one: readonly string[], other: readonly string[]): number {
  let row = other.map(() => 0);
  for (const line of one) {
    const next: number[] = [];
    for (const [at, each] of other.entries())
      next.push(each === line ? (row[at - 1] ?? 0) + 1 : Math.max(row[at] ?? 0, next[at - 1] ?? 0));
    row = next;
  }
  return row.at(-1) ?? 0;
}
