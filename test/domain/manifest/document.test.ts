import { expect, test } from "@jest/globals";
import { readConfigDocument } from "../../../domain/manifest/document.ts";
import { readProcessorMs } from "../../support/processor.ts";

const BYTES_MAX = 65_536;

function problemsOf(source: string): string[] {
  return readConfigDocument(source, BYTES_MAX).problems.map(
    ({ line, column, message }) => `${line}:${column} ${message}`,
  );
}

test.each([
  ["a: 1\nb: 2\na: 3\n", /^3:1 The key "a" stands here a second time/],
  ["x:\n  - { k: 1, k: 2 }\n", /^2:13 The key "k"/],
  ["a:\n\tb: 1\n", /^2:1 A tab indents/],
  ["a: 1\n---\nb: 2\n", /^2:1 The file holds more than one YAML document/],
  ["a: !foo 1\n", /^1:4 Tags/],
  ["a: !!binary aGVsbG8=\n", /^1:4 Tags/],
  ["a: b: c\n", /^1:4 Nested mappings .* quotes/],
  ['a: "abc\n', /Missing closing "quote/],
  ["a: [1, 2\nb: 3\n", /^2:1 Flow sequence/],
  ["a: *missing\n", /^1:4 .*no &missing before it/],
  ["a: &x [*x]\n", /^1:8 \*x refers to itself/],
  ["? [a, b]\n: 1\n", /^1:3 A key must be a plain text/],
  [": 1\n", /^1:1 A key must be a plain text/],
  ["{ ? , a: 1 }\n", /A key must be a plain text/],
  ["a: &x { b: 1 }\nc:\n  <<: *x\n", /^3:3 Merge keys/],
  ["__proto__: { polluted: true }\n", /^1:1 "__proto__" cannot be a key/],
  ['a: "x\\0y"\n', /^1:4 This text holds a NUL/],
  ['a: "x\\ud800y"\n', /^1:4 This text holds a NUL character or half/],
  ["%YAML 1.1\n---\na: !!set {}\n", /Tags/],
])("readConfigDocument, %j, reports %s", (source, expected) => {
  expect(problemsOf(source)[0]).toMatch(expected);
});

test("readConfigDocument, YAML 1.2, leaves no, dates and octal-looking numbers alone", () => {
  const { value, problems } = readConfigDocument("a: no\nb: 2026-01-01\nc: 012\nd: 1_000\ne: ~\n", BYTES_MAX);
  expect(problems).toEqual([]);
  expect(value).toEqual({ a: "no", b: "2026-01-01", c: 12, d: "1_000", e: null });
});

test("readConfigDocument, an honest alias, is written out", () => {
  expect(readConfigDocument("a: &x [1, 2]\nb: *x\n", BYTES_MAX)).toMatchObject({
    value: { a: [1, 2], b: [1, 2] },
    problems: [],
  });
});

test("readConfigDocument, aliases of aliases, are refused before they grow", () => {
  const bomb = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"];
  for (let level = 1; level < 30; level += 1)
    bomb.push(
      `a${level}: &a${level} [${Array(10)
        .fill(`*a${level - 1}`)
        .join(",")}]`,
    );
  const since = readProcessorMs();
  const { readable, problems } = readConfigDocument(bomb.join("\n"), BYTES_MAX);
  expect(readable).toBe(false);
  expect(problems[0]?.message).toContain("Aliases make this grow");
  expect(readProcessorMs() - since).toBeLessThan(1_000);
});

test("readConfigDocument, larger than its limit in bytes, is refused unread", () => {
  const source = `a: "${"é".repeat(40_000)}"`;
  expect(problemsOf(source)).toEqual([expect.stringContaining("1:1 The file is larger than 65536 bytes")]);
  expect(problemsOf(`a: "${"e".repeat(40_000)}"`)).toEqual([]);
});

test.each(["[", "{", "- ", "? ", "a: ", "[a: ", "[[],", ": "])(
  "readConfigDocument, 64 KB of %j, is refused for its depth and leaves the process alive",
  (piece) => {
    const problems = problemsOf(piece.repeat(Math.floor(65_000 / piece.length)));
    expect(problems).toEqual([expect.stringContaining("nested deeper than 100 levels")]);
  },
);

test.each(["]", "&a ", '"', "- [\n", "- a\n", "x: &a [*a]\n", "# a\n"])(
  "readConfigDocument, 64 KB of %j, answers",
  (piece) => {
    const { places } = readConfigDocument(piece.repeat(Math.floor(65_000 / piece.length)), BYTES_MAX);
    expect(places.ofValue([]).line).toBeGreaterThan(0);
  },
);

test("readConfigDocument, a directive for YAML 1.1, changes nothing", () => {
  expect(readConfigDocument("%YAML 1.1\n---\na: no\nb: 012\n", BYTES_MAX)).toMatchObject({
    value: { a: "no", b: 12 },
    problems: [],
  });
});
