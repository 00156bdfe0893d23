import type { ExecutionRow } from "../evidence.ts";
import { isLost, isUnbegun, LOST_MAX, UNBEGUN_MAX } from "./attempts.ts";
import { type Case, type Exchange, type Finding, findRequest, hasCause } from "./case.ts";
import { type Demand, demandOf } from "./demand.ts";

const ENDS = ["success", "failed", "timed_out", "out_of_memory", "cancelled"];
/** A start that failed is closed, and the caller told so; a lack of credits likewise. It counts as not accepted. */
const REFUSED = ["no_capacity", "insufficient_credits"];
/** Trouble that passes sooner must end nothing: retries are for that. */
const PATIENCE_MS = 10_000;
/** Between the decision that it is cancelled and its end as it is written down. */
const REPLACING_MS = 6_000;
const KILLED = /killed by SIGKILL/;

/** Every accepted execution is there, once, and came to the one end that its inputs demand. */
export function checkEnds(given: Case): Finding[] {
  return [
    ...given.evidence.executions.flatMap((row) => checkEnd(given, row)),
    ...[...given.executes].flatMap(([token, exchanges]) => checkAccepted(given, token, exchanges)),
  ];
}

function checkEnd(given: Case, row: ExecutionRow): Finding[] {
  const find = (rule: string, text: string): Finding[] => [{ rule, subject: row.id, text }];
  if (row.finished_at === null || !ENDS.includes(row.state)) return find("open", `is still ${row.state}`);
  // Any end will do for a hostile program, as long as it is the program's own doing.
  if (given.evidence.hostile.includes(row.workflow_id)) return row.failure === null ? [] : checkFailure(given, row);
  const request = findRequest(given, row);
  if (request === undefined) return find("unasked", "was asked for by nobody");
  if (row.failure !== null) return checkFailure(given, row);
  const demand = demandOf(request);
  if (row.state === "cancelled") return checkCancelled(given, row);
  if (row.state === demand.end) {
    const isExplained = demand.message === undefined || row.message.includes(demand.message);
    return isExplained || isKilled(given, row) ? [] : find("message", `says ${JSON.stringify(row.message)}`);
  }
  if (row.state === "failed" && isKilled(given, row)) return [];
  return find(
    "end",
    `of ${request.workflow} is ${row.state} (${row.message}), and its inputs demand ${demand.end}; ${tell(demand)}`,
  );
}

function tell({ secondsMin }: Demand): string {
  return `${secondsMin} s of work`;
}

/** The driver killed a program while this one ran. What that looks like, a program can do to itself as well. */
function isKilled(given: Case, row: ExecutionRow): boolean {
  const attempts = given.attemptsOf.get(row.id) ?? [];
  return (
    KILLED.test(row.message) &&
    given.faults.some(
      (fault) =>
        fault.victim === "program" &&
        attempts.some(({ started_at, ended_at }) => started_at <= fault.until && (ended_at ?? 0) >= fault.at),
    )
  );
}

function checkFailure(given: Case, row: ExecutionRow): Finding[] {
  const find = (rule: string, text: string): Finding[] => [{ rule, subject: row.id, text }];
  const span = [row.created_at, row.finished_at ?? row.created_at] as const;
  if (row.failure === "insufficient_credits") return find("failure", "was refused credits, of which there are plenty");
  if (!hasCause(given, span)) return find("failure", `ended by a fault of ours (${row.failure}) without any reason`);
  if (row.failure !== "internal") return [];
  const attempts = given.attemptsOf.get(row.id) ?? [];
  const lost = attempts.filter(isLost).length;
  const unbegun = attempts.filter(isUnbegun).length;
  const ms = (row.finished_at ?? 0) - (attempts[0]?.started_at ?? row.created_at);
  if (lost < LOST_MAX && unbegun < UNBEGUN_MAX)
    return find(
      "given_up",
      `was given up (${row.message}) after ${lost} lost attempts and ${unbegun} that never began`,
    );
  return ms < PATIENCE_MS ? find("given_up", `was given up within ${Math.round(ms)} ms of its first attempt`) : [];
}

function checkCancelled(given: Case, row: ExecutionRow): Finding[] {
  if (isReplaced(given, row)) return [];
  const asked = given.exchanges.some(({ request }) => request.purpose === "cancel" && request.executionId === row.id);
  const find = (text: string): Finding[] => [{ rule: "cancelled", subject: row.id, text }];
  if (!asked) return find("was cancelled, and nobody asked for that");
  return row.cancel_requested_at === null ? find("was cancelled without a record of who asked") : [];
}

/** Its schedule was due again, and lets nothing of an earlier time go on. */
function isReplaced({ evidence }: Case, row: ExecutionRow): boolean {
  const { ticks, schedules } = evidence;
  const own = ticks.find(({ execution_id }) => execution_id === row.id);
  return (
    own !== undefined &&
    own.source !== "backfill" &&
    schedules.some((each) => each.workflow_id === row.workflow_id && each.overlap === "cancel_previous") &&
    ticks.some(
      (tick) =>
        tick.workflow_id === row.workflow_id &&
        tick.source !== "backfill" &&
        tick.execution_id !== null &&
        tick.execution_id !== row.id &&
        tick.decided_at > own.decided_at &&
        tick.decided_at <= (row.finished_at ?? 0) + REPLACING_MS,
    )
  );
}

/** Two equal calls of a probe, by which it was found that the service does not know idempotency keys. */
function isUnkept(exchanges: readonly Exchange[]): boolean {
  const isReplayed = ({ heard }: Exchange): boolean =>
    heard?.type === "answer" && heard.headers["idempotent-replayed"] !== undefined;
  return exchanges.every(({ request }) => request.isProbe === true) && !exchanges.some(isReplayed);
}

function checkAccepted(given: Case, token: string, exchanges: readonly Exchange[]): Finding[] {
  const rows = given.executionsOf.get(token) ?? [];
  const kept = rows.filter(({ failure }) => !REFUSED.includes(failure ?? ""));
  const findings: Finding[] = [];
  const find = (rule: string, text: string): void => void findings.push({ rule, subject: token, text });
  const isKeyed = exchanges.some(({ request }) => request.idempotencyKey !== undefined);
  if (kept.length > 1 && !isUnkept(exchanges))
    find("doubled", `became ${kept.length} executions: ${kept.map(({ id }) => id).join(", ")}`);
  if (!isKeyed && rows.length > 1) find("doubled", `was sent without a key and is in the record ${rows.length} times`);
  const told = exchanges.flatMap(({ heard }) =>
    heard?.type === "answer" && typeof heard.body?.executionId === "string" ? [heard.body.executionId] : [],
  );
  for (const id of new Set(told)) {
    const row = given.execution.get(id);
    if (row === undefined) find("lost", `was accepted as ${id}, which is not in the record`);
    else if (row.token !== token) find("mixed_up", `was answered with ${id}, the execution of ${row.token}`);
  }
  const areRefused = exchanges.every(
    ({ heard }) =>
      (heard?.type === "answer" && heard.status >= 400 && heard.status < 500) ||
      (heard?.type === "silence" && heard.cause === "refused"),
  );
  if (areRefused && kept.length > 0) find("refused", `was refused, and is in the record as ${kept[0]?.id}`);
  return findings;
}
