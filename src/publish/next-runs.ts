import type { Cron } from "../../domain/cron/cron.ts";
import { describeSchedule } from "../../domain/cron/description.ts";
import { formatLocal, nextTicks } from "../../domain/cron/next-runs.ts";
import type { JsonObject } from "../../domain/manifest/json-values.ts";
import type { Manifest, Schedule } from "../../domain/manifest/manifest.ts";
import { findClockNote } from "../../domain/schedules/clock-notes.ts";
import { cronOf } from "../../domain/schedules/declaration.ts";
import { describeTickInputs, findTickTimes } from "../../domain/schedules/tick-values.ts";

/** A payload may be long, and a note is one line. */
const NOTE_CHARS_MAX = 300;

/** When a schedule is due, and whether it runs at all. */
export type Timetable = Pick<Schedule, "enabled" | "cron" | "timezone"> & {
  /** Without it, the inputs that name the tick are not said. */
  readonly payload?: JsonObject | null;
};

/** One time a schedule is due: in UTC, and in the schedule's own zone with its offset. ISO 8601, whole seconds. */
export interface NextRun {
  readonly utc: string;
  readonly local: string;
  /** For people: what a change of the clock does to it, and what its inputs are that name the tick. */
  readonly note?: string;
}

/** The next `count` runs of a schedule after an instant. Empty without a schedule, and while it is disabled. */
export function findNextRuns(schedule: Timetable | null, after: Date, count: number): NextRun[] {
  if (schedule === null || !schedule.enabled) return [];
  const cron = cronOf(schedule);
  return nextTicks(cron, schedule.timezone, after, count).map((tick) => {
    const note = toNote(schedule, cron, tick);
    return {
      utc: toUtc(tick),
      local: formatLocal(tick, schedule.timezone),
      ...(note === undefined ? {} : { note }),
    };
  });
}

function toNote({ timezone, cron, payload }: Timetable, parsed: Cron, tick: Date): string | undefined {
  const clock = findClockNote(parsed, timezone, tick);
  const inputs = payload == null ? [] : describeTickInputs(payload, findTickTimes({ cron, timezone }, tick));
  const notes = [...(clock === undefined ? [] : [clock]), ...inputs];
  return notes.length === 0 ? undefined : notes.join("; ").slice(0, NOTE_CHARS_MAX);
}

/** A declared schedule in plain words, for answers that show when it is due. Nothing without one. */
export function describeTimetable(schedule: Timetable | null): { schedule?: { description: string; paused: boolean } } {
  if (schedule === null) return {};
  return { schedule: { description: toWords(schedule), paused: !schedule.enabled } };
}

/** The same for those of `triggers.schedules`, each with its next runs. Nothing without any. */
export function describeNamedTimetables(
  { triggers: { schedules } }: Pick<Manifest, "triggers">,
  after: Date,
  count: number,
): { schedules?: { name: string; description: string; paused: boolean; nextRuns: NextRun[] }[] } {
  if (schedules === undefined) return {};
  return {
    schedules: schedules.map((schedule) => ({
      name: schedule.name,
      description: toWords(schedule),
      paused: !schedule.enabled,
      nextRuns: findNextRuns(schedule, after, count),
    })),
  };
}

/** `every weekday at 07:30, Europe/Berlin`. */
export function toWords(schedule: Pick<Timetable, "cron" | "timezone">): string {
  return describeSchedule(cronOf(schedule), schedule.timezone);
}

/** ISO 8601 with whole seconds. */
export function toUtc(instant: Date): string {
  return instant.toISOString().replace(/\.\d{3}Z$/, "Z");
}
