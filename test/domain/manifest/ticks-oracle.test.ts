import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseCron } from "../../../domain/cron/cron.ts";
import { nextTicks } from "../../../domain/cron/next-runs.ts";

// The oracle shares nothing with the module: it reads a field by trying every value on it, the clock from what it shows, and
// goes through a year minute by minute. The long form is TREADLE_FUZZ_CASES=300000: 10,000 expressions.

const CASES = Math.max(1, Math.round(Number(process.env["TREADLE_FUZZ_CASES"] ?? 3_000) / 30));
const SEED = Number(process.env["TREADLE_FUZZ_SEED"] ?? 20_261_121);
const INSTANTS = 5;

const MINUTE_MS = 60_000;
const YEAR_MINUTES = 366 * 1_440;
/** Read at once while the clock is not moved: nowhere is it moved twice within them. */
const STRETCH_MINUTES = 360;
/** What was shown before the year begins: as far back as a clock is ever moved, a lost day included. */
const LEAD_MINUTES = 30 * 60;

const PLACES = [
  ["UTC", 2024],
  ["Europe/Berlin", 2026],
  ["America/New_York", 2027],
  ["America/St_Johns", 2010],
  ["America/Havana", 2026],
  ["America/Santiago", 2025],
  ["Australia/Adelaide", 2026],
  ["Australia/Lord_Howe", 2026],
  ["Pacific/Apia", 2011],
  ["Pacific/Chatham", 2024],
  ["Asia/Kathmandu", 2026],
  ["Asia/Tehran", 2022],
  ["Asia/Pyongyang", 2018],
  ["Africa/Casablanca", 2026],
  ["Atlantic/Azores", 2026],
  ["Antarctica/Troll", 2025],
] as const;

const NAMES: Readonly<Record<string, number>> = Object.fromEntries([
  ..."JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(" ").map((name, index) => [name, index + 1]),
  ..."SUN MON TUE WED THU FRI SAT".split(" ").map((name, index) => [name, index]),
]);

interface Year {
  readonly zone: string;
  readonly fromMs: number;
  /** The local time in minutes since 1970 at every minute of the year, the lead included. */
  readonly shown: Int32Array;
}

function readYear([zone, year]: readonly [string, number]): Year {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" });
  const fromMs = Date.UTC(year, 0, 1);
  const read = (index: number): number => {
    const text = format.format(fromMs + (index - LEAD_MINUTES) * MINUTE_MS);
    return Date.parse(`${text.replace(" ", "T")}Z`) / MINUTE_MS;
  };
  const shown = new Int32Array(YEAR_MINUTES + LEAD_MINUTES);
  let local = read(0);
  for (let start = 0; start < shown.length; start += STRETCH_MINUTES) {
    const next = read(start + STRETCH_MINUTES);
    // Every minute is read where the clock was moved in between.
    const isMoved = next !== local + STRETCH_MINUTES;
    for (let minute = 0; minute < STRETCH_MINUTES; minute += 1) {
      shown[start + minute] = isMoved ? read(start + minute) : local + minute;
    }
    local = next;
  }
  return { zone, fromMs, shown };
}

/** Whether a value is one of a field's, by reading the field anew for it. */
function isOf(field: string, value: number, [min, max]: readonly [number, number]): boolean {
  return field.split(",").some((part) => {
    const [range = "", step = "1"] = part.split("/");
    const [from, to] = range === "*" ? [min, max] : range.split("-").map((word) => NAMES[word] ?? Number(word));
    return (
      value >= (from as number) && value <= (to ?? (from as number)) && (value - (from as number)) % Number(step) === 0
    );
  });
}

/** The index into `shown` of every tick of the year, one byte a minute. */
function scan(text: string, { shown }: Year): number[] {
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = text.split(" ");
  const times = Array.from(
    { length: 1_440 },
    (_, at) => isOf(minute, at % 60, [0, 59]) && isOf(hour, Math.floor(at / 60), [0, 23]),
  );
  const firstDay = Math.floor(Math.min(shown[0] as number, shown.at(-1) as number) / 1_440) - 1;
  const dates = Array.from({ length: shown.length / 1_440 + 4 }, (_, index) => {
    const date = new Date((firstDay + index) * 86_400_000);
    const days = isOf(day, date.getUTCDate(), [1, 31]);
    // Sunday has two numbers.
    const number = date.getUTCDay();
    const weekdays = isOf(weekday, number, [0, 6]) || (number === 0 && isOf(weekday, 7, [0, 6]));
    const both = day.startsWith("*") || weekday.startsWith("*") ? days && weekdays : days || weekdays;
    return both && isOf(month, date.getUTCMonth() + 1, [1, 12]);
  });
  // Without Math: looking up a global costs jest more than all the rest of a minute.
  const isMeant = (local: number) =>
    times[local % 1_440] === true && dates[(local - (local % 1_440)) / 1_440 - firstDay] === true;
  const ticks: number[] = [];
  let latest = (shown[0] as number) - 1;
  for (let index = 0; index < shown.length; index += 1) {
    const local = shown[index] as number;
    let fires = isMeant(local);
    if (!hour.startsWith("*")) {
      if (local <= latest) fires = false;
      for (let missed = latest + 1; missed < local && !fires; missed += 1) fires = isMeant(missed);
      if (local > latest) latest = local;
    }
    if (fires && index >= LEAD_MINUTES) ticks.push(index - LEAD_MINUTES);
  }
  return ticks;
}

const partOf = (min: number, max: number, names: readonly string[] = []) => {
  const number = fc.integer({ min, max });
  const range = fc.tuple(number, number).map(([one, other]) => [Math.min(one, other), Math.max(one, other)] as const);
  return fc.oneof(
    { weight: 4, arbitrary: number.map(String) },
    { weight: 2, arbitrary: range.map(([from, to]) => `${from}-${to}`) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(range, fc.nat(100))
        .map(([[from, to], seed]) => `${from}-${to}/${1 + (seed % (to - from + 1))}`),
    },
    { weight: names.length > 0 ? 2 : 0, arbitrary: fc.constantFrom(...(names.length > 0 ? names : ["0"])) },
  );
};

const fieldOf = (star: number, min: number, max: number, names: readonly string[] = []) =>
  fc.oneof(
    { weight: star, arbitrary: fc.constant("*") },
    { weight: 2, arbitrary: fc.integer({ min: 2, max: Math.min(12, max) }).map((step) => `*/${Math.min(step, 7)}`) },
    { weight: 6, arbitrary: fc.array(partOf(min, max, names), { minLength: 1, maxLength: 3 }).map(String) },
  );

const cases = fc.record({
  text: fc
    .tuple(
      fieldOf(1, 0, 59),
      // Half of the hours are those at which clocks change.
      fc.oneof(fieldOf(3, 0, 23), fieldOf(0, 0, 4)),
      fieldOf(6, 1, 31),
      fieldOf(12, 1, 12, ["JAN", "MAR", "APR", "SEP", "OCT", "NOV", "DEC"]),
      fieldOf(6, 0, 7, ["SUN", "MON", "FRI", "SAT"]),
    )
    .map((fields) => fields.join(" ")),
  place: fc.nat(PLACES.length - 1),
  instants: fc.array(fc.integer({ min: 0, max: YEAR_MINUTES * 60 }), { minLength: INSTANTS, maxLength: INSTANTS }),
});

const years = new Map<number, Year>();

function yearOf(place: number): Year {
  const known = years.get(place) ?? readYear(PLACES[place] as (typeof PLACES)[number]);
  years.set(place, known);
  return known;
}

test(
  `nextTicks, of ${CASES} expressions in ${PLACES.length} zones, has every run of a year and the next at any second as the clock shows them`,
  () => {
    let refused = 0;
    const check = ({ text, place, instants }: { text: string; place: number; instants: number[] }): void => {
      const parsed = parseCron(text);
      const year = yearOf(place);
      const { zone, fromMs } = year;
      const expected = scan(text, year);
      if (!parsed.ok) {
        // Only a date that never comes: everything else of these is written well.
        refused += 1;
        expect([text, expected, parsed.problems[0]?.message]).toEqual([
          text,
          [],
          expect.stringContaining("never fires"),
        ]);
        return;
      }
      const until = new Date(fromMs + (YEAR_MINUTES - 1) * MINUTE_MS);
      const found = nextTicks(parsed.cron, zone, new Date(fromMs - 1), Number.POSITIVE_INFINITY, until);
      const differs = found.findIndex((tick, index) => tick.getTime() !== fromMs + (expected[index] ?? -1) * MINUTE_MS);
      expect({ text, zone, count: found.length, differs: found[differs]?.toISOString() }).toEqual({
        text,
        zone,
        count: expected.length,
        differs: undefined,
      });
      for (const second of instants) {
        const after = fromMs + second * 1_000;
        const index = expected.find((minute) => minute * MINUTE_MS > after - fromMs);
        const next = nextTicks(parsed.cron, zone, new Date(after), 1, until).map((tick) => tick.toISOString());
        const wanted = index === undefined ? [] : [new Date(fromMs + index * MINUTE_MS).toISOString()];
        expect({ text, zone, after, next }).toEqual({ text, zone, after, next: wanted });
      }
    };
    fc.assert(fc.property(cases, check), { numRuns: CASES, seed: SEED, endOnFailure: false });
    expect(refused).toBeLessThan(CASES / 10 + 1);
  },
  60_000 + CASES * 200,
);
