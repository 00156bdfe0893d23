import { expect, test } from "@jest/globals";
import { findJsonTexts, splitBody } from "../../../domain/manifest/inputs.ts";
import { isExact, layOut, markNumbers, splitMembers, writeObject } from "../../../domain/manifest/json-text.ts";
import type { Schedule } from "../../../domain/manifest/manifest.ts";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import { findScheduleChange } from "../../../domain/schedules/changes.ts";

test.each<[string, Record<string, string>]>([
  ['{"a": 1.0, "b" :\n[1, {"a": "}"}] }', { a: "1.0", b: '[1, {"a": "}"}]' }],
  ['{"a":"x,\\"y\\"","a\\u0062":{"c":{}}, "n":null}', { a: '"x,\\"y\\""', ab: '{"c":{}}', n: "null" }],
  ['{"twice": 1, "twice": 2}', { twice: "2" }],
  ['{"a":"\\\\","b":"\\\\\\""}', { a: '"\\\\"', b: '"\\\\\\""' }],
  [" { } ", {}],
  ['[{"a":1}]', {}],
  ['"a:1"', {}],
])("splitMembers, of %j, has the text of each member", (text, members) => {
  expect(splitMembers(text)).toEqual(members);
});

test("splitMembers, of a key like __proto__, has it as any other", () => {
  const members = splitMembers('{"__proto__": 1.0}');
  expect([Object.keys(members), Object.getPrototypeOf(members)]).toEqual([["__proto__"], Object.prototype]);
});

test("writeObject, with texts, has them as they are, and leaves out what is undefined", () => {
  expect(writeObject({ a: 1, b: 2, c: undefined, 'd"': "x" }, { b: "2.0", z: "1" })).toBe('{"a":1,"b":2.0,"d\\"":"x"}');
});

test.each([
  ['{"a": [1, "x y", null]}', true],
  ['{"a":9007199254740993}', false],
  ["1.0", false],
  ['{"2":0,"1":0}', false],
  ['{"a":1,"a":1}', false],
])("isExact, of %j, is %s, and only such text is laid out anew", (text, exact) => {
  expect(isExact(text)).toBe(exact);
  expect(layOut(text)).toBe(exact ? JSON.stringify(JSON.parse(text), null, 2) : text);
});

test("findJsonTexts, of digits that Python does not read behind a key that is there twice, keeps none", () => {
  const { inputs } = read("1", "{}");
  const text = (digits: number) => `{"a":${"9".repeat(digits)},"a":"${"9".repeat(5_000)}"}`;
  expect(findJsonTexts({ inputs }, { data: { a: "" } }, { data: text(4_301) })).toEqual({});
  expect(findJsonTexts({ inputs }, { data: { a: "" } }, { data: text(4_300) })).toEqual({ data: text(4_300) });
});

test.each([
  ["1.0", "1.0"],
  ["-0", "-0"],
  [" 1e3 ", "1e3"],
  ["1", undefined],
  ["-2.5", undefined],
  [".5", undefined],
  ["0x10", undefined],
])("findJsonTexts, of a number written as %j, keeps %j", (written, kept) => {
  const { inputs } = read("1", "{}");
  const texts = findJsonTexts({ inputs }, { ratio: Number(written) }, { ratio: written });
  expect(texts).toEqual(kept === undefined ? {} : { ratio: kept });
});

test("parseManifest, of a number's default that JavaScript writes otherwise, keeps its text", () => {
  const { inputs } = read("1", "{}");
  expect(inputs[1]).toMatchObject({ default: 6.02e23, defaultText: "6.02e23" });
  expect(findJsonTexts({ inputs }, { ratio: 6.02e23 }, {})).toEqual({ ratio: "6.02e23" });
});

test("markNumbers, of numbers that JavaScript changes, keeps their digits and touches no text", () => {
  expect(JSON.parse(markNumbers('[1, -2.5, "1.0", 1.0, {"1.0": 9007199254740993}, 1e5]'))).toEqual([
    1,
    -2.5,
    "1.0",
    { "\0": "1.0" },
    { "1.0": { "\0": "9007199254740993" } },
    { "\0": "1e5" },
  ]);
});

const CONFIG = (data: string, payload: string): string => `
inputs:
  data: { type: json, default: ${data} }
  ratio: { type: number, default: 6.02e23 }
triggers: { schedule: { enabled: true, cron: "0 9 * * *", payload: ${payload} } }
`;

function read(data: string, payload: string) {
  const parsed = parseManifest(CONFIG(data, payload));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.manifest;
}

test.each([
  [
    "{ z: 9007199254740993, 2: 1.0, 1: [ .5, 5., 0xFFFFFFFFFFFFFFFF, +7, 007 ] }",
    '{"z":9007199254740993,"2":1.0,"1":[0.5,5.0,18446744073709551615,7,7]}',
  ],
  ['{ a: &x [1.10, "1.10"], b: *x }', '{"a":[1.10,"1.10"],"b":[1.10,"1.10"]}'],
  ["12345678901234567890", "12345678901234567890"],
  ["[null, ~, true, yes]", '[null,null,true,"yes"]'],
])("parseManifest, of the default and the payload %s, keeps them with all digits and in their order", (yaml, text) => {
  const manifest = read(yaml, `{ data: ${yaml.replaceAll("&x ", "&y ").replaceAll("*x", "*y")} }`);
  expect(manifest.inputs[0]).toMatchObject({ defaultText: text });
  const { schedule } = manifest.triggers;
  expect(schedule?.payloadText).toBe(`{"data":${text}}`);
  const texts = splitBody(manifest, schedule?.payload, schedule?.payloadText ?? "");
  expect(findJsonTexts(manifest, { data: 1 }, texts)).toEqual({ data: text });
  expect(findJsonTexts(manifest, { data: 1 }, {})).toEqual({ data: text });
  expect(findJsonTexts(manifest, { data: null }, texts)).toEqual({});
});

test("findScheduleChange, of a payload with another number of which JavaScript sees nothing, is a change; of one without a text, none", () => {
  const [one, other] = ["{ data: 9007199254740993 }", "{ data: 9007199254740992 }"].map(
    (payload) => read("1", payload).triggers.schedule,
  );
  expect(findScheduleChange(one ?? null, other ?? null)).toMatchObject({ change: "changed" });
  const old = JSON.parse(JSON.stringify({ ...other, payloadText: undefined })) as Schedule;
  expect(findScheduleChange(old, one ?? null)).toBeNull();
});

test.each(["ratio: 9007199254740993", "ratio: 12345678901234567890"])(
  "parseManifest, of a payload with %s, refuses it, and takes it with an exponent",
  (payload) => {
    const parsed = parseManifest(CONFIG("1", `{ ${payload} }`));
    expect(parsed).toMatchObject({
      ok: false,
      problems: [{ line: 5, message: expect.stringContaining("must be between ±9007199254740991") }],
    });
    expect(read("1", `{ ${payload}e0 }`).triggers.schedule?.payload).toEqual({ ratio: Number(payload.slice(7)) });
    expect(parseManifest(CONFIG("1", "{}").replace("6.02e23", payload.slice(7)))).toMatchObject({
      ok: false,
      problems: [{ line: 4, message: expect.stringContaining("inputs.ratio.default: must be between") }],
    });
  },
);
