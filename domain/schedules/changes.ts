import { describeSchedule } from "../cron/description.ts";
import { toStableJson } from "../manifest/json-values.ts";
import type { Manifest, Schedule } from "../manifest/manifest.ts";
import { cronOf } from "./declaration.ts";
import { findDeclaredSchedule } from "./names.ts";

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
  if (isSame(before, after)) return null;
  // Where the times are the same, it is something else that changes.
  const rest = words.before === words.after ? ", with other inputs or policies" : "";
  return { change: "changed", before: words.before, after: `${words.after}${rest}` };
}

/** What changes in the schedules with names, by name. One that gets another name is removed and added. */
export function listNamedChanges(before: Manifest | null, after: Manifest): (ScheduleChange & { name: string })[] {
  const names = [before, after].flatMap((manifest) => manifest?.triggers.schedules?.map(({ name }) => name) ?? []);
  return [...new Set(names)].flatMap((name) => {
    const [old, next] = [before, after].map((manifest) => (manifest && findDeclaredSchedule(manifest, name)) ?? null);
    const change = findScheduleChange(old ?? null, next ?? null);
    return change === null ? [] : [Object.assign({ name }, change)];
  });
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
