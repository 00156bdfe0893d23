import type { AttemptRow, ExecutionRow } from "../evidence.ts";
import { type Case, type Finding, findRequest, hasCause } from "./case.ts";
import { demandOf } from "./demand.ts";

/** Workers that may be lost while they run the program, and attempts that may come to nothing before it begins. */
export const LOST_MAX = 3;
export const UNBEGUN_MAX = 20;
/** A claim and a request to cancel may cross each other; a process that is stopped makes that longer. */
const CROSSING_MS = 6_000;

/** Returns whether the attempt counts as a lost worker. */
export const isLost = ({ status, begun, handed_over }: AttemptRow): boolean => status === null && begun && !handed_over;
/** Returns whether the attempt counts as one that came to nothing before its program began. */
export const isUnbegun = ({ begun, handed_over }: AttemptRow): boolean => !begun && !handed_over;

/** Every try of a program is visible, none ran beside another, and there were no more than the rules allow. */
export function checkAttempts(given: Case): Finding[] {
  return given.evidence.executions.flatMap((row) => {
    const attempts = given.attemptsOf.get(row.id) ?? [];
    return [...checkOrder(row, attempts), ...checkNumber(given, row, attempts), ...checkLeftEnds(given, row, attempts)];
  });
}

/** A program that ended before its service died is not run again by its host. */
function checkLeftEnds({ leftEndsOf }: Case, row: ExecutionRow, attempts: readonly AttemptRow[]): Finding[] {
  return (leftEndsOf.get(row.id) ?? []).flatMap(({ attempt, status }): Finding[] => {
    const [left, next] = attempts.slice(attempt - 1);
    if (left?.status !== null || next?.host_id !== left.host_id) return [];
    return [
      { rule: "run_again", subject: row.id, text: `attempt ${attempt} had ended as ${status}, and was run again` },
    ];
  });
}

function checkOrder(row: ExecutionRow, attempts: readonly AttemptRow[]): Finding[] {
  const findings: Finding[] = [];
  const find = (text: string): void => void findings.push({ rule: "attempts", subject: row.id, text });
  for (const [index, { attempt, started_at, ended_at }] of attempts.entries()) {
    const before = attempts[index - 1];
    if (attempt !== index + 1) find(`attempt ${index + 1} is missing`);
    if (ended_at === null) find(`attempt ${attempt} has no end`);
    if (before !== undefined && (before.ended_at ?? Number.POSITIVE_INFINITY) > started_at)
      find(`attempt ${attempt} began while attempt ${before.attempt} ran`);
    if (before !== undefined && before.status !== null && before.status !== "failed")
      find(`attempt ${attempt} followed one that had ended as ${before.status}`);
    if (row.cancel_requested_at !== null && started_at > row.cancel_requested_at + CROSSING_MS)
      find(`attempt ${attempt} began after the execution was to be cancelled`);
  }
  return findings;
}

function checkNumber(given: Case, row: ExecutionRow, attempts: readonly AttemptRow[]): Finding[] {
  const findings: Finding[] = [];
  const find = (rule: string, text: string): void => void findings.push({ rule, subject: row.id, text });
  const lost = attempts.filter(({ status }) => status === null);
  const begun = lost.filter(isLost).length;
  const unbegun = lost.filter(isUnbegun).length;
  const tries = attempts.length - lost.length;
  if (tries > row.attempts_max) find("attempts", `was tried ${tries} times, and ${row.attempts_max} are allowed`);
  if (begun > LOST_MAX) find("attempts", `lost ${begun} workers, and ${LOST_MAX} are allowed`);
  if (unbegun > UNBEGUN_MAX) find("attempts", `did not begin ${unbegun} times, and ${UNBEGUN_MAX} are allowed`);
  for (const { attempt, started_at, ended_at, message } of lost)
    if (!hasCause(given, [started_at, ended_at ?? started_at]))
      find("lost_attempt", `attempt ${attempt} was lost (${message}) while nothing was wrong`);
  const request = findRequest(given, row);
  if (request === undefined || row.failure !== null || row.state === "cancelled") return findings;
  const demand = demandOf(request);
  // One that is to be cancelled is not tried again.
  const isCut = row.cancel_requested_at !== null && tries > 0 && tries < demand.tries;
  if (row.state === demand.end && tries !== demand.tries && !isCut)
    find("attempts", `ended as ${row.state} after ${tries} tries, and its inputs demand ${demand.tries}`);
  if (tries === 0) find("attempts", `ended as ${row.state} without a try`);
  return findings;
}
