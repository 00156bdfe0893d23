import { expect, test } from "@jest/globals";
import { applyFix } from "../../../web/src/code/fixes.ts";

const at = (line: number, column: number, endLine: number, endColumn: number, text = "") => {
  return { line, column, endLine, endColumn, text };
};

test.each([
  ["a whole line", "import os\nprint(1)\n", [at(1, 1, 2, 1)], "print(1)\n"],
  ["the last line, which has no end", "x = 1\nimport os", [at(2, 1, 2, 10)], "x = 1\n"],
  [
    "several lines by another",
    "from a import (b,\n  c)\nc\n",
    [at(1, 1, 2, 5, "from a import (c)")],
    "from a import (c)\nc\n",
  ],
  ["two places of a line", "a is 1 or b is 1", [at(1, 3, 1, 5, "=="), at(1, 13, 1, 15, "==")], "a == 1 or b == 1"],
  ["a place behind a pair of surrogates", "x = '😀', y is 1", [at(1, 13, 1, 15, "==")], "x = '😀', y == 1"],
])("applyFix, of %s, replaces just that", (_name, text, edits, fixed) => {
  expect(applyFix(text, { title: "Mend", edits })).toBe(fixed);
});
