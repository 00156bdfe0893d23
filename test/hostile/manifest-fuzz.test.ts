import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { stringify } from "yaml";
import { INPUT_KINDS } from "../../domain/manifest/declared-kinds.ts";
import { parseInputs } from "../../domain/manifest/inputs.ts";
import { parseManifest } from "../../domain/manifest/parse.ts";
import { readProcessorMs } from "../support/processor.ts";
import { FUZZ_MS, fuzz } from "./fuzz-settings.ts";
import { mutated } from "./mutations.ts";

const CASE_MS_MAX = 3_000;
const root = new URL("../../", import.meta.url);
const examples = readdirSync(new URL("examples", root)).map((name) =>
  readFileSync(new URL(`examples/${name}/config.yaml`, root), "utf8"),
);
/** Every key has an example in its document. */
const documented = [...readFileSync(new URL("docs/manifest.md", root), "utf8").matchAll(/```yaml\n([^`]+)```/g)].map(
  (match) => match[1] as string,
);
const seeds = [...examples, ...documented, ""];

const KEYS = [
  ...new Set(seeds.flatMap((text) => [...text.matchAll(/([a-z_]+):/g)].map((match) => match[1] as string))),
];
const DICTIONARY = [
  ...KEYS.map((key) => `${key}: `),
  ...INPUT_KINDS.map((kind) => `{ type: ${kind} }`),

  "&a ",
  "*a",
  "<<: *a",
  "!!set",
  "!!binary",
  "!",
  "? ",
  "- ",
  "| \n",
  "> \n",
  "---\n",
  "...\n",
  "%YAML 1.1\n",
  "# ",
  "~",
  "0o17",
  ".inf",
  "2026-02-30",
  "1h",
  "50MB",
  "-1",
  "\u0085",
];

/** A manifest is refused with problems at places that exist, or taken as plain JSON whose own values it accepts. */
function checkManifest(source: string): void {
  const since = readProcessorMs();
  const result = parseManifest(source);
  expect(readProcessorMs() - since).toBeLessThan(CASE_MS_MAX);
  if (result.ok) {
    expect(JSON.parse(JSON.stringify(result.manifest))).toEqual(result.manifest);
    const { schedule } = result.manifest.triggers;
    // What a reference stands for is known when a tick is.
    const isPlain = schedule !== null && !JSON.stringify(schedule.payload).includes("${{");
    if (isPlain) expect(parseInputs(result.manifest, schedule.payload).ok).toBe(true);
    return;
  }
  const lines = source.split("\n");
  expect(result.problems.length).toBeGreaterThan(0);
  for (const { file, line, column, message } of result.problems) {
    expect([file, message]).toEqual(["config.yaml", expect.stringMatching(/\S/)]);
    expect(lines[line - 1]).toBeDefined();
    expect(column).toBeGreaterThanOrEqual(1);
    expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? 0) + 1);
  }
}

test(
  "manifest, mutated from the examples, is taken or refused at a place in it",
  () => fuzz("manifestText", mutated(seeds, DICTIONARY, 8), checkManifest),
  FUZZ_MS,
);

const scalar = fc.oneof(
  fc.constantFrom(
    null,
    true,
    false,
    0,
    -1,
    Number.POSITIVE_INFINITY,
    0.1,
    "",
    "EU",
    "50MB",
    "1h",
    "0 9 * * *",
    "Europe/Berlin",
    "2026-05-01",
    ".csv",
    "main.py",
    "(a+)+",
    "\\d{3}",
    "__proto__",
  ),
  fc.constantFrom<string>(...INPUT_KINDS),
  fc.integer(),
  fc.double(),
  fc.string({ unit: "binary", maxLength: 20 }),
);
const anything = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: "small" }, scalar, fc.array(tie("value"), { maxLength: 4 }), tie("map")),
  map: fc.dictionary(fc.oneof(fc.constantFrom(...KEYS), fc.string({ maxLength: 6 })), tie("value"), { maxKeys: 8 }),
})).map;

test(
  "manifest, made of its own keys and of any values, is taken or refused at a place in it",
  () =>
    fuzz("manifestValues", fc.tuple(anything, fc.boolean()), ([value, isFlow]) =>
      checkManifest(isFlow ? JSON.stringify(value) : stringify(value)),
    ),
  FUZZ_MS,
);

/** What takes long in parsers that are not linear, as large as a file may be. */
const LARGE: readonly (readonly [string, string])[] = [
  ["brackets", "[".repeat(65_000)],
  ["braces", "{a: ".repeat(16_000)],
  ["dashes", "- ".repeat(32_000)],
  ["dashes that are left at once", `${"- ".repeat(5_000)}\n- a`],
  ["question marks that are left at once", `${"? ".repeat(5_000)}\nb: 1`],
  ["keys on a line that are left at once", `${": a".repeat(2_000)}\nb: 1`],
  ["question marks", "? ".repeat(32_000)],
  ["anchors", "&a ".repeat(21_000)],
  ["aliases", `a: &a [x]\nb: [${"*a,".repeat(20_000)}]`],
  [
    "aliases of aliases",
    Array.from({ length: 30 }, (_, at) => `a${at}: &a${at} [${`*a${at - 1},`.repeat(9)}]`)
      .join("\n")
      .replace(/\*a-1,/g, "x,"),
  ],
  ["quotes", `"`.repeat(65_000)],
  ["escapes", `"${"\\x41".repeat(16_000)}"`],
  ["line breaks in quotes", `name: "${"\n".repeat(60_000)}"`],
  ["spaces before a comment", `name: a${" ".repeat(60_000)}# b`],
  ["tabs", "\t".repeat(65_000)],
  ["colons", ": ".repeat(32_000)],
  ["one long key", `${"k".repeat(65_000)}: 1`],
  ["unknown keys", Array.from({ length: 8_000 }, (_, at) => `k${at}:`).join("\n")],
  ["inputs", `inputs:\n${Array.from({ length: 2_000 }, (_, at) => `  i${at}: { type: string }`).join("\n")}`],
  [
    "options",
    `inputs: { a: { type: select, options: [${Array.from({ length: 9_000 }, (_, at) => `o${at}`).join()}] } }`,
  ],
  ["a pattern of alternatives", `inputs: { a: { type: string, pattern: '${"(a|b)*".repeat(9_000)}' } }`],
  [
    "a pattern of repetitions",
    `inputs: { a: { type: string, pattern: '${"(".repeat(2_000)}a${"{1,100}){1,100}".repeat(2_000)}' } }`,
  ],
  ["a pattern of classes", `inputs: { a: { type: string, pattern: '${"[a-z0-9]?".repeat(6_000)}' } }`],
  ["a cron of lists", `triggers: { schedule: { enabled: true, cron: "${"1,".repeat(30_000)}1 * * * *" } }`],
  ["documents", "---\n".repeat(16_000)],
  ["directives", "%TAG ! a\n".repeat(7_000)],
  ["tags", "!a ".repeat(21_000)],
  ["carriage returns", "a: 1\r".repeat(13_000)],
  ["emoji", `name: ${"😀".repeat(16_000)}`],
];

test.each(LARGE)("manifest, of as many %s as fit, is read within a second", (_what, source) => checkManifest(source));
