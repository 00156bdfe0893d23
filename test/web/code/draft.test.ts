import { expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  addChange,
  applyChange,
  type DraftChange,
  type Files,
  restateChanges,
  takeBatch,
  toFiles,
} from "../../../web/src/code/draft.ts";

function aFile(path: string, text: string | null) {
  return { path, text, bytes: text?.length ?? 3, executable: false };
}

const FILES = toFiles([aFile("a", "1"), aFile("b", "2"), aFile("bin", null)]);

function textsOf(files: Files): Record<string, string | null> {
  return Object.fromEntries([...files.values()].map(({ path, text }) => [path, text]));
}

test("addChange, of texts of a file one after the other, keeps the last", () => {
  const changes = [
    { path: "a", text: "x" },
    { path: "b", text: "y" },
    { path: "a", text: "z" },
  ];
  expect(changes.reduce<DraftChange[]>(addChange, [])).toEqual([
    { path: "b", text: "y" },
    { path: "a", text: "z" },
  ]);
});

test("addChange, of a text after the file got its name, keeps the text before, because the name depends on it", () => {
  const changes: DraftChange[] = [
    { path: "a", text: "x" },
    { path: "a", renameTo: "c" },
    { path: "c", text: "y" },
  ];
  expect(changes.reduce<DraftChange[]>(addChange, [])).toEqual(changes);
});

test("addChange, of any changes, leads to the same files as all of them", () => {
  const path = fc.constantFrom("a", "b", "c");
  const change = fc.oneof(
    fc.record({ path, text: fc.constantFrom("x", "y", "z") }),
    fc.record({ path, delete: fc.constant(true as const) }),
    fc.record({ path, renameTo: fc.constantFrom("d", "e") }),
  );
  fc.assert(
    fc.property(fc.array(change, { maxLength: 8 }), (changes) => {
      const kept = changes.reduce<DraftChange[]>(addChange, []);
      expect(textsOf(kept.reduce(applyChange, FILES))).toEqual(textsOf(changes.reduce<Files>(applyChange, FILES)));
    }),
  );
});

test("applyChange, of an upload, knows how many bytes it has", () => {
  for (const bytes of [0, 1, 2, 3, 4]) {
    const files = applyChange(FILES, { path: "up", base64: Buffer.alloc(bytes, 7).toString("base64") });
    expect(files.get("up")).toEqual({ path: "up", bytes, text: null, executable: false });
  }
});

test("takeBatch, of more than fits, takes the first ones, and one that is too large by itself", () => {
  const changes = [
    { path: "a", text: "12345" },
    { path: "b", text: "123" },
    { path: "c", text: "123" },
  ];
  expect(takeBatch(changes, 6)).toEqual(changes.slice(0, 1));
  expect(takeBatch(changes, 8)).toEqual(changes.slice(0, 2));
  expect(takeBatch(changes, 1)).toEqual(changes.slice(0, 1));
});

test("restateChanges, when somebody else wrote other files, leaves those as they are", () => {
  const changes: DraftChange[] = [
    { path: "a", text: "mine" },
    { path: "new", text: "n" },
    { path: "b", delete: true },
  ];
  const mine = changes.reduce(applyChange, FILES);
  const theirs = toFiles([aFile("a", "theirs"), aFile("b", "2"), aFile("other", "o"), aFile("bin", null)]);
  const restated = restateChanges(changes, mine, theirs);
  expect(textsOf(restated.reduce(applyChange, theirs))).toEqual({ a: "mine", new: "n", other: "o", bin: null });
});

test("restateChanges, when the others have done the same, has nothing to do", () => {
  const changes: DraftChange[] = [
    { path: "a", text: "same" },
    { path: "b", delete: true },
  ];
  const theirs = toFiles([aFile("a", "same")]);
  expect(restateChanges(changes, changes.reduce(applyChange, FILES), theirs)).toEqual([]);
});

test("restateChanges, of uploads and of names of files that are no text, keeps bytes and names", () => {
  const changes: DraftChange[] = [
    { path: "up", base64: "AAAA" },
    { path: "up", renameTo: "up2" },
    { path: "bin", renameTo: "bin2" },
  ];
  const restated = restateChanges(changes, changes.reduce(applyChange, FILES), FILES);
  expect(restated).toEqual([
    { path: "bin", renameTo: "bin2" },
    { path: "up2", base64: "AAAA" },
  ]);
});
