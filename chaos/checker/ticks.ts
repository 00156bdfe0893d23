import type { ExecutionRow, ScheduleRow, TickRow } from "../evidence.ts";
import { wasAskedFor } from "./backfills.ts";
import { type Case, type Finding, hasCause } from "./case.ts";
import { findLastCommit } from "./commits.ts";
import { checkDeclarations } from "./declarations.ts";
import { groupBy } from "./groups.ts";
import { listDue } from "./minutes.ts";

/** A tick that is not later starts whatever its policy says. */
const ON_TIME_MS = 60_000;
/** Between looking and writing down; a process that is stopped makes that longer. */
const CROSSING_MS = 6_000;

/** Every minute that a schedule was due has one record, no other minute has one, and each says what could be. */
export function checkTicks(given: Case): Finding[] {
  const { schedules, ticks } = given.evidence;
  const lastCommit = findLastCommit(given.commits);
  const recorded = groupBy(ticks, keyOf);
  return [
    ...checkDeclarations(given.commits, schedules),
    ...listMissing(schedules, ticks, lastCommit).map((key) => ({
      rule: "tick_missing",
      subject: key,
      text: "was due, and has no record",
    })),
    ...[...recorded].flatMap(([key, rows]) =>
      rows.length === 1 ? [] : [{ rule: "tick_doubled", subject: key, text: `has ${rows.length} records` }],
    ),
    ...ticks.flatMap((tick) => checkTick(given, tick)),
  ];
}

/** The ticks without a record, as `workflow time`; of schedules that hold still, those up to `until`. */
export function listMissing(schedules: readonly ScheduleRow[], ticks: readonly TickRow[], until: number): string[] {
  const recorded = new Set(ticks.map(keyOf));
  return schedules
    .flatMap((row) => listDue(row, row.since, row.until ?? until).map((nominal_at) => keyOf({ ...row, nominal_at })))
    .filter((key) => !recorded.has(key));
}

function keyOf({ workflow_id, nominal_at }: Pick<TickRow, "workflow_id" | "nominal_at">): string {
  return `${workflow_id} ${new Date(nominal_at).toISOString()}`;
}

function checkTick(given: Case, tick: TickRow): Finding[] {
  const find = (rule: string, text: string): Finding => ({ rule, subject: keyOf(tick), text });
  const { workflow_id, nominal_at, decided_at, outcome, source } = tick;
  if (source === "backfill") return checkBackfilled(given, tick);
  const holding = given.evidence.schedules.filter(
    (each) =>
      each.workflow_id === workflow_id &&
      nominal_at > each.since &&
      nominal_at <= (each.until ?? Number.POSITIVE_INFINITY) &&
      listDue(each, nominal_at - 1, nominal_at).length > 0,
  );
  const [row] = holding;
  if (row === undefined) return [find("tick_stray", `is recorded as ${outcome}, and nothing declared it`)];
  const flaw = findFlaw(given, tick, row);
  return [
    ...(holding.length === 1 ? [] : [find("declared", `is a time of ${holding.length} declarations`)]),
    ...(flaw === undefined ? [] : [find("tick_outcome", `is ${outcome} (${tick.reason}), ${flaw}`)]),
    ...(decided_at >= nominal_at ? [] : [find("tick_outcome", "was decided before it was due")]),
  ];
}

/** Of a past one the declaration of its time does not matter: it is due by the one of the time when it was asked for. */
function checkBackfilled(given: Case, tick: TickRow): Finding[] {
  const find = (text: string): Finding => ({ rule: "tick_outcome", subject: keyOf(tick), text });
  return [
    ...(wasAskedFor(given, tick) ? [] : [find("is said to be a past one that somebody asked for, and nobody did")]),
    ...(tick.outcome === "started" ? [] : [find(`is ${tick.outcome} (${tick.reason}), and was asked for afterwards`)]),
  ];
}

/** Why what became of a tick of this declaration cannot be, if so. */
function findFlaw(given: Case, tick: TickRow, row: ScheduleRow): string | undefined {
  const { outcome, workflow_id, decided_at } = tick;
  if (!row.enabled) return outcome === "paused" ? undefined : "and its schedule was paused";
  switch (outcome) {
    case "started":
      return undefined;
    case "paused":
      return "and its schedule was not paused";
    case "skipped_overlap":
      if (row.overlap !== "skip") return `and overlap is ${row.overlap}`;
      return isUnderWay(given, tick) ? undefined : "and no execution of an earlier tick of the clock was under way";
    case "missed":
      return findFlawOfMissed(given, tick, row);
    case "no_commit":
      // The schedule was removed before somebody found out that this tick had no record.
      return headsAt(given, workflow_id, decided_at).includes(null)
        ? undefined
        : "and its workflow declared a schedule";
    case "refused_credits":
      return "and there are plenty of credits";
    default:
      return "which nothing in this drive can come to";
  }
}

function isUnderWay({ evidence }: Case, { workflow_id, nominal_at, decided_at }: TickRow): boolean {
  const isEarlier = ({ id }: ExecutionRow): boolean =>
    evidence.ticks.some(
      ({ execution_id, nominal_at: other, source }) =>
        execution_id === id && other !== nominal_at && source !== "backfill",
    );
  return evidence.executions.some(
    (execution) =>
      execution.workflow_id === workflow_id &&
      execution.trigger === "schedule" &&
      execution.created_at <= decided_at + CROSSING_MS &&
      (execution.finished_at ?? Number.POSITIVE_INFINITY) >= decided_at - CROSSING_MS &&
      isEarlier(execution),
  );
}

function findFlawOfMissed(given: Case, tick: TickRow, row: ScheduleRow): string | undefined {
  const { workflow_id, nominal_at, decided_at } = tick;
  if (!hasCause(given, [nominal_at, decided_at])) return "and nothing was wrong";
  const lateMs = decided_at - nominal_at - row.jitter_seconds * 1_000;
  if (lateMs > row.max_lateness_seconds * 1_000) return undefined;
  if (lateMs <= ON_TIME_MS) return "and was on time";
  if (row.catchup === "all") return "and catchup is all";
  // Whatever was declared when it was due: of the workflow's schedule, while it was enabled.
  const isLatest = given.evidence.schedules.every(
    (each) =>
      each.workflow_id !== workflow_id ||
      !each.enabled ||
      listDue(each, Math.max(nominal_at, each.since), Math.min(decided_at, each.until ?? Number.POSITIVE_INFINITY))
        .length === 0,
  );
  return row.catchup === "latest" && isLatest ? "and was the latest" : undefined;
}

/** What the latest commit of a workflow may have declared at a time: more than one, while a commit was being made. */
export function headsAt({ commits }: Case, workflowId: string, at: number): (string | null)[] {
  const own = commits.filter((commit) => commit.workflowId === workflowId && commit.askedAt <= at + CROSSING_MS);
  return own
    .filter((_, index) => (own[index + 1]?.answeredAt ?? Number.POSITIVE_INFINITY) >= at)
    .map(({ declared, token }) => (declared === null ? null : token));
}
