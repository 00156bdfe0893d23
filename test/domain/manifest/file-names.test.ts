import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { countBytes, safeFileName } from "../../../domain/manifest/file-names.ts";

test.each([
  ["orders.csv", "orders.csv"],
  ["Über die Maße 😀.pdf", "Über die Maße 😀.pdf"],
  ["../../etc/passwd", "passwd"],
  ["C:\\Users\\me\\orders.csv", "orders.csv"],
  ["dir/", "dir"],
  ["a\u0000b\nc\u007f\u0085.txt", "a_b_c__.txt"],
  ["line\u2028break\u202egpj.exe", "line_break_gpj.exe"],
  ["half\ud800.txt", "half_.txt"],
  ["", "file"],
  [".", "file"],
  ["..", "file"],
  ["a/..", "file"],
  ["   ", "file"],
  [" . ", "file"],
  [".csv", ".csv"],
  ["...", "..."],
])("safeFileName, %j, becomes %j", (name, expected) => {
  expect(safeFileName(name, new Set())).toBe(expected);
});

test("safeFileName, repeats, are numbered before the extension", () => {
  const taken = new Set(["a.csv", "a (2).csv", "b", ".env"]);
  expect(safeFileName("a.csv", taken)).toBe("a (3).csv");
  expect(safeFileName("b", taken)).toBe("b (2)");
  expect(safeFileName(".env", taken)).toBe(".env (2)");
  expect(safeFileName("x/a.csv", taken)).toBe("a (3).csv");
});

test("safeFileName, a long name, keeps its extension and whole characters within 255 bytes", () => {
  const long = `${"😀".repeat(100)}.csv`;
  const name = safeFileName(long, new Set());
  expect(name).toBe(`${"😀".repeat(62)}.csv`);
  expect(safeFileName(long, new Set([name]))).toBe(`${"😀".repeat(61)} (2).csv`);
  expect(countBytes(safeFileName(`a.${"x".repeat(300)}`, new Set()))).toBe(255);
});

test("safeFileName, any names one after the other, are distinct, storable and within the limit", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.string({ unit: "binary", maxLength: 300 }), fc.constantFrom("a.b", "..", "", "\ud800"))),
      (names) => {
        const taken = new Set<string>();
        for (const name of names) {
          const safe = safeFileName(name, taken);
          expect(taken.has(safe)).toBe(false);
          expect(Buffer.byteLength(safe)).toBeLessThanOrEqual(255);
          expect(["", ".", ".."]).not.toContain(safe);
          expect(safe).not.toMatch(/[/\\\p{Cc}\p{Surrogate}]/u);
          taken.add(safe);
        }
      },
    ),
  );
});
