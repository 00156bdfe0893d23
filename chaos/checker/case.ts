import type { AttemptRow, Evidence, ExecutionRow, FileRow, LedgerRow, ReservationRow } from "../evidence.ts";
import type { FaultLine, LeftEndLine, Line, RequestLine } from "../record.ts";
import { type Commit, listCommits } from "./commits.ts";
import { type Exchange, listExchanges } from "./exchanges.ts";
import { groupBy } from "./groups.ts";

export type { Exchange } from "./exchanges.ts";

/** Something that must not be: which rule it breaks, of what, and how. */
export interface Finding {
  readonly rule: string;
  readonly subject: string;
  readonly text: string;
}

/** The evidence, sorted for looking things up. */
export interface Case {
  readonly evidence: Evidence;
  readonly exchanges: readonly Exchange[];
  readonly executes: ReadonlyMap<string, readonly Exchange[]>;
  /** What clients committed, in order. */
  readonly commits: readonly Commit[];
  readonly faults: readonly FaultLine[];
  /** The same, each over when a service that it ended is up again: on a busy machine a start takes its time. */
  readonly causes: readonly FaultLine[];
  readonly execution: ReadonlyMap<string, ExecutionRow>;
  readonly executionsOf: ReadonlyMap<string, readonly ExecutionRow[]>;
  readonly attemptsOf: ReadonlyMap<string, readonly AttemptRow[]>;
  /** Ends of its programs that were there when a service died. */
  readonly leftEndsOf: ReadonlyMap<string, readonly LeftEndLine[]>;
  readonly filesOf: ReadonlyMap<string, readonly FileRow[]>;
  readonly reservationsOf: ReadonlyMap<string, readonly ReservationRow[]>;
  readonly settlementsOf: ReadonlyMap<string, readonly LedgerRow[]>;
}

/** After a fault is over, its consequences may last this long: leases, retries with pauses, a start of the service. */
const AFTERMATH_MS = 45_000;
/** Between the clocks of those who wrote things down there is none; within one of them things take their time. */
const BEFORE_MS = 1_000;

export function openCase(evidence: Evidence): Case {
  const exchanges = listExchanges(evidence.lines);
  const faults = evidence.lines.flatMap((line) => (line.type === "fault" && line.done ? [line] : []));
  return {
    evidence,
    exchanges,
    executes: groupBy(
      exchanges.filter(({ request }) => request.purpose === "execute"),
      ({ request }) => request.token,
    ),
    commits: listCommits(exchanges),
    faults,
    causes: faults.map((fault) => ({ ...fault, until: Math.max(fault.until, findRecovery(evidence.lines, fault)) })),
    execution: new Map(evidence.executions.map((row) => [row.id, row])),
    executionsOf: groupBy(evidence.executions, ({ token }) => token),
    attemptsOf: groupBy(evidence.attempts, ({ execution_id }) => execution_id),
    leftEndsOf: groupBy(
      evidence.lines.flatMap((line) => (line.type === "left_end" ? [line] : [])),
      ({ executionId }) => executionId,
    ),
    filesOf: groupBy(evidence.files, ({ execution_id }) => execution_id),
    reservationsOf: groupBy(evidence.reservations, ({ execution_id }) => execution_id),
    settlementsOf: groupBy(
      evidence.ledger.filter(({ kind }) => kind === "settlement"),
      ({ execution_id }) => execution_id,
    ),
  };
}

/** When the service took calls again after it had ended soon after the fault; the fault's end when it had not. */
function findRecovery(lines: readonly Line[], { at, until }: FaultLine): number {
  const events = lines.flatMap((line) => (line.type === "service" ? [line] : []));
  const ended = events.find(
    (line) => line.event === "ended" && line.at >= at - BEFORE_MS && line.at <= until + AFTERMATH_MS,
  );
  const up = events.find(
    (line) => ended !== undefined && line.at >= ended.at && ["ready", "unannounced"].includes(line.event),
  );
  return up?.at ?? until;
}

/** The call that an execution is the answer to. Of one that the clock started: the call its commit stands for. */
export function findRequest({ executes, commits }: Case, { trigger, token }: ExecutionRow): RequestLine | undefined {
  if (trigger !== "schedule") return executes.get(token ?? "")?.[0]?.request;
  const commit = commits.find((each) => each.token === token);
  return commit && { ...commit.request, purpose: "execute", workflow: "clock" };
}

/** Whether something between these times may be the consequence of a fault, of these kinds if any are named. */
export function hasCause(
  { causes }: Case,
  [from, until]: readonly [number, number],
  isCause: (fault: FaultLine) => boolean = () => true,
): boolean {
  return causes.some((fault) => isCause(fault) && fault.at - BEFORE_MS <= until && fault.until + AFTERMATH_MS >= from);
}
