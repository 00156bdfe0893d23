import { expect, test } from "@jest/globals";
import { readJsonLines } from "../../../web/src/preview/lines.ts";
import { readNotebook } from "../../../web/src/preview/notebook.ts";
import { arrangeRows } from "../../../web/src/preview/row-order.ts";

test("readJsonLines, of objects with other keys and of values, makes a column for each key and leaves cells empty", () => {
  const text = '{"a": 12345678901234567890, "__proto__": 1}\n\n{"b": [1.50, null], "a": null}\r\n"alone"\n';
  expect(readJsonLines(text)).toEqual({
    head: ["a", "__proto__", "b", "value"],
    body: [
      [expect.stringMatching(/^1234567890123456\d+$/), "1", "", ""],
      ["", "", expect.stringMatching(/^\[1\.50?,null\]$/), ""],
      ["", "", "", "alone"],
    ],
  });
  expect(readJsonLines("")).toEqual({ head: [], body: [] });
  expect(readJsonLines('{"a": 1}\nnot json')).toBeUndefined();
});

test("readJsonLines, of objects with thousands of keys, makes no more columns than anybody reads", () => {
  const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`k${at}`, at]));
  expect(readJsonLines(JSON.stringify(wide))?.head).toHaveLength(60);
});

test("arrangeRows, by a column, puts numbers by size, texts by their numbers, and empty cells last both ways", () => {
  const rows = [["10"], [""], ["9"], ["-1"], ["file 10"], ["file 9"]];
  const cells = (direction: "ascending" | "descending") => arrangeRows(rows, "", { column: 0, direction }).flat();
  expect(cells("ascending")).toEqual(["-1", "9", "10", "file 9", "file 10", ""]);
  expect(cells("descending")).toEqual(["file 10", "file 9", "10", "9", "-1", ""]);
  expect(arrangeRows(rows, " FILE ", undefined)).toEqual([["file 10"], ["file 9"]]);
});

test("readNotebook, of what is no notebook or has other things where cells are, answers what can be read and never throws", () => {
  for (const text of ["", "[]", "null", '{"cells": 1}', "{"]) expect(readNotebook(text)).toBeUndefined();
  const odd = { cells: [null, 1, {}, { cell_type: "code", source: [1, "x"], outputs: [null, { data: 7 }, {}] }] };
  expect(readNotebook(JSON.stringify(odd))).toEqual([
    { kind: "raw", text: "", outputs: [] },
    { kind: "code", text: "x", outputs: [] },
  ]);
});
