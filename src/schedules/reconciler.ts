import type { Db } from "../../db/connect.ts";
import { noteScheduleChange } from "../../db/schedule-changes.ts";
import { listSchedules } from "../../db/schedules.ts";
import type { WorkflowId } from "../../domain/ids.ts";
import { isAsWanted, type TemporalSchedules, toWanted } from "./temporal-schedules.ts";

const PAGE = 1_000;
/** Of all schedules so many are told anew whatever a list shows of them: it does not show everything. */
const TOLD_ANEW = 50;

export interface ReconcilerDeps {
  readonly db: Db;
  readonly schedules: TemporalSchedules;
  readonly now: () => Date;
}

/** What a look at all schedules found. */
export interface Differences {
  /** Temporal has them otherwise, or not at all. */
  readonly different: number;
  /** Temporal has them, and nobody declares them. */
  readonly stray: number;
}

/**
 * Compares the schedules that Temporal has with those declared, and notes each difference in the outbox. What a list does not
 * show, policies for one, is put right in turn: each look notes some schedules whatever they look like.
 */
export function createReconciler(deps: ReconcilerDeps) {
  /** A list may be behind: what nobody declares is deleted when two looks have found it. */
  let strayBefore: ReadonlySet<WorkflowId> = new Set();
  let anewAfter = "";

  return {
    async look(): Promise<Differences> {
      const listed = new Map<WorkflowId, Parameters<typeof isAsWanted>[0]>();
      for await (const { workflowId, summary } of deps.schedules.list()) listed.set(workflowId, summary);
      const different: WorkflowId[] = [];
      const anew: WorkflowId[] = [];
      const now = deps.now();
      for await (const schedule of walkSchedules(deps.db)) {
        const { workflowId } = schedule;
        const summary = listed.get(workflowId);
        listed.delete(workflowId);
        if (summary === undefined || !isAsWanted(summary, toWanted(schedule, now))) different.push(workflowId);
        else if (anew.length < TOLD_ANEW && workflowId > anewAfter) anew.push(workflowId);
      }
      anewAfter = anew.length < TOLD_ANEW ? "" : (anew.at(-1) ?? "");
      const stray = [...listed.keys()];
      const noted = [...different, ...anew, ...stray.filter((workflowId) => strayBefore.has(workflowId))];
      strayBefore = new Set(stray);
      for (let from = 0; from < noted.length; from += PAGE)
        await noteScheduleChange(deps.db, noted.slice(from, from + PAGE));
      return { different: different.length, stray: stray.length };
    },
  };
}

async function* walkSchedules(db: Db) {
  let after = "";
  for (;;) {
    const page = await listSchedules(db, { after, limit: PAGE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.workflowId;
  }
}
