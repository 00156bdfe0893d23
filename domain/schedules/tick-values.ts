import { formatLocal } from "../cron/next-runs.ts";
import { previousTick } from "../cron/previous-tick.ts";
import type { JsonObject } from "../manifest/json-values.ts";
import type { Schedule } from "../manifest/manifest.ts";
import { listReferences, replaceInText, replaceReferences } from "../manifest/references.ts";
import { cronOf } from "./declaration.ts";

/** What a payload may name of its tick, in the order in which people read it. */
export const TICK_VARIABLES = ["tick.date", "tick.time", "tick.previous", "tick.zone"] as const;

/** A time at which a schedule is due, and the time before that; null where it was never due before. */
export interface TickTimes {
  readonly nominalAt: Date;
  readonly previousAt: Date | null;
  readonly timezone: string;
}

/** Returns the times of a tick by its schedule. */
export function findTickTimes(schedule: Pick<Schedule, "cron" | "timezone">, nominalAt: Date): TickTimes {
  const { timezone } = schedule;
  return { nominalAt, previousAt: previousTick(cronOf(schedule), timezone, nominalAt) ?? null, timezone };
}

/**
 * Returns what the variables of a tick stand for. `tick.date` is the day by the schedule's own clock, `2026-03-29`. `tick.time` and
 * `tick.previous` have its offset, `2026-03-29T03:00:00+02:00`. Where it was never due before, both are the same.
 */
export function toTickValues({ nominalAt, previousAt, timezone }: TickTimes): ReadonlyMap<string, string> {
  const time = formatLocal(nominalAt, timezone);
  const values = [time.slice(0, 10), time, formatLocal(previousAt ?? nominalAt, timezone), timezone];
  return new Map(TICK_VARIABLES.map((name, index) => [name, values[index] as string]));
}

type Payload = Pick<Schedule, "payload" | "payloadText">;

/** Returns a payload for one tick, and its JSON text. The values have no character that JSON would escape. */
export function resolvePayload({ payload, payloadText }: Payload, tick: TickTimes): Payload {
  const values = toTickValues(tick);
  const resolved = { payload: replaceReferences<JsonObject>(payload, values) };
  return payloadText === undefined ? resolved : { ...resolved, payloadText: replaceInText(payloadText, values) };
}

/** Returns for people what a tick's run gets for each input that names it: `day = 2026-03-29`. */
export function describeTickInputs(payload: JsonObject, tick: TickTimes): string[] {
  const named = new Set(listReferences(payload).map(({ path }) => String(path[0])));
  const values = toTickValues(tick);
  return [...named].map((input) => {
    const value = replaceReferences(payload[input] ?? null, values);
    return `${input} = ${typeof value === "string" ? value : JSON.stringify(value)}`;
  });
}
