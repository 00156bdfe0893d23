import { type Db, isDataError } from "../db/connect.ts";
import { type ExecutionWork, endAttempt, renewLease, takeOverAttempt } from "../db/executions/attempts.ts";
import type { MicroCredits, Prices } from "../domain/credits.ts";
import type { PythonOutcome } from "../domain/execution.ts";
import type { ExecutionId } from "../domain/ids.ts";
import type { Manifest } from "../domain/manifest/manifest.ts";
import { isRetried, type RetryPolicy, retryPolicyOf } from "../domain/retries.ts";
import { withTimeout } from "../system/with-timeout.ts";
import type { Claimed } from "./claiming.ts";
import type { ExecutionEnding } from "./ending.ts";
import { createSlices } from "./slices.ts";
import type { Spool } from "./spool.ts";
import { UnableError, UnbegunError } from "./unbegun.ts";

/** How long a claim is good without being renewed; a lost worker is replaced after at most this time. */
export const LEASE_SECONDS = 20;
const RENEW_MS = 5_000;
/** How often the end of an attempt is sent to a database that does not answer. */
const TELL_AGAIN_MS = 250;
const KEEP_LOG_MS = 1_500;

export interface AttemptDeps {
  readonly db: Db;
  /** New with every start of the process: tells its attempts from those of a process that died. */
  readonly processId: string;
  /** Runs one attempt's program on this host and leaves its outputs in the spool. Rejects only for faults of ours. */
  readonly runProgram: (work: ExecutionWork, signal: AbortSignal, onStarted: () => void) => Promise<PythonOutcome>;
  /** What is held for a program that may take longer than a slice. */
  readonly prices: Prices;
  /** Keeps what a program that is handed over has written, for the host that begins it again. */
  readonly keepLog?: (executionId: ExecutionId) => Promise<void>;
  readonly onError: (executionId: ExecutionId, error: unknown) => void;
  /** Has the ends of programs that were not recorded yet. */
  readonly spool?: Pick<Spool, "findEnd">;
  /** Ends an execution together with its attempt where that takes one step (`ending.ts`). */
  readonly ending?: ExecutionEnding;
}

/** Whether an attempt that ended so was the first and is the last. */
export function isOnly(work: ExecutionWork, outcome: PythonOutcome): boolean {
  return work.attempt === 1 && (work.attemptsMax === 1 || !isRetried(retriesOf(work), outcome.status));
}

const NO_RETRIES: RetryPolicy = { on: [], delaySeconds: 0, backoff: 1 };

const retriesOf = (work: ExecutionWork): RetryPolicy => retryPolicyOf(work.manifest as Manifest);

/**
 * Runs one claimed attempt under a lease that is renewed. Returns its outcome, and whether the execution ended with it;
 * undefined when it was not ours any more to record.
 */
export async function runAttempt(
  deps: AttemptDeps,
  { work, release }: Claimed,
  signal: AbortSignal,
): Promise<{ readonly outcome: PythonOutcome; readonly finished: boolean } | undefined> {
  const { db, processId } = deps;
  const { executionId, attempt } = work;
  const lease = new AbortController();
  const renewing = setInterval(() => {
    renewLease(db, { executionId, attempt, processId, leaseSeconds: LEASE_SECONDS }).then(
      (state) => state !== "held" && lease.abort(state === "lost" ? "lease_lost" : "cancelled"),
      (error: unknown) => deps.onError(executionId, error),
    );
  }, RENEW_MS).unref();
  const slices = createSlices(deps, work);
  try {
    const stop = AbortSignal.any([signal, lease.signal, slices.unpaid]);
    const ran = await deps.runProgram(work, stop, slices.begin).finally(release);
    slices.close();
    const isUnpaid = ran.status === "cancelled" && slices.unpaid.aborted && stop.reason === slices.unpaid.reason;
    const outcome = isUnpaid ? toUnpaid(ran, slices.unpaid) : ran;
    if (isStopping(signal) && outcome.status === "cancelled") {
      await keepLogBriefly(deps, executionId);
      const stopping = stoppingError();
      throw outcome.secondsUsed === 0 ? new UnbegunError(stopping) : stopping;
    }
    const ending = isOnly(work, outcome) ? await prepareEnding(deps, work, outcome, slices.held()) : undefined;
    const finished = ending === undefined ? "apart" : await tell(ending, signal);
    if (finished !== "apart") return finished ? { outcome, finished } : undefined;
    // A further attempt would begin anew what could not be paid.
    const retries = isUnpaid ? NO_RETRIES : retriesOf(work);
    const end = { executionId, attempt, processId, outcome, retries };
    const isOurs = await tell(() => endAttempt(db, end), signal);
    return isOurs ? { outcome, finished: false } : undefined;
  } catch (error) {
    // The next call here records an end that waits in the spool.
    if (isDataError(error) || !hasLeftEnd(deps, work)) await abandonAttempt(deps, work, error, signal);
    throw error;
  } finally {
    slices.close();
    clearInterval(renewing);
  }
}

function hasLeftEnd({ spool, onError }: AttemptDeps, { executionId, attempt }: ExecutionWork): boolean {
  try {
    return spool?.findEnd(executionId)?.attempt === attempt;
  } catch (error) {
    onError(executionId, error);
    return false;
  }
}

/**
 * Records how a program ended on this host where that was not recorded: its process died, or the database was away. Otherwise the
 * program would run again, though it came to its end. Only for an execution that does not run in this process.
 */
export async function recordLeftEnd(
  { db, processId, hostId, onError }: Pick<AttemptDeps, "db" | "processId" | "onError"> & { readonly hostId: string },
  executionId: ExecutionId,
  end: NonNullable<ReturnType<Spool["findEnd"]>>,
): Promise<void> {
  const left = { ...end, executionId, processId };
  const taken = await takeOverAttempt(db, { ...left, hostId, leaseSeconds: LEASE_SECONDS });
  if (taken === undefined) return;
  try {
    await endAttempt(db, { ...left, retries: retryPolicyOf(taken.manifest as Manifest) });
  } catch (error) {
    if (!isDataError(error)) throw error;
    onError(executionId, error);
    await endAttempt(db, { ...left, outcome: null });
  }
}

/** It ended as one that is cancelled does, and nobody cancelled it: the code did not come to its end. */
function toUnpaid(ran: PythonOutcome, { reason }: AbortSignal): PythonOutcome {
  return Object.assign({}, ran, { status: "failed" as const, message: String(reason) });
}

/** A storage that is away must not keep a process that stops. */
async function keepLogBriefly({ keepLog, onError }: AttemptDeps, executionId: ExecutionId): Promise<void> {
  const kept = keepLog?.(executionId).catch((error: unknown) => onError(executionId, error));
  if (kept !== undefined) await withTimeout(kept, KEEP_LOG_MS, () => undefined);
}

/**
 * Returns what ends the execution together with its attempt; undefined where that takes several steps. `apart`: the tables
 * refused its data. The steps find which of it is wrong.
 */
async function prepareEnding(
  { ending, onError }: AttemptDeps,
  work: ExecutionWork,
  outcome: PythonOutcome,
  chargeMax: MicroCredits,
): Promise<(() => Promise<boolean | "apart">) | undefined> {
  try {
    const prepared = await ending?.prepare(work, outcome, chargeMax);
    if (ending === undefined || prepared === undefined) return undefined;
    return () =>
      ending.record(work, prepared).catch((error: unknown) => {
        if (!isDataError(error)) throw error;
        onError(work.executionId, error);
        return "apart";
      });
  } catch (error) {
    onError(work.executionId, error);
    return undefined;
  }
}

/**
 * Records an end, and retries for as long as a lease may last. Otherwise a database that is away for a second would lose the outcome
 * and run the user's code again. Told twice, it counts once. A process that stops has no time for that.
 */
async function tell<Told>(record: () => Promise<Told>, signal: AbortSignal): Promise<Told> {
  const deadline = performance.now() + LEASE_SECONDS * 1000;
  for (;;) {
    try {
      return await record();
    } catch (error) {
      if (performance.now() > deadline || isStopping(signal)) throw error;
      await delay(TELL_AGAIN_MS);
    }
  }
}

/** Gives an attempt up without an outcome, so that the next claim need not wait for the lease to run out. */
async function abandonAttempt(
  deps: AttemptDeps,
  work: ExecutionWork,
  error: unknown,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { executionId, attempt } = work;
    const begun = !(error instanceof UnbegunError);
    const handedOver = signal.reason === "handed_over";
    const unable =
      error instanceof UnbegunError && error.cause instanceof UnableError ? error.cause.message : undefined;
    const end = { executionId, attempt, processId: deps.processId, outcome: null, begun, handedOver, unable };
    await tell(() => endAttempt(deps.db, end), signal);
  } catch (second) {
    deps.onError(work.executionId, new AggregateError([error, second], "An attempt could not be given up."));
  }
}

/** Whether the process stops. A reason given before, such as a request to cancel, stays. */
function isStopping({ reason }: AbortSignal): boolean {
  return reason === "handed_over" || reason === "broken_off";
}

export function stoppingError(): Error {
  return new Error("The worker is stopping.");
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
