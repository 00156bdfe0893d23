import type { AttemptRow, Evidence, ExecutionRow, FileRow, LedgerRow, ReservationRow } from "../evidence.ts";
import type { AnswerLine, FaultLine, RequestLine, SilenceLine } from "../record.ts";

/** Something that must not be: which rule it breaks, of what, and how. */
export interface Finding {
  readonly rule: string;
  readonly subject: string;
  readonly text: string;
}

/** A request with what came of it. */
export interface Exchange {
  readonly request: RequestLine;
  /** Undefined when the client was stopped before there was any. */
  readonly heard: AnswerLine | SilenceLine | undefined;
}

/** The evidence, sorted for looking things up. */
export interface Case {
  readonly evidence: Evidence;
  readonly exchanges: readonly Exchange[];
  readonly executes: ReadonlyMap<string, readonly Exchange[]>;
  readonly faults: readonly FaultLine[];
  readonly execution: ReadonlyMap<string, ExecutionRow>;
  readonly executionsOf: ReadonlyMap<string, readonly ExecutionRow[]>;
  readonly attemptsOf: ReadonlyMap<string, readonly AttemptRow[]>;
  readonly filesOf: ReadonlyMap<string, readonly FileRow[]>;
  readonly reservationsOf: ReadonlyMap<string, readonly ReservationRow[]>;
  readonly settlementsOf: ReadonlyMap<string, readonly LedgerRow[]>;
}

/** After a fault is over, its consequences may last this long: leases, retries with pauses, a start of the service. */
const AFTERMATH_MS = 45_000;
/** Between the clocks of those who wrote things down there is none; within one of them things take their time. */
const BEFORE_MS = 1_000;

export function openCase(evidence: Evidence): Case {
  const heard = new Map<number, AnswerLine | SilenceLine>();
  for (const line of evidence.lines)
    if (line.type === "answer" || line.type === "silence") heard.set(line.request, line);
  const exchanges = evidence.lines.flatMap((line) =>
    line.type === "request" ? [{ request: line, heard: heard.get(line.request) }] : [],
  );
  return {
    evidence,
    exchanges,
    executes: groupBy(
      exchanges.filter(({ request }) => request.purpose === "execute"),
      ({ request }) => request.token,
    ),
    faults: evidence.lines.flatMap((line) => (line.type === "fault" && line.done ? [line] : [])),
    execution: new Map(evidence.executions.map((row) => [row.id, row])),
    executionsOf: groupBy(evidence.executions, ({ token }) => token),
    attemptsOf: groupBy(evidence.attempts, ({ execution_id }) => execution_id),
    filesOf: groupBy(evidence.files, ({ execution_id }) => execution_id),
    reservationsOf: groupBy(evidence.reservations, ({ execution_id }) => execution_id),
    settlementsOf: groupBy(
      evidence.ledger.filter(({ kind }) => kind === "settlement"),
      ({ execution_id }) => execution_id,
    ),
  };
}

/** Whether something between these times may be the consequence of a fault, of these kinds if any are named. */
export function hasCause(
  { faults }: Case,
  [from, until]: readonly [number, number],
  isCause: (fault: FaultLine) => boolean = () => true,
): boolean {
  return faults.some((fault) => isCause(fault) && fault.at - BEFORE_MS <= until && fault.until + AFTERMATH_MS >= from);
}

export function groupBy<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string | null | undefined,
): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key == null) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
