import type { Db } from "../../../db/connect.ts";
import { findSchedule } from "../../../db/schedules/schedules.ts";
import type { ScheduleState } from "../../../db/schedules/states.ts";
import { listTicks, type Tick } from "../../../db/schedules/ticks.ts";
import { formatLocal } from "../../../domain/cron/next-runs.ts";
import type { ScheduleRef } from "../../../domain/schedules/names.ts";
import { toUtc, toWords } from "../../publish/next-runs.ts";

/** Ticks have the local time of the schedule that holds now; in a workflow without one, the time of this zone. */
export const ZONE_WITHOUT_SCHEDULE = "UTC";

/** A schedule as it was declared, with plain words. */
export function toDeclarationDocument(state: ScheduleState) {
  const { cron, timezone, overlap, catchup, maxLatenessSeconds, jitterSeconds, since } = state;
  return { cron, timezone, description: toWords(state), overlap, catchup, maxLatenessSeconds, jitterSeconds, since };
}

/** Whether a schedule runs, and if not why. */
export function toPause({ enabled }: Pick<ScheduleState, "enabled">): { paused: boolean; reason: string | null } {
  return { paused: !enabled, reason: enabled ? null : "enabled is false in config.yaml" };
}

/** What became of a time a schedule was due. */
export function toTickDocument(tick: Tick, timezone: string) {
  const { nominalAt, outcome, reason, executionId, source, decidedAt } = tick;
  return {
    nominalAt: toUtc(nominalAt),
    local: formatLocal(nominalAt, timezone),
    outcome,
    reason,
    lateSeconds: (decidedAt.getTime() - nominalAt.getTime()) / 1_000,
    executionId,
    source,
    decidedAt,
  };
}

/** A page of a schedule's ticks, the newest first, and where the next one begins. */
export async function toTickPage(db: Db, page: ScheduleRef & { before: Date | null; limit: number }) {
  const timezone = (await findSchedule(db, page.workflowId, page.scheduleName))?.timezone ?? ZONE_WITHOUT_SCHEDULE;
  const found = await listTicks(db, { ...page, limit: page.limit + 1 });
  const ticks = found.slice(0, page.limit);
  const last = found.length > ticks.length ? ticks.at(-1) : undefined;
  return {
    ticks: ticks.map((tick) => ({ ...toTickDocument(tick, timezone), status: tick.status })),
    nextBefore: last === undefined ? null : toUtc(last.nominalAt),
  };
}
