import type { RequestHandler } from "express";
import type { z } from "zod";
import type { Db } from "../../../db/connect.ts";
import { findSchedule, listScheduleNames, type StoredSchedule } from "../../../db/schedules/schedules.ts";
import { Backfill as BackfillDocument, BackfillRequest } from "../../../domain/api/schedules.ts";
import { formatLocal } from "../../../domain/cron/next-runs.ts";
import type { WorkflowId } from "../../../domain/ids.ts";
import { parseInstant } from "../../../domain/schedules/instants.ts";
import type { TickOutcome } from "../../../domain/schedules/ticks.ts";
import { toUtc } from "../../publish/next-runs.ts";
import { BACKFILL_TICKS_MAX, type Backfill, backfillTicks, listBackfillTicks } from "../../schedules/backfill.ts";
import { readBody, refuseField, sendAnswer } from "../answers/body.ts";
import { authorizeAccountWorkflow } from "../auth/workflow-access.ts";
import type { AppDeps } from "../deps.ts";
import type { EditorParts } from "../editor-parts.ts";
import { ApiError } from "../errors.ts";

const DAY_MS = 86_400_000;
const AGAIN = "then send the same again: it goes on where it stopped, and nothing runs twice.";
const WHAT_TO_DO: Readonly<Record<TickOutcome | "no_schedule", string>> = {
  refused_credits: `Give the account credits, ${AGAIN}`,
  refused_concurrency: `Wait until executions of the workflow have ended, ${AGAIN}`,
  refused_storage: `Raise what the account may keep, or remove old executions, ${AGAIN}`,
  skipped_overlap: `Wait until executions of earlier ticks have ended, ${AGAIN}`,
  no_commit: `Publish a commit that can run, ${AGAIN}`,
  no_schedule: `Publish a commit with a schedule, ${AGAIN}`,
  // Nobody who asked for a tick is told these.
  started: "",
  missed: "",
  paused: "",
};

/** `POST …/backfills`: runs the past ticks of a schedule that were not started, each once and in order, and returns what became of each. */
export function createBackfillRoute({ db, editor }: Pick<AppDeps, "db" | "editor">): RequestHandler {
  return async (request, response) => {
    const { workflow } = await authorizeAccountWorkflow(db, request, "write");
    const body = await readBody(request, BackfillRequest);
    const schedule = await findSchedule(db, workflow.id, body.schedule);
    if (schedule === undefined) throw new ApiError("not_found", await sayMissing(db, workflow.id, body.schedule));
    const isWanted = (): boolean => !response.destroyed;
    sendAnswer(response, BackfillDocument, await runBackfill({ db, ...editor }, { schedule, body, isWanted }));
  };
}

async function sayMissing(db: Db, workflowId: WorkflowId, name: string | undefined): Promise<string> {
  const declared = (await listScheduleNames(db, workflowId)).filter(({ isDeclared }) => isDeclared);
  const names = declared.map((schedule) => schedule.name).join(", ");
  return `The workflow's latest commit declares no schedule${name === undefined ? "" : ` ${name}`}.${names === "" ? "" : ` Choose one of its others: ${names}.`}`;
}

async function runBackfill(
  deps: Pick<EditorParts, "ticks" | "tickDays"> & { readonly db: Db },
  given: { schedule: StoredSchedule; body: z.infer<typeof BackfillRequest>; isWanted: () => boolean },
) {
  const { schedule, body, isWanted } = given;
  const { from, to, dryRun } = readTimes(body, schedule, { now: new Date(), tickDays: deps.tickDays });
  const listed = listBackfillTicks(schedule, { from, to });
  if (!listed.ok) {
    const end = formatLocal(listed.end, schedule.timezone);
    throw refuseField(
      "to",
      `is too far away: one backfill takes ${BACKFILL_TICKS_MAX} ticks. Go to ${end} first, then from there.`,
    );
  }
  const backfill = await backfillTicks(deps, { schedule, ticks: listed.ticks, dryRun, isWanted });
  return toDocument(schedule, { from, to, dryRun }, backfill);
}

interface Period {
  readonly from: Date;
  readonly to: Date;
  readonly dryRun: boolean;
}

function readTimes(
  { dryRun, from: fromText, to: toText }: z.infer<typeof BackfillRequest>,
  { timezone }: StoredSchedule,
  { now, tickDays }: { now: Date; tickDays: number | null },
): Period {
  const read = (name: "from" | "to"): Date => {
    const parsed = parseInstant(name === "from" ? fromText : toText, timezone);
    if (!parsed.ok) throw refuseField(name, parsed.message);
    return parsed.at;
  };
  const [from, to] = [read("from"), read("to")];
  if (to > now) throw refuseField("to", `is in the future: a backfill runs ticks that are past. It is ${toUtc(now)}.`);
  if (from >= to) throw refuseField("from", "is not before to. What runs is due from from on, and before to.");
  const since = tickDays === null ? from : new Date(now.getTime() - tickDays * DAY_MS);
  if (from < since) {
    const message = `is more than ${tickDays} days ago: what was started then is not on record any more. Begin at ${toUtc(new Date(Math.ceil(since.getTime() / 60_000) * 60_000 + 60_000))} or later.`;
    throw refuseField("from", message);
  }
  return { from, to, dryRun };
}

function toDocument({ workflowId, timezone }: StoredSchedule, { from, to, dryRun }: Period, backfill: Backfill) {
  const { stopped } = backfill;
  const count = (state: string): number => backfill.ticks.filter((tick) => tick.state === state).length;
  const place = (at: Date) => ({ nominalAt: toUtc(at), local: formatLocal(at, timezone) });
  return {
    workflowId,
    timezone,
    from: toUtc(from),
    to: toUtc(to),
    dryRun,
    started: count("started"),
    startedBefore: count("started_before"),
    left: count("due"),
    stopped: stopped && {
      ...place(stopped.nominalAt),
      outcome: stopped.outcome,
      reason: stopped.reason,
      whatToDo: WHAT_TO_DO[stopped.outcome],
    },
    ticks: backfill.ticks.map(({ nominalAt, state, executionId }) => ({ ...place(nominalAt), state, executionId })),
  };
}
