import type { Db } from "../../db/connect.ts";
import { noteScheduleChange } from "../../db/schedules/changes.ts";
import { listSchedules } from "../../db/schedules/schedules.ts";
import { type ScheduleId, toScheduleId } from "../../domain/schedules/names.ts";
import { isAsDesired, type TemporalSchedules, toDesired } from "./temporal-schedules.ts";

const PAGE = 1_000;
/** So many of all schedules are pushed anew also when a list shows no difference: it does not show everything. */
const PUSHED_ANEW = 50;

export interface ReconcilerDeps {
  readonly db: Db;
  readonly schedules: TemporalSchedules;
  readonly now: () => Date;
}

/** What a comparison of all schedules found. */
export interface Differences {
  /** Temporal has them otherwise, or not at all. */
  readonly different: number;
  /** Temporal has them, and no workflow declares them. */
  readonly stray: number;
}

/**
 * Compares the schedules that Temporal has with those declared, and notes each difference in the outbox. What a list
 * does not show, such as policies, is put right in turn: each check notes some schedules that look right, too.
 */
export function createReconciler(deps: ReconcilerDeps) {
  /** A list may be behind: what no workflow declares is deleted when two comparisons have found it. */
  let strayBefore: ReadonlySet<ScheduleId> = new Set();
  let anewAfter = "";

  return {
    async compare(): Promise<Differences> {
      const listed = new Map<ScheduleId, Parameters<typeof isAsDesired>[0]>();
      for await (const { scheduleId, summary } of deps.schedules.list()) listed.set(scheduleId, summary);
      const different: ScheduleId[] = [];
      const anew: ScheduleId[] = [];
      const now = deps.now();
      for await (const schedule of walkSchedules(deps.db)) {
        const scheduleId = toScheduleId(schedule);
        const summary = listed.get(scheduleId);
        listed.delete(scheduleId);
        if (summary === undefined || !isAsDesired(summary, toDesired(schedule, now))) different.push(scheduleId);
        else if (anew.length < PUSHED_ANEW && scheduleId > anewAfter) anew.push(scheduleId);
      }
      anewAfter = anew.length < PUSHED_ANEW ? "" : (anew.at(-1) ?? "");
      const stray = [...listed.keys()];
      const noted = [...different, ...anew, ...stray.filter((scheduleId) => strayBefore.has(scheduleId))];
      strayBefore = new Set(stray);
      for (let from = 0; from < noted.length; from += PAGE)
        await noteScheduleChange(deps.db, noted.slice(from, from + PAGE));
      return { different: different.length, stray: stray.length };
    },
  };
}

async function* walkSchedules(db: Db) {
  let [after, afterName] = ["", ""];
  for (;;) {
    const page = await listSchedules(db, { after, afterName, limit: PAGE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    [after, afterName] = [last.workflowId, last.scheduleName];
  }
}
