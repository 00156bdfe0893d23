import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { INPUT_KINDS } from "../../domain/manifest/declared-kinds.ts";
import { parseInputs, parseTextPart } from "../../domain/manifest/inputs.ts";
import type { InputKind, Manifest } from "../../domain/manifest/manifest.ts";
import { parseManifest } from "../../domain/manifest/parse.ts";
import type { UploadedFile } from "../../domain/manifest/uploads.ts";
import { readProcessorMs } from "../support/processor.ts";
import { casesOf, FUZZ_MS, fuzz } from "./fuzz-settings.ts";

const CASE_MS_MAX = 1_000;

/** Names that a careless object would already have. */
const NAMES = [
  "a",
  "note",
  "inputs",
  "constructor",
  "toString",
  "hasOwnProperty",
  "valueOf",
  "prototype",
  "length",
  "then",
  "_",
  "A1",
];
const EXTRA_KEYS = ["__proto__", "", "nothing", "\0", "a ", "\ud800", "x".repeat(300)];

const text = fc.oneof(
  fc.constantFrom(
    "",
    "a",
    "b",
    "2026-05-01",
    "2026-02-30",
    "2026-05-01T09:30:00+02:00",
    "INV-1",
    "true",
    "null",
    "\0",
    "\ud800",
    "😀",
  ),
  fc.string({ unit: "binary", maxLength: 30 }),
);
const figure = fc.oneof(
  fc.constantFrom(0, -0, 1, 0.1, 0.3, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 53, 2 ** 53 - 1, 1e-320),
  fc.integer({ min: -20, max: 20 }),
  fc.double({ noNaN: true }),
);
const anyJson = fc.oneof(
  text.map((part) => [{ a: part }]),
  text.map((part) => ({ [part]: 1 })),
  figure.map((part) => [part]),
  fc.jsonValue({ maxDepth: 4 }),
  fc.constantFrom([], {}, JSON.parse('{"__proto__":{"a":1}}') as object),
  fc.integer({ min: 1, max: 70 }).map((depth) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`) as object),
);
const options = fc.uniqueArray(fc.constantFrom("a", "b", "toString", "__proto__", "", "é"), {
  minLength: 1,
  maxLength: 4,
});

const common = { required: fc.boolean(), label: fc.string({ minLength: 1, maxLength: 5 }) };
const lengths = { min_length: fc.nat(4), max_length: fc.integer({ min: 0, max: 20 }) };
const range = {
  min: fc.integer({ min: -10, max: 5 }),
  max: fc.integer({ min: 0, max: 20 }),
  step: fc.constantFrom(1, 2, 0.1, 0.25, 3),
};
const times = { min: fc.constantFrom("2020-01-01", "2026-05-01"), max: fc.constantFrom("2026-05-01", "2030-01-01") };

/** What a declaration of each kind may say beside its type. */
const KEYS: Readonly<Record<InputKind, Readonly<Record<string, fc.Arbitrary<unknown>>>>> = {
  string: { ...lengths, pattern: fc.constantFrom("[a-z]*", "INV-\\d+", ".{0,3}", "\\p{L}+"), default: text },
  text: { ...lengths, default: text },
  secret: { ...lengths, pattern: fc.constantFrom("[a-z]*", ".*") },
  number: { ...range, default: figure },
  integer: {
    min: range.min,
    max: range.max,
    step: fc.constantFrom(1, 2, 5),
    default: fc.integer({ min: -5, max: 10 }),
  },
  boolean: { default: fc.boolean() },
  select: { default: fc.constantFrom("a", "b") },
  multi_select: { default: fc.constantFrom([], ["a"], ["a", "b"]) },
  date: { ...times, default: fc.constant("2026-05-01") },
  datetime: { default: fc.constant("2026-05-01T09:30:00Z") },
  json: { default: anyJson },
  file: { accept: fc.constantFrom([".csv"], ["text/*"]), max_size: fc.integer({ min: 1, max: 100 }) },
  file_list: { max_files: fc.integer({ min: 1, max: 3 }) },
};

/** Half of them without constraints: those keep most values from being taken at all. */
const declaration = fc.tuple(fc.constantFrom(...INPUT_KINDS), fc.boolean()).chain(([type, isPlain]) => {
  const needed = type === "select" || type === "multi_select" ? { options } : {};
  const model = { type: fc.constant(type), ...needed, ...(isPlain ? {} : { ...common, ...KEYS[type] }) };
  return fc.record(model, { requiredKeys: ["type", ...Object.keys(needed)] as never });
});
const declarations = fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), declaration), {
  selector: ([name]) => name,
  maxLength: 4,
});

const value = fc.oneof(
  text,
  figure,
  fc.boolean(),
  fc.constant(null),
  anyJson,
  fc.array(fc.constantFrom("a", "b", "toString", 1, null), { maxLength: 4 }),
);
/** Mostly what a kind takes, so that what is wrong is often the only thing that is. */
const FITTING: Readonly<Record<InputKind, fc.Arbitrary<unknown>>> = {
  string: text,
  text,
  secret: text,
  number: figure,
  integer: fc.oneof(fc.integer({ min: -5, max: 20 }), figure),
  boolean: fc.boolean(),
  select: fc.constantFrom("a", "b", "toString", "__proto__"),
  multi_select: fc.subarray(["a", "b", "toString", "__proto__"]),
  date: fc.constantFrom("2026-05-01", "2026-02-29", "2030-01-01", "0000-01-01"),
  datetime: fc.constantFrom("2026-05-01T09:30:00+02:00", "2026-05-01T24:00", "2026-05-01T09:30Z"),
  json: anyJson,
  file: fc.constant(null),
  file_list: fc.constant(null),
};

type Declared = readonly (readonly [string, { readonly type: InputKind }])[];

/** Some of the declared inputs, most of them fitting, and now and then a name that is none. */
function givenFor(declared: Declared): fc.Arbitrary<Record<string, unknown>> {
  const ofOne = declared.map(([name, { type }]) =>
    fc.option(
      fc.tuple(fc.constant(name), fc.oneof({ weight: 6, arbitrary: FITTING[type] }, { weight: 1, arbitrary: value })),
      { nil: undefined, freq: 4 },
    ),
  );
  const extra = fc.option(fc.tuple(fc.constantFrom(...EXTRA_KEYS, ...NAMES), value), { nil: undefined });
  const rarely = fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: extra });
  return fc
    .tuple(...ofOne, rarely)
    .map((entries) => Object.fromEntries(entries.filter((entry) => entry !== undefined) as [string, unknown][]));
}

const upload: fc.Arbitrary<UploadedFile> = fc.record({
  fileName: fc.oneof(fc.constantFrom("a.csv", "", "../a.CSV", "a.exe"), fc.string({ unit: "binary", maxLength: 12 })),
  bytes: fc.nat(200),
  contentType: fc.constantFrom("text/csv", "", "text/html; charset=x", "__proto__"),
});
const files = fc.dictionary(fc.constantFrom(...NAMES, "nothing"), fc.array(upload, { maxLength: 4 }), { maxKeys: 3 });

/** JSON has no infinity: it would be stored as null. */
function requireFinite(_key: string, part: unknown): unknown {
  if (typeof part === "number") expect(Number.isFinite(part)).toBe(true);
  return part;
}

/** Problems name what they are about; values that were taken are taken again and stay as they are. */
function checkInputs(manifest: Pick<Manifest, "inputs">, body: unknown, uploads: Record<string, UploadedFile[]>): void {
  const since = readProcessorMs();
  const result = parseInputs(manifest, body, uploads);
  expect(readProcessorMs() - since).toBeLessThan(CASE_MS_MAX);
  const declared = manifest.inputs.map(({ name }) => name);
  if (!result.ok) {
    const inner = (body as { inputs?: unknown } | null)?.inputs;
    const keys = [body, inner, uploads].flatMap((one) =>
      typeof one === "object" && one !== null ? Object.keys(one) : [],
    );
    const names = new Set(["", ...declared, ...keys.map((key) => key.slice(0, 100))]);
    expect(result.problems.length).toBeGreaterThan(0);
    for (const { input, message } of result.problems)
      expect([names.has(input), message]).toEqual([true, expect.stringMatching(/\S/)]);
    return;
  }
  expect(
    [...Object.keys(result.inputs), ...Object.keys(result.secrets)].filter((name) => !declared.includes(name)),
  ).toEqual([]);
  expect(parseInputs(manifest, { ...result.inputs, ...result.secrets }, uploads)).toEqual(result);
  expect(JSON.stringify(result.inputs, requireFinite)).not.toMatch(/\\u0000|\\ud[89a-f]/);
}

let taken = 0;
let valid = 0;

test(
  "inputs, of any schema and any values, are refused by name or taken for good",
  () => {
    const cases = declarations.chain((declared) =>
      fc.tuple(fc.constant(declared), givenFor(declared as Declared), files, fc.boolean()),
    );
    fuzz("inputs", cases, ([declared, body, uploads, isNested]) => {
      const parsed = parseManifest(JSON.stringify({ inputs: Object.fromEntries(declared) }));
      if (!parsed.ok) return;
      taken += 1;
      checkInputs(parsed.manifest, isNested ? { inputs: body } : body, uploads);
      checkInputs(parsed.manifest, body, {});
      if (parseInputs(parsed.manifest, body).ok) valid += 1;
      for (const { kind, name } of parsed.manifest.inputs) parseTextPart(kind, JSON.stringify(body[name]) ?? "");
    });
    // Otherwise little was tried: schemas have to be sound, and not all values wrong.
    expect([taken >= casesOf("inputs") / 5, valid >= casesOf("inputs") / 20]).toEqual([true, true]);
    expect(({} as Record<string, unknown>)["a"]).toBeUndefined();
  },
  FUZZ_MS,
);
