import type { JsonValue } from "../../domain/manifest/json-values.ts";
import type { InputKind } from "../../domain/manifest/manifest.ts";
import type { Program } from "../runner/harness.ts";

/** What a program needs beyond its code. Everything is optional: most programs need nothing. */
export interface Given extends Partial<Omit<Program, "code" | "commit" | "environmentDir">> {
  /** Takes out of a text what is random by nature, and nothing else; it sees messages, log lines and small outputs. */
  readonly normalize?: (text: string) => string;
  /** Part of the reason why a lane refuses this code; without it the code must run in a lane. */
  readonly unfit?: string;
  /** Whether it hears something else where it has a network. */
  readonly asksOutside?: boolean;
}

const EVERY_KIND: Readonly<Record<string, InputKind>> = {
  name: "string",
  notes: "text",
  price: "number",
  count: "integer",
  urgent: "boolean",
  region: "select",
  tags: "multi_select",
  day: "date",
  at: "datetime",
  data: "json",
  token: "secret",
  table: "file",
  parts: "file_list",
};

const VALUES: Readonly<Record<string, JsonValue>> = {
  name: "Ada Lövelace 🙂",
  notes: 'two\nlines\twith \u2028 and \\ "quotes"',
  price: 12.5,
  count: -3,
  urgent: false,
  region: "EU",
  tags: ["a", "b c"],
  day: "2026-02-28",
  at: "2026-02-28T13:14:15.016+02:00",
  data: { list: [1, null, { deep: true }], text: "ü", large: 9007199254740991, small: 1e-300 },
  token: "s3cret-value",
};

const TABLE = { input: "table", files: [{ fileName: "orders.csv", content: "region;price\nEU;1\n" }] };
const COUNT = { inputs: { count: 3 }, kinds: { count: "integer" } } satisfies Given;
const PRICES = {
  files: [{ input: "table", files: [{ fileName: "p.csv", content: "region,price\nEU,1.5\nUS,2\nEU,3\n" }] }],
} satisfies Given;

/** Addresses of objects, as `repr` gives them. */
const withoutAddresses = (text: string) => text.replaceAll(/0x[0-9a-f]{6,}/g, "0x…");
const withoutSeconds = (text: string) => text.replaceAll(/in \d+\.\d{3}s/g, "in …s");
/** The runner's own frames are fewer or more, so the limit is met some frames earlier or later. */
const withoutDepth = (text: string) => text.replaceAll(/repeated 9\d\d more times/g, "repeated 9… more times");
/** What stands for any number of the runner's own frames, which only a crash shows. */
export const RUNNER_FRAME = "frames of the runner";

/** A crash shows every frame, those of the runner too; addresses as well. */
const withoutRunner = (text: string) => (text.includes("/runner/") ? RUNNER_FRAME : withoutAddresses(text));

/** What programs are given, by `group/name`. */
export const GIVEN: Readonly<Record<string, Given>> = {
  "arguments/every_kind": {
    kinds: EVERY_KIND,
    inputs: VALUES,
    files: [
      TABLE,
      {
        input: "parts",
        list: true,
        files: [
          { fileName: "a.txt", content: "one" },
          { fileName: "ä b.txt", content: "two" },
        ],
      },
    ],
  },
  "arguments/nothing_given": { kinds: EVERY_KIND },
  "arguments/files": {
    files: [
      { input: "first", files: [{ fileName: "same name.txt", content: "1" }] },
      { input: "second", files: [{ fileName: "same name.txt", content: "2" }] },
      { input: "many", list: true, files: [{ fileName: "数据.csv", content: "3" }] },
    ],
  },
  "arguments/keywords": { inputs: { count: 3, other: "x" }, kinds: { count: "integer", other: "string" } },
  "arguments/positional_only": COUNT,
  "arguments/missing_parameter": COUNT,
  "arguments/ignored_input": { inputs: { count: 3, other: "x" }, kinds: { count: "integer", other: "string" } },
  "arguments/async_main": COUNT,
  "arguments/class_main": COUNT,
  "arguments/decorated_main": { inputs: { count: 3, name: "n" }, kinds: { count: "integer", name: "string" } },
  "arguments/imported_main": COUNT,
  "arguments/partial_main": COUNT,
  "arguments/script_reads_inputs": { ...COUNT, files: [TABLE] },
  "results/refused_object": { normalize: withoutAddresses },
  "results/refused_function": { normalize: withoutAddresses },
  "results/declared_missing": { outputs: ["report"] },
  "prints/log_limit": { limits: { logBytesMax: 20_000 } },
  "modules/entry_in_folder": { entrypoint: "jobs/report.py" },
  "modules/entry_named_like_library": { entrypoint: "calendar.py" },
  "interpreter/environment_variables": {
    variables: { REGION: "eu ü", TOKEN: "s3cret-value", LEVEL: "3" },
    laneVariables: { fixed: { REGION: "eu ü" }, perRun: ["TOKEN", "LEVEL"] },
    secrets: ["s3cret-value"],
  },
  "modules/treadle_run": {
    variables: {
      TREADLE_RUN_ID: "ex_0123456789abcdef",
      TREADLE_RUN_ATTEMPT: "2",
      TREADLE_RUN_TRIGGER: "schedule",
      TREADLE_RUN_COMMIT: "c0ffee",
      TREADLE_RUN_WORKFLOW: "wf_0123456789abcdef",
      // The second 02:30 of the day on which the clock is put back.
      TREADLE_RUN_SCHEDULED_FOR: "2026-10-25T02:30:00+01:00",
      TREADLE_RUN_PREVIOUS_SCHEDULED_FOR: "2026-10-25T02:30:00+02:00",
      TREADLE_RUN_TIMEZONE: "Europe/Berlin",
    },
  },
  "packages/pandas_": PRICES,
  "library/unittest_": { normalize: withoutSeconds },
  "endings/atexit_exits": { normalize: withoutAddresses },
  "endings/atexit_order": { normalize: withoutAddresses },
  "failures/generator_close": { normalize: withoutAddresses },
  "failures/unraisable": { normalize: withoutAddresses },
  "failures/recursion": { normalize: withoutDepth },
  "failures/network_is_off": { asksOutside: true },
  "packages/requests_": { asksOutside: true, normalize: withoutAddresses },
  "failures/syntax_error": { unfit: "does not compile" },
  "interpreter/script_warnings": { unfit: "prints" },
  "modules/shadows_many": { kinds: { day: "date" }, inputs: { day: "2026-02-28" }, files: [TABLE] },
  "modules/shadows_ours": { unfit: "_treadle_outputs" },
  "signals/crash_with_faulthandler": { normalize: withoutRunner },
};
