import { expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  flattenBody,
  type InputsResult,
  parseInputs,
  parseJsonPart,
  parseTextPart,
} from "../../../domain/manifest/inputs.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import type { UploadedFile } from "../../../domain/manifest/uploads.ts";
import { anInput } from "../../support/builders.ts";
import { readProcessorMs } from "../../support/processor.ts";

function aManifest(inputs: string): Manifest {
  const result = parseManifest(
    `inputs:\n${inputs
      .trim()
      .split("\n")
      .map((line) => `  ${line.trim()}\n`)
      .join("")}`,
  );
  if (!result.ok) throw new Error(result.problems.map((problem) => problem.message).join(" "));
  return result.manifest;
}

function problemsOf(result: InputsResult): string[] {
  return result.ok ? [] : result.problems.map(({ input, message }) => `${input}: ${message}`);
}

const aFile = (overrides: Partial<UploadedFile> = {}): UploadedFile => ({
  fileName: "a.csv",
  bytes: 10,
  contentType: "text/csv",
  ...overrides,
});

const ALL = aManifest(`
  s: { type: string, required: false }
  t: { type: text, default: hello }
  n: { type: number, min: 0, max: 10, step: 0.1, required: false }
  i: { type: integer, min: 1, step: 5, required: false }
  b: { type: boolean, default: false }
  o: { type: select, options: [EU, US], default: EU }
  m: { type: multi_select, options: [x, y], required: false }
  d: { type: date, min: 2026-01-01, max: 2026-12-31, required: false }
  dt: { type: datetime, min: "2026-01-01T00:00:00Z", required: false }
  j: { type: json, required: false }
  k: { type: secret, min_length: 4, required: false }
  f: { type: file, required: false }
  l: { type: file_list, required: false }
`);

test("parseInputs, nothing given, applies defaults and leaves the rest null, in the order of declaration", () => {
  const result = parseInputs(ALL, {}, {});
  expect(result).toEqual({
    ok: true,
    inputs: {
      s: null,
      t: "hello",
      n: null,
      i: null,
      b: false,
      o: "EU",
      m: null,
      d: null,
      dt: null,
      j: null,
      k: null,
      f: null,
      l: null,
    },
    secrets: {},
  });
  expect(Object.keys(result.ok ? result.inputs : {})).toEqual(ALL.inputs.map((input) => input.name));
});

test("parseInputs, a value of every kind, is kept as it is, with secrets and files apart", () => {
  const values = {
    s: "é😀",
    t: "",
    n: 0.3,
    i: 6,
    b: true,
    o: "US",
    m: ["y", "x"],
    d: "2026-02-28",
    dt: "2026-03-01T10:00:00.5+02:00",
    j: { a: [null] },
  };
  expect(parseInputs(ALL, { ...values, k: "hunter2" }, { f: [aFile()], l: [aFile(), aFile()] })).toEqual({
    ok: true,
    inputs: values,
    secrets: { k: "hunter2" },
  });
});

test("parseInputs, null, means not given and takes the default", () => {
  expect(parseInputs(ALL, { t: null, b: null, o: null })).toMatchObject({
    ok: true,
    inputs: { t: "hello", b: false, o: "EU" },
  });
});

test.each<[Record<string, unknown>, string]>([
  [{ s: 5 }, "s: must be a string, not a number."],
  [{ s: ["a"] }, "s: must be a string, not a list."],
  [{ s: "x".repeat(10_001) }, "s: must have at most 10000 characters, not 10001."],
  [{ t: "x".repeat(1_000_001) }, "t: must have at most 1000000 characters"],
  [{ s: "a\0b" }, "s: holds a NUL"],
  [{ s: "a\ud800" }, "s: holds a NUL character or half of a surrogate pair"],
  [{ n: "5" }, "n: must be a number, not a string."],
  [{ n: true }, "n: must be a number, not a boolean."],
  [{ n: -1 }, "n: must be at least 0, not -1."],
  [{ n: 11 }, "n: must be at most 10, not 11."],
  [{ n: 0.35 }, "n: must go in steps of 0.1 from 0, unlike 0.35."],
  [{ n: Number.NaN }, "n: must be a number, not NaN."],
  [{ n: Number.POSITIVE_INFINITY }, "n: must be a number, not Infinity."],
  [{ i: 1.5 }, "i: must be a whole number, not 1.5."],
  [{ i: 2 ** 53 }, "i: must be between ±9007199254740991."],
  [{ i: 7 }, "i: must go in steps of 5 from 1, unlike 7."],
  [{ b: "true" }, "b: must be true or false, not a string."],
  [{ b: 1 }, "b: must be true or false, not a number."],
  [{ o: "eu" }, 'o: "eu" is not one of the options. Did you mean "EU"? They are "EU", "US".'],
  [{ o: 1 }, "o: must be one of its options, a string, not a number."],
  [{ m: "x" }, "m: must be a list of its options, not a string."],
  [{ m: ["z"] }, 'm: "z" is not one of the options.'],
  [{ m: ["x", "x"] }, 'm: holds "x" more than once.'],
  [{ m: ["x", "x", "x"] }, "m: must have at most 2 entries"],
  [{ m: [1] }, "m: must be a list of strings; it holds a number."],
  [{ d: "2026-02-30" }, "d: must be a date that exists"],
  [{ d: "2026-2-3" }, "d: must be a date that exists"],
  [{ d: "2025-12-31" }, "d: must not be before 2026-01-01."],
  [{ d: "2027-01-01" }, "d: must not be after 2026-12-31."],
  [{ d: 20260101 }, "d: must be a date that exists, as YYYY-MM-DD, not a number."],
  [{ dt: "2026-02-01" }, "dt: must be a date and time"],
  [{ dt: "2026-02-01 10:00:00" }, "dt: must be a date and time"],
  [{ dt: "2026-02-01T25:00:00Z" }, "dt: must be a date and time"],
  [{ dt: "2026-01-01T00:30:00+01:00" }, "dt: must not be before"],
  [{ j: "a\0" }, "j: holds a NUL"],
  [{ j: { a: { "\ud800": 1 } } }, "j: holds a NUL character or half"],
  [{ j: nest(65) }, "j: is nested deeper than 64 levels."],
  [{ j: nest(100_000) }, "j: is nested deeper than 64 levels."],
  [{ k: 5 }, "k: must be a string, not a number."],
  [{ k: "abc" }, "k: must have at least 4 characters, not 3."],
  [{ f: "data:text/csv,a" }, "f: is a file. Send it as multipart/form-data, in a part named f."],
  [{ l: [] }, "l: is a list of files. Send it as multipart/form-data, in a part named l."],
  [{ nn: 1 }, 'nn: There is no input "nn". Did you mean "n"?'],
  [{ somethingElse: 1 }, 'somethingElse: There is no input "somethingElse". The workflow\'s inputs are s, t,'],
  [JSON.parse('{"__proto__": 1}') as Record<string, unknown>, '__proto__: There is no input "__proto__".'],
])("parseInputs, %#, reports %s", (body, expected) => {
  const problems = problemsOf(parseInputs(ALL, body, {}));
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(expected);
});

function nest(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

test("parseInputs, a json value of exactly 64 levels, is accepted", () => {
  expect(parseInputs(ALL, { j: nest(64) })).toMatchObject({ ok: true });
});

test("parseInputs, several problems, are reported all at once", () => {
  const manifest = aManifest(
    'a: { type: string, min_length: 3, pattern: "[a-z]*" }\nb: { type: integer }\nc: { type: file }',
  );
  expect(problemsOf(parseInputs(manifest, { a: "1", x: 1 }, {}))).toEqual([
    'x: There is no input "x". The workflow\'s inputs are a, b, c.',
    "a: must have at least 3 characters, not 1.",
    "a: must match the pattern [a-z]*",
    "b: is required.",
    "c: is required. Send it as multipart/form-data, in a part named c.",
  ]);
});

test("parseInputs, a secret that breaks its constraints, does not appear in the message", () => {
  const manifest = aManifest('k: { type: secret, max_length: 3, pattern: "[0-9]*" }');
  const problems = problemsOf(parseInputs(manifest, { k: "hunter2" }));
  expect(problems).toHaveLength(2);
  expect(problems.join(" ")).not.toContain("hunter2");
});

test.each<[unknown, string]>([
  [null, "not null"],
  [[], "not a list"],
  ["x", "not a string"],
])("parseInputs, a body of %j, is refused as a whole", (body, words) => {
  expect(problemsOf(parseInputs(ALL, body))).toEqual([`: The inputs must be a JSON object, ${words}.`]);
});

test("parseInputs, a flood of undeclared names, is reported with a limit", () => {
  const body = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`unknown${index}`, 1]));
  const problems = problemsOf(parseInputs(ALL, body));
  expect(problems).toHaveLength(21);
  expect(problems.at(-1)).toBe(": 9980 more inputs are not declared.");
});

const FILES = aManifest(`
  one: { type: file, accept: [.csv, image/*, application/pdf], max_size: 1kB, required: false }
  many: { type: file_list, max_files: 2, required: false }
`);

test.each<[UploadedFile, boolean]>([
  [aFile({ fileName: "A.CSV", contentType: "application/octet-stream" }), true],
  [aFile({ fileName: "x", contentType: "image/png" }), true],
  [aFile({ fileName: "x", contentType: "IMAGE/SVG+XML; charset=utf-8" }), true],
  [aFile({ fileName: "x.bin", contentType: "application/pdf" }), true],
  [aFile({ fileName: "csv", contentType: "text/plain" }), false],
  [aFile({ fileName: ".csv", contentType: "text/plain" }), false],
  [aFile({ fileName: "x.csv.exe", contentType: "text/csv" }), false],
  [aFile({ fileName: "x", contentType: "imagery/png" }), false],
  [aFile({ fileName: "x", contentType: "" }), false],
])("parseInputs, the file %j, is accepted by its name or type: %j", (file, accepted) => {
  expect(parseInputs(FILES, undefined, { one: [file] }).ok).toBe(accepted);
});

test.each<[Record<string, UploadedFile[]>, string]>([
  [{ one: [aFile({ bytes: 1_001 })] }, 'one: "a.csv" is larger than 1 kB.'],
  [{ one: [aFile(), aFile()] }, "one: takes one file, not 2."],
  [{ many: [aFile(), aFile(), aFile()] }, "many: takes at most 2 files, not 3."],
  [{ oen: [aFile()] }, 'oen: There is no input "oen". Did you mean "one"?'],
])("parseInputs, files %#, are refused with %s", (files, expected) => {
  expect(problemsOf(parseInputs(FILES, {}, files))).toEqual([expected]);
});

test("parseInputs, a file for an input that is none, is refused", () => {
  expect(problemsOf(parseInputs(ALL, {}, { s: [aFile()] }))[0]).toContain("s: is of type string, not a file.");
});

test("parseInputs, inputs named like the prototype's members, are read from the body alone", () => {
  const manifest = aManifest(
    "constructor: { type: string }\ntoString: { type: string, default: x }\nvalueOf: { type: file, required: false }",
  );
  expect(problemsOf(parseInputs(manifest, {}))).toEqual(["constructor: is required."]);
  expect(parseInputs(manifest, { constructor: "c" })).toEqual({
    ok: true,
    inputs: { constructor: "c", toString: "x", valueOf: null },
    secrets: {},
  });
});

test("parseInputs, whatever JSON comes, answers and gives only declared names", () => {
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.dictionary(fc.constantFrom("s", "n", "f", "zz", "__proto__"), fc.jsonValue()),
      (whole, parts) => {
        for (const body of [whole, parts]) {
          const result = parseInputs(ALL, body);
          if (result.ok)
            expect([...Object.keys(result.inputs), ...Object.keys(result.secrets)].length).toBe(ALL.inputs.length);
          else expect(result.problems.length).toBeGreaterThan(0);
        }
      },
    ),
  );
});

test("flattenBody, only a key inputs with an object, unwraps it unless that input is declared", () => {
  const declaring = aManifest("inputs: { type: json }");
  expect(flattenBody(ALL, { inputs: { s: "a" } })).toEqual({ s: "a" });
  expect(flattenBody(ALL, { inputs: { s: "a" }, t: "b" })).toEqual({ inputs: { s: "a" }, t: "b" });
  expect(flattenBody(ALL, { inputs: [1] })).toEqual({ inputs: [1] });
  expect(flattenBody(ALL, { s: "a" })).toEqual({ s: "a" });
  expect(flattenBody(declaring, { inputs: { s: "a" } })).toEqual({ inputs: { s: "a" } });
  expect(parseInputs(declaring, { inputs: { s: "a" } })).toMatchObject({ ok: true, inputs: { inputs: { s: "a" } } });
  expect(parseInputs(ALL, { inputs: { s: "a" } })).toMatchObject({ ok: true, inputs: { s: "a" } });
});

const NOT_JSON = "not JSON";

test.each([
  ["string", '"EU"', "EU"],
  ["string", "EU", "EU"],
  ["string", "123", "123"],
  ["string", '{"a":1}', '{"a":1}'],
  ["string", "true", "true"],
  ["string", "null", "null"],
  ["string", '"C:\\Users"', '"C:\\Users"'],
  ["string", "", ""],
  ["select", "2026", "2026"],
  ["date", "2026-01-01", "2026-01-01"],
  ["secret", '"a', '"a'],
  ["number", "1.5", 1.5],
  ["number", '"1.5"', "1.5"],
  ["number", "abc", NOT_JSON],
  ["integer", "", NOT_JSON],
  ["boolean", "true", true],
  ["boolean", "True", NOT_JSON],
  ["multi_select", '["a"]', ["a"]],
  ["json", '{"a": [1]}', { a: [1] }],
  ["json", "hello", NOT_JSON],
  ["json", "null", null],
] as const)("parseTextPart, for %s the text %j, is read", (kind, text, expected) => {
  expect(parseTextPart(kind, text)).toEqual(
    expected === NOT_JSON
      ? { ok: false, message: expect.stringContaining("must be JSON text") }
      : { ok: true, value: expected },
  );
});

test("parseJsonPart, for JSON and for other text, is the value, or says that it is none", () => {
  expect(parseJsonPart(' "EU" ')).toEqual({ ok: true, value: "EU" });
  expect(parseJsonPart("42")).toEqual({ ok: true, value: 42 });
  expect(parseJsonPart("EU")).toEqual({ ok: false, message: expect.stringContaining("is not JSON") });
});

test("parseInputs, with thousands of wrong options, names some of them in bounded time", () => {
  const options = Array.from({ length: 1_000 }, (_, at) => `${"o".repeat(90)}${at}`);
  const inputs = Array.from({ length: 10 }, (_, at) => anInput("multi_select", `choice${at}`, { options }));
  const wrong = Array.from({ length: 1_000 }, (_, at) => `${"x".repeat(90)}${at}`);
  const since = readProcessorMs();
  const result = parseInputs({ inputs }, Object.fromEntries(inputs.map(({ name }) => [name, wrong])));
  expect(readProcessorMs() - since).toBeLessThan(10_000);
  expect(result.ok ? [] : result.problems).toHaveLength(210);
  expect(result.ok ? [] : result.problems[20]).toEqual({
    input: "choice0",
    message: "holds 980 more entries that are wrong.",
  });
});
