import type { AttemptRow, ExecutionRow } from "../evidence.ts";
import { type Case, type Finding, findRequest, hasCause } from "./case.ts";
import { demandOf } from "./demand.ts";

/** Workers that may be lost while they run the program, and attempts that may come to nothing before it begins. */
export const LOST_MAX = 3;
export const UNBEGUN_MAX = 20;
/** A claim and a request to cancel may cross each other; a process that is stopped makes that longer. */
const CROSSING_MS = 6_000;
const CLOCK_SLACK_SECONDS = 0.25;
/** Around the work of a program: interpreter, files, and a machine that does other things as well. */
const OVERHEAD_SECONDS_MAX = 8;
/** What happened while the service got no processor is not billed. */
const STALLS_SECONDS_MAX = 1.5;
const STALLED_SHARE_MAX = 0.5;

/** Every try of a program is visible, none ran beside another, and there were no more than the rules allow. */
export function checkAttempts(given: Case): Finding[] {
  return given.evidence.executions.flatMap((row) => {
    const attempts = given.attemptsOf.get(row.id) ?? [];
    return [...checkOrder(row, attempts), ...checkNumber(given, row, attempts), ...checkTimes(given, row, attempts)];
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
  const begun = lost.filter((attempt) => attempt.begun).length;
  const tries = attempts.length - lost.length;
  if (tries > row.attempts_max) find("attempts", `was tried ${tries} times, and ${row.attempts_max} are allowed`);
  if (begun > LOST_MAX) find("attempts", `lost ${begun} workers, and ${LOST_MAX} are allowed`);
  if (lost.length - begun > UNBEGUN_MAX)
    find("attempts", `did not begin ${lost.length - begun} times, and ${UNBEGUN_MAX} are allowed`);
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

function checkTimes(given: Case, row: ExecutionRow, attempts: readonly AttemptRow[]): Finding[] {
  const findings: Finding[] = [];
  const find = (text: string): void => void findings.push({ rule: "seconds", subject: row.id, text });
  for (const { attempt, started_at, ended_at, seconds_used } of attempts) {
    const seconds = ((ended_at ?? started_at) - started_at) / 1000;
    if (seconds_used > seconds + CLOCK_SLACK_SECONDS)
      find(`attempt ${attempt} is billed ${seconds_used} s, and lasted ${seconds} s`);
  }
  const request = findRequest(given, row);
  if (request === undefined || row.failure !== null) return findings;
  const { end, secondsMin } = demandOf(request);
  if (row.state !== end || row.cancel_requested_at !== null || /SIGKILL/.test(row.message)) return findings;
  // What happened while the service stood still is billed up to the beginning of that: less, never more.
  const isPaused = given.faults.some(
    (fault) =>
      fault.kind === "pause" &&
      attempts.some((each) => each.started_at <= fault.until && (each.ended_at ?? 0) >= fault.at),
  );
  const stallsMax = Math.min(STALLS_SECONDS_MAX, STALLED_SHARE_MAX * secondsMin);
  const tooShort = !isPaused && row.seconds_used < secondsMin - stallsMax - CLOCK_SLACK_SECONDS;
  if (tooShort || row.seconds_used > secondsMin + OVERHEAD_SECONDS_MAX)
    find(`${row.seconds_used} s are on the bill, and the program takes ${secondsMin} s`);
  return findings;
}
