import type { ExecutionRow, TickRow } from "../evidence.ts";
import { isAnswering } from "../load/receivers.ts";
import type { NoticeRow } from "../notices.ts";
import type { NoticeLine } from "../record.ts";
import type { Case, Finding } from "./case.ts";
import { groupBy } from "./groups.ts";

/** The `type` of a message by the kind of its notice. */
const TYPES: Readonly<Record<string, string>> = {
  failure: "run.failed",
  recovery: "run.recovered",
  missed: "tick.missed",
};
const FAILED = ["failed", "timed_out", "out_of_memory"];
const MISSED = ["missed", "refused_credits", "refused_concurrency", "refused_storage", "no_commit"];

type Find = (rule: string, subject: string, text: string) => Finding;
const find: Find = (rule, subject, text) => ({ rule, subject, text });

/**
 * Each failure and each missed tick is told at each place once: by a notice of its own, or counted in one. Each recovery has one of its
 * own, and nothing else has any. What was sent to a place that answers has arrived, at least once and with one id.
 */
export function checkNotices(given: Case): Finding[] {
  const { notices, lines } = given.evidence;
  const heard = groupBy(
    lines.flatMap((line) => (line.type === "notice" ? [line] : [])),
    ({ notice }) => notice,
  );
  const known = new Set(notices.map(({ id }) => id));
  return [
    ...[...heard.keys()]
      .filter((id) => !known.has(id))
      .map((id) => find("notice_stray", id, "arrived, and is not in the record")),
    ...notices.flatMap((row) => checkArrival(row, heard.get(row.id) ?? [])),
    ...given.evidence.places.flatMap((place) => [
      ...checkCounts(given, place, "failure"),
      ...checkCounts(given, place, "missed"),
      ...checkRecoveries(given, place),
    ]),
  ];
}

function checkArrival(row: NoticeRow, heard: readonly NoticeLine[]): Finding[] {
  const { id, place, kind, execution_id, more, state, attempts } = row;
  const others = heard.filter(
    (line) => line.place !== place || line.kind !== TYPES[kind] || line.executionId !== execution_id,
  );
  const taken = heard.filter(({ status }) => status === 204);
  const findings = others.map(() => find("notice_mixed", id, `of ${execution_id} came with another content`));
  if (state === "delivered" && taken.length === 0)
    findings.push(find("notice_unheard", id, `to ${place} is delivered, and never arrived`));
  // What arrived once, and was counted up since, would be told by nobody.
  if (taken.length > 0 && !taken.some((line) => line.more === more))
    findings.push(
      find("notice_count", id, `stands for ${more} more, and said ${taken.map((line) => line.more).join()}`),
    );
  if (isAnswering(place) && state !== "delivered")
    findings.push(find("notice_unsent", id, `to ${place} is ${state} after ${attempts} attempts`));
  if (!isAnswering(place) && state !== "waiting")
    findings.push(find("notice_unheard", id, `is ${state}, and nobody answers at ${place}`));
  return findings;
}

/** By workflow: notices with what they stand for are as many as what they tell of. Of ticks after its end nobody is told. */
function checkCounts(given: Case, place: string, kind: "failure" | "missed"): Finding[] {
  const isCounted = ({ workflow_id }: { workflow_id: string }): boolean =>
    kind === "failure" || !isDeleted(given, workflow_id);
  const rows = given.evidence.notices.filter((row) => row.place === place && row.kind === kind && isCounted(row));
  const about = (kind === "failure" ? listFailures(given) : listMissed(given)).filter(isCounted);
  const wanted = groupBy(about, ({ workflow_id }) => workflow_id);
  const told = groupBy(rows, ({ workflow_id }) => workflow_id);
  return [
    ...[...new Set([...wanted.keys(), ...told.keys()])].flatMap((workflow) => {
      const [count, sum] = [wanted.get(workflow)?.length ?? 0, sumOf(told.get(workflow) ?? [])];
      return count === sum
        ? []
        : [find("notice_count", workflow, `had ${count} of ${kind}, and ${place} is told of ${sum}`)];
    }),
    ...rows.flatMap(({ id, execution_id }) => {
      const state = given.execution.get(execution_id ?? "")?.state ?? "";
      return kind === "missed" || FAILED.includes(state)
        ? []
        : [find("notice_false", id, `tells of a failure, and ${execution_id} is ${state}`)];
    }),
  ];
}

const sumOf = (rows: readonly NoticeRow[]): number => rows.reduce((sum, { more }) => sum + 1 + more, 0);

const isHonest = ({ evidence }: Case, { workflow_id }: { workflow_id: string }): boolean =>
  !evidence.hostile.includes(workflow_id);

function listFailures(given: Case): ExecutionRow[] {
  return given.evidence.executions.filter((row) => FAILED.includes(row.state) && isHonest(given, row));
}

function listMissed({ evidence }: Case): TickRow[] {
  return evidence.ticks.filter(({ outcome, source }) => MISSED.includes(outcome) && source !== "backfill");
}

const isDeleted = ({ commits }: Case, workflow: string): boolean =>
  commits.some(({ request, workflowId }) => request.purpose === "delete" && workflowId === workflow);

/** The first success after a failure, of the calls of a workflow or of one of its schedules, in the order of their ends. */
function checkRecoveries(given: Case, place: string): Finding[] {
  const ended = given.evidence.executions
    .filter((row) => row.finished_at !== null && row.state !== "cancelled" && isHonest(given, row))
    .toSorted((one, other) => (one.finished_at ?? 0) - (other.finished_at ?? 0));
  const wanted = [...groupBy(ended, toLine).values()].flatMap((rows) =>
    rows.flatMap(({ id, state }, index) =>
      state === "success" && FAILED.includes(rows[index - 1]?.state ?? "") ? [id] : [],
    ),
  );
  const told = given.evidence.notices.flatMap((row) =>
    row.place === place && row.kind === "recovery" ? [row.execution_id ?? ""] : [],
  );
  return [...new Set([...wanted, ...told])].flatMap((id) => {
    const [due, count] = [wanted.includes(id) ? 1 : 0, told.filter((other) => other === id).length];
    return due === count
      ? []
      : [find("notice_recovery", id, `is ${due} recovery, and ${place} is told ${count} times`)];
  });
}

function toLine({ workflow_id, trigger, schedule_name }: ExecutionRow): string {
  return trigger === "schedule" ? `${workflow_id} ${schedule_name ?? "schedule"}` : workflow_id;
}
