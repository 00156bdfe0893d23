import { type Cron, parseCron } from "../domain/cron/cron.ts";
import { nextTicks } from "../domain/cron/next-runs.ts";

const DAY_MS = 86_400_000;

/** What schedules look like: by the minute, hour, day, week and month, and once in four years. */
const EXPRESSIONS = [
  "* * * * *",
  "*/15 8-18 * * MON-FRI",
  "0 * * * *",
  "30 2 * * *",
  "0 9 * * 1-5",
  "0 0 1 * *",
  "0 0 13 * 5",
  "15 6 1 1,7 *",
  "0 0 29 2 *",
] as const;

const ZONES = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/St_Johns",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Africa/Casablanca",
  "Pacific/Chatham",
] as const;

/** How often a second the next run of one expression was found, over all zones and instants all over a year. */
export interface NextRunRate {
  readonly expression: string;
  readonly perSecond: number;
}

/** One round of every expression. Offsets are looked up before: a process does that once for a zone and a year. */
export function measureNextRuns({ count, from }: { count: number; from: Date }): NextRunRate[] {
  return EXPRESSIONS.map((expression) => {
    const cron = parse(expression);
    for (const zone of ZONES) nextTicks(cron, zone, from, 1);
    const startedAt = performance.now();
    for (let call = 0; call < count; call += 1) {
      // Instants that follow each other in no order, so that no day is met twice in a row.
      const after = new Date(from.getTime() + ((call * 7_919) % 365) * DAY_MS + ((call * 104_729) % DAY_MS));
      const [tick] = nextTicks(cron, ZONES[call % ZONES.length] as string, after, 1);
      if (tick === undefined || tick <= after)
        throw new Error(`${expression} has no run after ${after.toISOString()}.`);
    }
    return { expression, perSecond: (count * 1_000) / (performance.now() - startedAt) };
  });
}

function parse(text: string): Cron {
  const result = parseCron(text);
  if (!result.ok) throw new Error(`${text} is no cron expression.`);
  return result.cron;
}
