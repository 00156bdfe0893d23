import { expect, test } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { parseInputs } from "../../../domain/manifest/inputs.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import { describeForm, describeJsonBody } from "../../../domain/manifest/value-schema.ts";

function inputsOf(lines: readonly string[]): Manifest["inputs"] {
  const result = parseManifest(`inputs:\n${lines.map((line) => `  ${line}\n`).join("")}`);
  if (!result.ok) throw new Error(result.problems.map((problem) => problem.message).join(" "));
  return result.manifest.inputs;
}

/** Kinds whose constraints JSON Schema can say completely: whatever one side takes, the other takes. */
const EXACT = [
  "s: { type: string, min_length: 2, max_length: 5 }",
  "p: { type: string, pattern: '[a-c]{1,3}', required: false }",
  "t: { type: text, default: hello }",
  "n: { type: number, min: 0, max: 10, required: false }",
  "i: { type: integer, min: 5, max: 50, step: 5, required: false }",
  "b: { type: boolean, default: false }",
  "o: { type: select, options: [EU, US], default: EU }",
  "m: { type: multi_select, options: [x, y, z], required: false }",
  "j: { type: json, required: false }",
  "k: { type: secret, min_length: 4, required: false }",
  "f: { type: file, required: false }",
];
/** Those where the schema is wider, and says the rest in words. */
const WIDER = [
  "n: { type: number, min: 0, step: 0.1, required: false }",
  "d: { type: date, min: 2026-01-01, max: 2026-12-31, required: false }",
  "dt: { type: datetime, min: '2026-01-01T00:00:00Z', required: false }",
];

const aText = fc.oneof(
  fc.string({ maxLength: 7 }),
  fc.stringMatching(/^[a-d]{0,4}$/),
  fc.constantFrom(
    "EU",
    "US",
    "x",
    "🙂🙂",
    "2026-02-28",
    "2026-02-31",
    "2026-06-01T10:00:00Z",
    "2026-06-01T10:00+02:00",
  ),
);
const aValue = fc.oneof(
  aText,
  fc.integer({ min: -10, max: 60 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom<unknown>(null, true, false, 0.3, 5, 50, 2 ** 53),
  fc.array(fc.oneof(fc.constantFrom("x", "y", "z"), aText), { maxLength: 4 }),
  fc.jsonValue({ maxDepth: 2 }),
);

function compare(lines: readonly string[], onDifference: (schemaTakes: boolean, body: unknown) => void): void {
  const inputs = inputsOf(lines);
  const isValid = new Ajv2020({
    strict: true,
    validateFormats: false,
    allowUnionTypes: true,
    strictTypes: false,
  }).compile(describeJsonBody(inputs) as object);
  const names = inputs.map(({ name }) => name).filter((name) => name !== "f");
  const aBody = fc.oneof(
    fc.record(Object.fromEntries(names.map((name) => [name, aValue])), { requiredKeys: [] }),
    ...names.map((name) =>
      aValue.map((value) => ({ ...(names.includes("s") ? { s: "good" } : {}), [name]: value }) as object),
    ),
    fc.constant({ s: "good", unknown: 1 }),
  );
  fc.assert(
    fc.property(aBody, (body) => {
      const schemaTakes = isValid(body);
      if (schemaTakes !== parseInputs({ inputs }, body).ok) onDifference(schemaTakes, body);
    }),
    { numRuns: 3_000 },
  );
}

test("describeJsonBody, constraints that a schema can say, takes what parseInputs takes", () => {
  compare(EXACT, (schemaTakes, body) => {
    throw new Error(`The schema ${schemaTakes ? "takes" : "refuses"} ${JSON.stringify(body)}.`);
  });
});

test("describeJsonBody, constraints beyond a schema, never refuses what parseInputs takes", () => {
  let wider = 0;
  compare(WIDER, (schemaTakes, body) => {
    if (!schemaTakes) throw new Error(`The schema refuses ${JSON.stringify(body)}.`);
    wider += 1;
  });
  expect(wider).toBeGreaterThan(0);
});

test("describeJsonBody, a required file, is undefined: such a call is a form", () => {
  expect(describeJsonBody(inputsOf(["f: { type: file }", "s: { type: string }"]))).toBeUndefined();
});

test("describeForm, values and files, names the parts whose content is JSON and how many files there may be", () => {
  const { schema, encoding } = describeForm(
    inputsOf([
      "f: { type: file, accept: [.csv], max_size: 1MB }",
      "l: { type: file_list, max_files: 3, required: false }",
      "m: { type: multi_select, options: [x, y], required: false }",
    ]),
  );
  const file = { type: "string", contentMediaType: "application/octet-stream" };
  expect(schema).toMatchObject({
    required: ["f"],
    properties: {
      f: { ...file, description: expect.stringContaining(".csv") },
      l: { items: file, description: expect.stringContaining("At most 3 files.") },
    },
  });
  expect(encoding).toEqual({ m: { contentType: "application/json" } });
});
