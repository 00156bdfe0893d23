import type { ExecutionRow, ScheduleRow, TickRow } from "../evidence.ts";
import type { Case, Finding } from "./case.ts";
import { groupBy } from "./groups.ts";
import { headsAt } from "./ticks.ts";

const BEGUN = ["started", "refused_credits"];

/** Each tick that began something began one execution, with the latest commit's payload, and none ran beside another that may not. */
export function checkScheduled(given: Case): Finding[] {
  const { ticks, executions } = given.evidence;
  const ticksOf = groupBy(ticks, ({ execution_id }) => execution_id);
  const scheduled = executions.filter(({ trigger }) => trigger === "schedule");
  return [
    ...ticks.flatMap((tick) => checkBegun(given, tick)),
    ...executions.flatMap((row) => checkOwner(row, ticksOf.get(row.id) ?? [])),
    // Past ones that somebody asked for are a line of their own.
    ...[...groupBy(scheduled, ({ id, workflow_id }) => `${workflow_id} ${isAskedFor(ticksOf.get(id)?.[0])}`)].flatMap(
      ([, rows]) => checkOverlaps(given, rows, ticksOf),
    ),
  ];
}

function checkBegun(given: Case, { workflow_id, nominal_at, outcome, execution_id, decided_at }: TickRow): Finding[] {
  const subject = `${workflow_id} ${new Date(nominal_at).toISOString()}`;
  const find = (rule: string, text: string): Finding[] => [{ rule, subject, text }];
  if (!BEGUN.includes(outcome))
    return execution_id === null ? [] : find("tick_execution", `is ${outcome}, and names ${execution_id}`);
  const row = given.execution.get(execution_id ?? "");
  if (row === undefined) return find("tick_execution", `is ${outcome}, and its execution ${execution_id} is not there`);
  if (row.workflow_id !== workflow_id || row.trigger !== "schedule")
    return find("tick_execution", `names ${row.id}, which is of ${row.workflow_id}, started by ${row.trigger}`);
  if (headsAt(given, workflow_id, decided_at).includes(row.token)) return [];
  return find("tick_commit", `ran with the payload ${row.token}, which was not that of the latest commit`);
}

function checkOwner({ id, trigger }: ExecutionRow, owners: readonly TickRow[]): Finding[] {
  const wanted = trigger === "schedule" ? 1 : 0;
  if (owners.length === wanted) return [];
  return [{ rule: "tick_execution", subject: id, text: `was started by ${trigger}, and is of ${owners.length} ticks` }];
}

interface Span {
  readonly id: string;
  readonly from: number;
  readonly until: number;
  readonly overlap: ScheduleRow["overlap"] | undefined;
}

function checkOverlaps(
  given: Case,
  rows: readonly ExecutionRow[],
  ticksOf: ReadonlyMap<string, readonly TickRow[]>,
): Finding[] {
  const spans = rows
    .flatMap((row) => toSpan(given, row, ticksOf.get(row.id)?.[0]))
    .filter(({ overlap }) => overlap !== "allow")
    .toSorted((one, other) => one.from - other.from);
  let longest: Span | undefined;
  return spans.flatMap((span) => {
    const before = longest;
    if (longest === undefined || span.until > longest.until) longest = span;
    if (before === undefined || span.from >= before.until) return [];
    return [{ rule: "overlapped", subject: span.id, text: `began while ${before.id} of the same schedule ran` }];
  });
}

/** From the beginning of the first try until the end of all; none when its program was never tried. */
function toSpan(given: Case, row: ExecutionRow, tick: TickRow | undefined): Span[] {
  const at = isAskedFor(tick) ? tick?.decided_at : tick?.nominal_at;
  const attempts = given.attemptsOf.get(row.id) ?? [];
  const [first] = attempts;
  if (first === undefined) return [];
  const ends = attempts.map(({ ended_at }) => ended_at ?? Number.POSITIVE_INFINITY);
  const until = Math.max(row.finished_at ?? Number.POSITIVE_INFINITY, ...ends);
  const declared = given.evidence.schedules.find(
    ({ workflow_id, since, until: end }) =>
      workflow_id === row.workflow_id && at !== undefined && at > since && at <= (end ?? Number.POSITIVE_INFINITY),
  );
  return [{ id: row.id, from: first.started_at, until, overlap: declared?.overlap }];
}

function isAskedFor(tick: TickRow | undefined): boolean {
  return tick?.source === "backfill";
}
