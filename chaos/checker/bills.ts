import type { AttemptRow, ExecutionRow } from "../evidence.ts";
import { type Case, type Finding, findRequest } from "./case.ts";
import { demandOf } from "./demand.ts";
import { lastPartOf } from "./logs.ts";

/** Between the clocks of a program, PostgreSQL and the service; and between two looks of the service at the time. */
const CLOCK_SLACK_SECONDS = 0.25;
const STALL_SLACK_SECONDS = 0.5;
/** Lines have the time at which the service read them: the first one late, where it has just stood still or has much to do. */
const READING_SLACK_SECONDS = 0.1;
/** Around the work of a program: interpreter, files, its end. The one is for a machine that has no time, the other is the middle of all. */
const OVERHEAD_SECONDS_MAX = 5;
const OVERHEAD_SECONDS_MEDIAN_MAX = 1;

/** What an attempt's log says of its time: the programs of `workflows/` say ten times a second what time it is. */
interface Account {
  /** From the first time it said to the last. */
  readonly seconds: number;
  /** The service heard none of it that long, at most: between two lines, or after a line was said. */
  readonly silenceSeconds: number;
}

/**
 * The time on each bill: never more than the attempt lasted by the record, and no less than its program had by its own
 * clock, but for stalls. How much it is above that a busy machine decides for one, and not for all of them.
 */
export function checkBills(given: Case): Finding[] {
  const judged = given.evidence.executions.flatMap((row) => judge(given, row));
  const findings = judged.flatMap((each) => each.findings);
  const overheads = judged.flatMap(({ overhead }) => overhead ?? []).sort((a, b) => a - b);
  const middle = overheads[Math.floor((overheads.length - 1) / 2)] ?? 0;
  if (middle > OVERHEAD_SECONDS_MEDIAN_MAX)
    findings.push({
      rule: "seconds",
      subject: "every second execution",
      text: `is billed ${middle.toFixed(3)} s or more beyond what its program took`,
    });
  return findings;
}

function judge(given: Case, row: ExecutionRow): { findings: Finding[]; overhead?: number } {
  const findings: Finding[] = [];
  const find = (text: string): void => void findings.push({ rule: "seconds", subject: row.id, text });
  const attempts = given.attemptsOf.get(row.id) ?? [];
  for (const { attempt, started_at, ended_at, seconds_used } of attempts) {
    const seconds = ((ended_at ?? started_at) - started_at) / 1000;
    if (seconds_used > seconds + CLOCK_SLACK_SECONDS)
      find(`attempt ${attempt} is billed ${seconds_used} s, and lasted ${seconds} s`);
  }
  const told = attempts.findLast(({ status }) => status !== null);
  const account = readAccount(given, row);
  if (told === undefined || account === undefined || row.failure !== null) return { findings };
  const { overhead, flaws } = compare(row, told, account);
  for (const flaw of flaws) find(flaw);
  const request = findRequest(given, row);
  if (
    request !== undefined &&
    row.state === "success" &&
    account.seconds < demandOf(request).secondsMin - READING_SLACK_SECONDS
  )
    find(`its program took ${account.seconds} s, and was to take ${demandOf(request).secondsMin} s`);
  return { findings, overhead };
}

/** A bill beside what the program said. One that ran out of time is billed what it was allowed, whatever it took. */
function compare(row: ExecutionRow, { attempt, seconds_used }: AttemptRow, { seconds, silenceSeconds }: Account) {
  const owed = Math.min(seconds, row.timeout_seconds);
  const overhead = seconds_used - owed;
  // What happened while the service stood still is billed up to the beginning of that: less, never more.
  const isShort = -overhead > silenceSeconds + STALL_SLACK_SECONDS;
  const isLong = overhead > OVERHEAD_SECONDS_MAX;
  const flaw = `attempt ${attempt} is billed ${seconds_used} s, and its program took ${seconds} s`;
  return { overhead, flaws: isShort || isLong ? [flaw] : [] };
}

function readAccount({ evidence }: Case, { log_key }: ExecutionRow): Account | undefined {
  const log = log_key === null ? undefined : evidence.storage[log_key]?.text;
  const lines = lastPartOf(log ?? "")
    .split("\n")
    .flatMap((line) => (line === "" ? [] : (JSON.parse(line) as LogLine)));
  const said = lines.flatMap(({ time, text }) => {
    const at = /^at ([\d.]+)$/.exec(text)?.[1];
    return at === undefined ? [] : { at: Number(at), delay: Date.parse(time) / 1000 - Number(at) };
  });
  const [first, last] = [said[0]?.at, said.at(-1)?.at];
  if (first === undefined || last === undefined) return undefined;
  const heard = lines.map(({ time }) => Date.parse(time) / 1000);
  const silences = heard.slice(1).map((time, index) => time - (heard[index] as number));
  // Within one stall the service may have heard a line, so that it looks like two.
  const [longest = 0, second = 0] = silences.sort((a, b) => b - a);
  // A program that is over before the service goes on is heard all at once: no silence between its lines, but long after it spoke.
  const silenceSeconds = Math.max(longest + second, ...said.map(({ delay }) => delay));
  return { seconds: Math.round((last - first) * 1000) / 1000, silenceSeconds };
}

interface LogLine {
  readonly time: string;
  readonly text: string;
}
