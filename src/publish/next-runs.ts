import { describeSchedule } from "../../domain/cron/description.ts";
import { formatLocal, nextTicks } from "../../domain/cron/next-runs.ts";
import type { Schedule } from "../../domain/manifest/manifest.ts";
import { findClockNote } from "../../domain/schedules/clock-notes.ts";
import { cronOf } from "../../domain/schedules/declaration.ts";

/** When a schedule is due, and whether it runs at all. */
export type Timetable = Pick<Schedule, "enabled" | "cron" | "timezone">;

/** One time a schedule is due: in UTC, and in the schedule's own zone with its offset. ISO 8601, whole seconds. */
export interface NextRun {
  readonly utc: string;
  readonly local: string;
  /** For people: what a change of the clock does to it. */
  readonly note?: string;
}

/** The next `count` runs of a schedule after an instant. Empty without a schedule, and while it is disabled. */
export function findNextRuns(schedule: Timetable | null, after: Date, count: number): NextRun[] {
  if (schedule === null || !schedule.enabled) return [];
  const cron = cronOf(schedule);
  return nextTicks(cron, schedule.timezone, after, count).map((tick) => {
    const note = findClockNote(cron, schedule.timezone, tick);
    return {
      utc: toUtc(tick),
      local: formatLocal(tick, schedule.timezone),
      ...(note === undefined ? {} : { note }),
    };
  });
}

/** A declared schedule in plain words, for answers that show when it is due. Nothing without one. */
export function describeTimetable(schedule: Timetable | null): { schedule?: { description: string; paused: boolean } } {
  if (schedule === null) return {};
  return { schedule: { description: toWords(schedule), paused: !schedule.enabled } };
}

/** `every weekday at 07:30, Europe/Berlin`. */
export function toWords(schedule: Pick<Timetable, "cron" | "timezone">): string {
  return describeSchedule(cronOf(schedule), schedule.timezone);
}

/** ISO 8601 with whole seconds. */
export function toUtc(instant: Date): string {
  return instant.toISOString().replace(/\.\d{3}Z$/, "Z");
}
