import { expect, test } from "@jest/globals";
import { findFileDifferences } from "../../src/publish/difference.ts";
import type { CommitFile } from "../../src/publish/git-objects.ts";
import { readProcessorMs } from "../support/processor.ts";

const file = (path: string, content: string, executable = false): CommitFile => ({
  path,
  content: Buffer.from(content),
  executable,
});

test("findFileDifferences, on added, changed, removed and equal files, counts lines of each", () => {
  const before = [file("gone.py", "a\nb\n"), file("same.py", "x"), file("main.py", "one\ntwo\nthree\nfour\n")];
  const after = [file("main.py", "one\n2\nthree\nfour\nfive\n"), file("same.py", "x"), file("new.py", "a\nb\nc")];
  expect(findFileDifferences(before, after)).toEqual([
    { path: "gone.py", change: "removed", linesAdded: 0, linesRemoved: 2 },
    { path: "main.py", change: "changed", linesAdded: 2, linesRemoved: 1 },
    { path: "new.py", change: "added", linesAdded: 3, linesRemoved: 0 },
  ]);
});

test("findFileDifferences, when lines change places, counts what left its order", () => {
  expect(findFileDifferences([file("a", "1\n2\n3\n4\n")], [file("a", "4\n1\n2\n3\n")])).toEqual([
    { path: "a", change: "changed", linesAdded: 1, linesRemoved: 1 },
  ]);
});

test("findFileDifferences, on binary files and modes, says changed without made-up lines", () => {
  const differences = findFileDifferences(
    [file("a.bin", "\0a"), file("run", "x")],
    [file("a.bin", "\0b"), file("run", "x", true)],
  );
  expect(differences).toEqual([
    { path: "a.bin", change: "changed", linesAdded: null, linesRemoved: null },
    { path: "run", change: "changed", linesAdded: 0, linesRemoved: 0 },
  ]);
});

test("findFileDifferences, on very long files, answers within a second", () => {
  const before = Array.from({ length: 100_000 }, (_, line) => `a${line}`).join("\n");
  const after = Array.from({ length: 100_000 }, (_, line) => `b${line}`).join("\n");
  const since = readProcessorMs();
  expect(findFileDifferences([file("a", before)], [file("a", after)])[0]).toMatchObject({
    linesAdded: 100_000,
    linesRemoved: 100_000,
  });
  expect(readProcessorMs() - since).toBeLessThan(1_000);
});
