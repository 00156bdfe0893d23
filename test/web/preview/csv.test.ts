import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseCsv } from "../../../web/src/preview/csv.ts";

test.each([
  [
    "a,b\n1,2\n",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  [
    "\ufeffa;b\r\n1;2",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  [
    "a\tb\n1,5\t2",
    [
      ["a", "b"],
      ["1,5", "2"],
    ],
  ],
  [
    'a,b\n"x, ""y""\nz",',
    [
      ["a", "b"],
      ['x, "y"\nz', ""],
    ],
  ],
  ['a,b\n"open', [["a", "b"], ["open"]]],
  ["", []],
])("parseCsv, of %j, finds its rows", (text, rows) => {
  expect(parseCsv(text, 100)).toEqual({ rows, more: false });
});

test("parseCsv, of more rows than wanted, stops and says that there are more", () => {
  expect(parseCsv("a\n1\n2\n3\n", 2)).toEqual({ rows: [["a"], ["1"]], more: true });
});

test("parseCsv, of whatever fields, gives back what was written", () => {
  const field = fc.string({ maxLength: 8 });
  const table = fc
    .tuple(fc.integer({ min: 2, max: 4 }), fc.integer({ min: 1, max: 6 }))
    .chain(([columns, count]) =>
      fc.array(fc.array(field, { minLength: columns, maxLength: columns }), { minLength: count, maxLength: count }),
    );
  const write = (value: string): string => `"${value.replaceAll('"', '""')}"`;
  fc.assert(
    fc.property(table, (rows) => {
      const head = rows.map((row) => row.map(write).join(",")).join("\n");
      expect(parseCsv(`${head}\n`, 100).rows).toEqual(rows);
    }),
  );
});
