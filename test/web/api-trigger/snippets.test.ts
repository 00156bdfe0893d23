import { expect, test } from "@jest/globals";
import type { Input } from "../../../domain/manifest/manifest.ts";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import { findKnownValues } from "../../../web/src/api-trigger/known-values.ts";
import {
  canSendJson,
  findExampleBody,
  listUnknownValues,
  writeSnippet,
} from "../../../web/src/api-trigger/snippets.ts";

function someInputs(inputs: string): readonly Input[] {
  const parsed = parseManifest(`inputs:\n${inputs}`);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.manifest.inputs;
}

const CALL = { url: "https://host/api/workflows/wf_1/execute", apiKey: "trd_1", inputs: [], caFile: null };

test("findExampleBody, of inputs, has what is required or has a default, and leaves out the rest", () => {
  const inputs = someInputs(
    "  a: { type: integer, min: 3 }\n  b: { type: string, default: x }\n  c: { type: string, required: false }\n  d: { type: secret, required: false }\n",
  );
  expect(findExampleBody(inputs).values).toEqual([
    ["a", 3],
    ["b", "x"],
  ]);
});

test.each([
  [".csv", "f.csv", "text/csv"],
  ["image/*", "f.png", "image/png"],
  ["application/pdf", "f.pdf", "application/pdf"],
  [".odd", "f.odd", "application/octet-stream"],
])("findExampleBody, of a file that is %s, names one that is accepted", (accept, file, contentType) => {
  const inputs = someInputs(`  f: { type: file, accept: [${accept}] }\n`);
  expect(findExampleBody(inputs).files).toEqual([{ name: "f", file, contentType }]);
});

test("canSendJson, of a required file, is false, of one that may be left out true", () => {
  expect(canSendJson(someInputs("  f: { type: file }\n"))).toBe(false);
  expect(canSendJson(someInputs("  f: { type: file, required: false }\n"))).toBe(true);
});

test("listUnknownValues, of a pattern that no example fits, names the input, and the snippet says what to replace", () => {
  const inputs = someInputs('  code: { type: string, pattern: "[0-9]{13}" }\n');
  expect(listUnknownValues(inputs)).toEqual(["code"]);
  expect(writeSnippet("curl", "json", { ...CALL, inputs })).toContain("REPLACE_ME");
});

test.each(["curl", "python", "javascript"] as const)(
  "a snippet, for %s, names a certificate authority only when there is one",
  (language) => {
    const file = "/home/it's me/ca.pem";
    expect(writeSnippet(language, "json", CALL)).not.toMatch(/cert|cafile|ssl/i);
    expect(writeSnippet(language, "json", { ...CALL, caFile: file })).toMatch(/it'.*s me\/ca\.pem/);
  },
);

test("findKnownValues, of a payload that names its tick and a secret, leaves those out, and an example stands in", () => {
  const config = `inputs:
  day: { type: date }
  rows: { type: json }
  more: { type: json }
  password: { type: secret }
triggers:
  schedule:
    enabled: true
    cron: "0 3 * * *"
    payload: { day: \${{ tick.date }}, rows: ["\${{ tick.zone }}", 1.0], more: [1.0], password: \${{ secrets.X }} }
`;
  const parsed = parseManifest(config);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const { known, knownTexts } = findKnownValues(parsed.manifest);
  expect([known, knownTexts]).toEqual([{ more: [1] }, { more: "[1.0]" }]);
  const body = findExampleBody(parsed.manifest.inputs, known, knownTexts);
  expect(JSON.stringify(body)).not.toContain("{{");
  expect(body.values.map(([name]) => name)).toEqual(["day", "rows", "more", "password"]);
});
