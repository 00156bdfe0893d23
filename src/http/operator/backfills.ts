import { z } from "zod";
import type { Ticks } from "../../../activities/ticks.ts";
import type { Db } from "../../../db/connect.ts";
import type { StoredSchedule } from "../../../db/schedules.ts";
import { formatLocal } from "../../../domain/manifest/ticks.ts";
import { parseInstant } from "../../../domain/schedules/instants.ts";
import type { TickOutcome } from "../../../domain/schedules/ticks.ts";
import { toUtc } from "../../publish/next-runs.ts";
import { BACKFILL_TICKS_MAX, type Backfill, backfillTicks, listBackfillTicks } from "../../schedules/backfill.ts";
import { ApiError } from "../errors.ts";
import { parseRequest, StorableText } from "./body.ts";

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

const Times = z.strictObject({
  from: StorableText.max(100),
  to: StorableText.max(100),
  dryRun: z.boolean().default(false),
});

export interface BackfillRoom {
  readonly db: Db;
  readonly ticks: Pick<Ticks, "backfill">;
  /** For how many days the record of a tick is kept; null: for ever. */
  readonly tickDays: number | null;
}

/** Runs the past ticks that a request asks for and answers what became of each; refuses times that cannot be meant. */
export async function runBackfill(
  deps: BackfillRoom,
  given: { schedule: StoredSchedule; body: unknown; isWanted: () => boolean },
) {
  const { schedule, body, isWanted } = given;
  const { from, to, dryRun } = readTimes(body, schedule, { now: new Date(), tickDays: deps.tickDays });
  const listed = listBackfillTicks(schedule, { from, to });
  if (!listed.ok) {
    const end = formatLocal(listed.end, schedule.timezone);
    throw refuse(
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
  body: unknown,
  { timezone }: StoredSchedule,
  { now, tickDays }: { now: Date; tickDays: number | null },
): Period {
  const { dryRun, ...texts } = parseRequest(Times, body);
  const read = (name: "from" | "to"): Date => {
    const parsed = parseInstant(texts[name], timezone);
    if (!parsed.ok) throw refuse(name, parsed.message);
    return parsed.at;
  };
  const [from, to] = [read("from"), read("to")];
  if (to > now) throw refuse("to", `is in the future: a backfill runs ticks that are past. It is ${toUtc(now)}.`);
  if (from >= to) throw refuse("from", "is not before to. What runs is due from from on, and before to.");
  const since = tickDays === null ? from : new Date(now.getTime() - tickDays * DAY_MS);
  if (from < since) {
    const message = `is more than ${tickDays} days ago: what was started then is not on record any more. Begin at ${toUtc(new Date(Math.ceil(since.getTime() / 60_000) * 60_000 + 60_000))} or later.`;
    throw refuse("from", message);
  }
  return { from, to, dryRun };
}

function refuse(input: string, message: string): ApiError {
  return new ApiError("invalid_request", `${input} ${message}`, { details: [{ input, message }] });
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
