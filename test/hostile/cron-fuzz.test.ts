import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { type Cron, matchesDate, parseCron } from "../../domain/cron/cron.ts";
import { nextTicks } from "../../domain/cron/next-runs.ts";
import { readProcessorMs } from "../support/processor.ts";
import { FUZZ_MS, fuzz } from "./fuzz-settings.ts";
import { mutated } from "./mutations.ts";

const CASE_MS_MAX = 1_000;
const AFTER = new Date(Date.UTC(2026, 0, 1));
/** A 29 February comes within eight years of any day. */
const UNTIL = new Date(Date.UTC(2034, 11, 31));

const SEEDS = [
  "0 9 * * 1-5",
  "*/15 8-18 * * MON-FRI",
  "0 0 13 * 5",
  "30 6 1,15 JAN-JUN 0-7",
  "0 0 29 2 *",
  "5-59/10 */2 * * *",
  "* * * * *",
  "",
];
const WORDS = [
  "*",
  "*/2",
  "1-5",
  "5-1",
  "0",
  "7",
  "60",
  "24",
  "31",
  "12",
  "MON",
  "sun",
  "DEC",
  "JANUARY",
  "L",
  "W",
  "#",
  "?",
  "@daily",
  "1/5",
  "*,5",
  "1,",
  ",1",
  "1-",
  "-1",
  "/",
  "1--2",
  "01",
  "1.5",
  "2^3",
  "\u0661",
];

const fieldText = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.tuple(fc.nat(70), fc.nat(70), fc.nat(70)).map(([from, to, step]) => `${from}-${to}/${step}`),
  fc.array(fc.nat(61), { minLength: 1, maxLength: 12 }).map((list) => list.join()),
);
const expressions = fc.oneof(
  mutated(SEEDS, WORDS, 4),
  fc.array(fieldText, { minLength: 5, maxLength: 5 }).map((fields) => fields.join(" ")),
  fc.array(fieldText, { maxLength: 8 }).map((fields) => fields.join("\t ")),
  fc.string({ unit: "binary", maxLength: 40 }),
);

const BOUNDS = { minutes: [0, 59], hours: [0, 23], days: [1, 31], months: [1, 12], weekdays: [0, 6] } as const;

function checkFields(cron: Cron): void {
  for (const [name, [min, max]] of Object.entries(BOUNDS) as [keyof typeof BOUNDS, readonly [number, number]][]) {
    const values = cron[name];
    expect(values.length).toBeGreaterThan(0);
    expect(values).toEqual([...new Set(values)].toSorted((one, other) => one - other));
    expect([(values[0] as number) >= min, (values.at(-1) as number) <= max]).toEqual([true, true]);
  }
}

/** Refused at characters that exist, or taken as numbers in their bounds: the same again from what it says of itself, with a tick that fits. */
function checkCron(text: string): void {
  const since = readProcessorMs();
  const result = parseCron(text);
  if (!result.ok) {
    expect(result.problems.length).toBeGreaterThan(0);
    for (const { position, message } of result.problems) {
      expect(message).toMatch(/\S/);
      expect([position >= 1, position <= Math.max(1, text.length + 1)]).toEqual([true, true]);
    }
  } else {
    checkFields(result.cron);
    expect(parseCron(result.cron.text)).toEqual(result);
    const [tick] = nextTicks(result.cron, "UTC", AFTER, 1, UNTIL) as [Date];
    const date = { month: tick.getUTCMonth() + 1, day: tick.getUTCDate(), weekday: tick.getUTCDay() };
    expect(matchesDate(result.cron, date)).toBe(true);
    expect([
      result.cron.hours.includes(tick.getUTCHours()),
      result.cron.minutes.includes(tick.getUTCMinutes()),
    ]).toEqual([true, true]);
  }
  expect(readProcessorMs() - since).toBeLessThan(CASE_MS_MAX);
}

test(
  "cron, of any text, is refused at a character of it or fires as it says",
  () => fuzz("cron", expressions, checkCron),
  FUZZ_MS,
);

test.each([
  ["commas", ",".repeat(100_000)],
  ["spaces", " ".repeat(100_000)],
  ["stars", "* ".repeat(50_000)],
  ["digits", "1".repeat(100_000)],
  ["ranges", `${"1-2,".repeat(200)}1 * * * *`],
])("cron, of many %s, is read within a second", (_what, text) => checkCron(text));
