import { parseCron } from "../../domain/manifest/cron.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import { formatLocal, nextTicks } from "../../domain/manifest/ticks.ts";

/** One time a schedule is due: in UTC, and in the schedule's own zone with its offset. ISO 8601, whole seconds. */
export interface NextRun {
  readonly utc: string;
  readonly local: string;
}

/** The next `count` runs of a manifest's schedule after an instant. Empty without a schedule, and while it is disabled. */
export function findNextRuns(manifest: Manifest, after: Date, count: number): NextRun[] {
  const { schedule } = manifest.triggers;
  if (schedule === null || !schedule.enabled) return [];
  const parsed = parseCron(schedule.cron);
  if (!parsed.ok)
    throw new Error(`A stored manifest has the cron ${JSON.stringify(schedule.cron)}, which is not valid.`);
  return nextTicks(parsed.cron, schedule.timezone, after, count).map((tick) => ({
    utc: tick.toISOString().replace(/\.\d{3}Z$/, "Z"),
    local: formatLocal(tick, schedule.timezone),
  }));
}
