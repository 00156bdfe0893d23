import { expect, test } from "@jest/globals";
import { findMove, findNameProblem, folderOf, listRows, listUnder } from "../../../web/src/code/tree.ts";

const PATHS = ["main.py", "config.yaml", "sales/b.py", "sales/deep/a.py", "file10.txt", "file9.txt"];

function show(collapsed: readonly string[] = []): string[] {
  return listRows(PATHS, new Set(collapsed)).map(({ name, kind, level }) => `${level} ${kind} ${name}`);
}

test("listRows, of files in folders, has folders first, each level by name, numbers by their value", () => {
  expect(show()).toEqual([
    "1 folder sales",
    "2 folder deep",
    "3 file a.py",
    "2 file b.py",
    "1 file config.yaml",
    "1 file file9.txt",
    "1 file file10.txt",
    "1 file main.py",
  ]);
});

test("listRows, with a folder shut, leaves out what is in it", () => {
  expect(show(["sales"]).slice(0, 2)).toEqual(["1 folder sales", "1 file config.yaml"]);
});

test("listRows, of any row, says its place among its siblings", () => {
  const rows = listRows(PATHS, new Set());
  expect(rows.find(({ path }) => path === "sales/b.py")).toMatchObject({ position: 2, siblings: 2, level: 2 });
});

test.each([
  ["ArrowDown", "sales", { kind: "focus", path: "sales/deep" }],
  ["ArrowUp", "config.yaml", { kind: "focus", path: "sales/b.py" }],
  ["ArrowUp", "sales", { kind: "none" }],
  ["ArrowRight", "sales", { kind: "focus", path: "sales/deep" }],
  ["ArrowRight", "main.py", { kind: "none" }],
  ["ArrowLeft", "sales", { kind: "collapse", path: "sales" }],
  ["ArrowLeft", "sales/deep/a.py", { kind: "focus", path: "sales/deep" }],
  ["ArrowLeft", "main.py", { kind: "none" }],
  ["Home", "main.py", { kind: "focus", path: "sales" }],
  ["End", "sales", { kind: "focus", path: "main.py" }],
  ["m", "sales", { kind: "focus", path: "main.py" }],
  ["f", "file9.txt", { kind: "focus", path: "file10.txt" }],
  ["x", "sales", { kind: "none" }],
])("findMove, of %s on %s, is what the pattern of trees says", (key, current, move) => {
  expect(findMove(listRows(PATHS, new Set()), current, key)).toEqual(move);
});

test("findMove, of a letter, goes on to the next name that begins with it, from the last to the first", () => {
  const rows = listRows(PATHS, new Set());
  const walked = ["file9.txt", "file10.txt"].map((path) => findMove(rows, path, "f"));
  expect(walked).toEqual([
    { kind: "focus", path: "file10.txt" },
    { kind: "focus", path: "file9.txt" },
  ]);
  expect(findMove(rows, "main.py", "S")).toEqual({ kind: "focus", path: "sales" });
  expect(findMove(rows, "main.py", "m")).toEqual({ kind: "none" });
});

test("findMove, of ArrowRight on a shut folder, opens it", () => {
  expect(findMove(listRows(PATHS, new Set(["sales"])), "sales", "ArrowRight")).toEqual({
    kind: "expand",
    path: "sales",
  });
});

test.each([
  ["", "no name"],
  ["../x.py", '".." segment'],
  [".git/config", "git's own folder"],
  ["main.py", "a file main.py already"],
  ["sales", "a folder sales already"],
  ["main.py/x", "main.py is a file"],
  ["Main.py", "only in case"],
])("findNameProblem, of %j, says why it cannot be", (path, message) => {
  expect(findNameProblem(path, PATHS)).toEqual(expect.stringContaining(message));
});

test("findNameProblem, of the file's own name in other case, finds nothing", () => {
  expect(findNameProblem("Main.py", PATHS, "main.py")).toBeUndefined();
  expect(findNameProblem("new/one.py", PATHS)).toBeUndefined();
});

test("findNameProblem, of a name that others begin with, finds nothing", () => {
  expect(findNameProblem("sal", PATHS)).toBeUndefined();
  expect(findNameProblem("main.py2", PATHS)).toBeUndefined();
});

test("listUnder and folderOf, of a folder and of a file, answer what belongs to it and where its neighbours are", () => {
  expect(listUnder(PATHS, "sales")).toEqual(["sales/b.py", "sales/deep/a.py"]);
  expect(listUnder(PATHS, "main.py")).toEqual(["main.py"]);
  expect(listUnder(["lib/a.py", "lib.py", "lib2/b.py"], "lib")).toEqual(["lib/a.py"]);
  expect(folderOf({ path: "sales/deep", kind: "folder" })).toBe("sales/deep/");
  expect(folderOf({ path: "sales/b.py", kind: "file" })).toBe("sales/");
  expect(folderOf({ path: "main.py", kind: "file" })).toBe("");
});
