import { expect, test } from "@jest/globals";
import type { Input } from "../../../domain/manifest/manifest.ts";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import { toSentence } from "../../../web/src/app/sentence.ts";
import { beginValues, type FormFile, type FormValues, readForm } from "../../../web/src/form/values.ts";

const EVERY_KIND = `
inputs:
  title: { type: string, max_length: 5 }
  notes: { type: text, required: false }
  ratio: { type: number, default: 0.5 }
  count: { type: integer, min: 1 }
  loud: { type: boolean, default: true }
  sure: { type: boolean, required: false }
  size: { type: select, options: [small, large], default: small }
  tags: { type: multi_select, options: [a, b, c], default: [a, c] }
  day: { type: date, required: false }
  at: { type: datetime, default: "2026-05-01T09:30:00+02:00" }
  data: { type: json, default: { a: [1, null] } }
  token: { type: secret, required: false }
  orders: { type: file, accept: [.csv] }
  more: { type: file_list, required: false, max_files: 2 }
`;

function inputsOf(text: string): readonly Input[] {
  const parsed = parseManifest(text);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.manifest.inputs;
}

const inputs = inputsOf(EVERY_KIND);
const begun = beginValues(inputs);

function kept(fileName: string, position = 0): FormFile {
  return { kind: "kept", from: { executionId: "ex_1", input: "orders", position }, fileName, bytes: 10 };
}

function read(changed: FormValues) {
  return readForm(inputs, { ...begun, ...changed });
}

const GOOD: FormValues = { title: "Hi", count: "3", orders: [kept("orders.csv")] };

test("beginValues, of every kind, has the defaults as the controls show them, and nothing where there is none", () => {
  expect(begun).toEqual({
    title: "",
    notes: "",
    ratio: "0.5",
    count: "",
    loud: "true",
    sure: "",
    size: "small",
    tags: ["a", "c"],
    day: "",
    at: "2026-05-01T09:30:00+02:00",
    data: '{\n  "a": [\n    1,\n    null\n  ]\n}',
    token: "",
    orders: [],
    more: [],
  });
});

test("beginValues, given what went in before, shows that instead, but no secret", () => {
  const again = beginValues(
    inputs,
    { title: "Ada", loud: false, notes: null, token: "•••" },
    { orders: [kept("a.csv")] },
  );
  expect(again).toMatchObject({ title: "Ada", loud: "false", notes: "", token: "", orders: [kept("a.csv")] });
});

test("a form, of JSON that browsers change, shows and sends it as it was written, a number too, and refuses such digits for one", () => {
  const text = '{"id": 9007199254740993}';
  const exact = inputsOf(`inputs:\n  data: { type: json, default: ${text} }\n  ratio: { type: number, default: 1 }`);
  expect(beginValues(exact)["data"]).toBe('{"id":9007199254740993}');
  const again = beginValues(exact, { data: { id: 1 } }, {}, { data: text });
  expect(readForm(exact, { ...again, ratio: "1.0" })).toMatchObject({
    form: { texts: { data: text, ratio: "1.0" } },
    problems: [],
  });
  const { problems } = readForm(exact, { ...again, ratio: "9007199254740993" });
  expect(problems).toEqual([{ input: "ratio", message: expect.stringContaining("±9007199254740991") }]);
});

test("readForm, of a form that is filled in, gives values of the declared kinds and leaves out what is empty", () => {
  const { form, problems } = read(GOOD);
  expect(problems).toEqual([]);
  expect(form.values).toEqual({
    title: "Hi",
    ratio: 0.5,
    count: 3,
    loud: true,
    size: "small",
    tags: ["a", "c"],
    at: "2026-05-01T09:30:00+02:00",
    data: { a: [1, null] },
  });
  expect(form.files).toEqual({ orders: [kept("orders.csv")] });
});

test("readForm, of an optional control that was emptied, sends nothing, so that the default applies", () => {
  const { form, problems } = read({ ...GOOD, ratio: "", tags: [], size: "" });
  expect(problems).toEqual([]);
  expect(Object.keys(form.values)).not.toEqual(expect.arrayContaining(["ratio"]));
  expect(Object.keys(form.values)).toEqual(expect.arrayContaining(["title", "count"]));
});

test("readForm, of a form with mistakes, tells each in the order of the form, in the words of the service", () => {
  const { problems } = read({ ...GOOD, title: "too long", ratio: "x", count: "0", data: "{", orders: [kept("a.txt")] });
  expect(problems).toEqual([
    { input: "title", message: "must have at most 5 characters, not 8." },
    { input: "ratio", message: "must be a number, such as 1.5." },
    { input: "count", message: "must be at least 1, not 0." },
    { input: "data", message: expect.stringMatching(/^must be JSON\. /) },
    { input: "orders", message: '"a.txt" is not accepted. Send .csv.' },
  ]);
});

test("readForm, of an empty form, misses exactly what is required", () => {
  const { problems } = readForm(inputs, {});
  expect(problems.map(({ input, message }) => [input, toSentence(message)])).toEqual([
    ["title", "This is required."],
    ["count", "This is required."],
    ["orders", "This is required."],
  ]);
});

test("readForm, of more files than may be, says how many may", () => {
  const { problems } = read({ ...GOOD, more: [kept("a"), kept("b"), kept("c")] });
  expect(problems).toEqual([{ input: "more", message: "takes at most 2 files, not 3." }]);
});
