import { describeSchedule } from "../cron/description.ts";
import { toStableJson } from "../manifest/json-values.ts";
import type { Schedule } from "../manifest/manifest.ts";
import { cronOf } from "./declaration.ts";

/** What a commit changes about when the workflow runs by the clock. */
export interface ScheduleChange {
  readonly change: "added" | "removed" | "changed" | "paused" | "resumed";
  /** In plain words; null: there was, or is, none. */
  readonly before: string | null;
  readonly after: string | null;
}

/** Null when the same is due at the same times with the same inputs. */
export function findScheduleChange(before: Schedule | null, after: Schedule | null): ScheduleChange | null {
  if (before === null && after === null) return null;
  const words = { before: toWords(before), after: toWords(after) };
  if (before === null) return { change: "added", ...words };
  if (after === null) return { change: "removed", ...words };
  if (before.enabled !== after.enabled) return { change: after.enabled ? "resumed" : "paused", ...words };
  return isSame(before, after) ? null : { change: "changed", ...words };
}

/** A commit from before texts of payloads were kept has the same payload where its values are the same. */
function isSame(before: Schedule, after: Schedule): boolean {
  const [one, other] = [before.payloadText, after.payloadText];
  if (one !== undefined && other !== undefined && one !== other) return false;
  return (
    toStableJson({ ...before, payloadText: one && other }) === toStableJson({ ...after, payloadText: one && other })
  );
}

function toWords(schedule: Schedule | null): string | null {
  if (schedule === null) return null;
  return `${describeSchedule(cronOf(schedule), schedule.timezone)}${schedule.enabled ? "" : ", paused"}`;
}
