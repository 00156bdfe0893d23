import { Context } from "@temporalio/activity";
import { ApplicationFailure } from "@temporalio/common";
import { type Claimable, type ClaimOutcome, type ExecutionWork, endAttempt, renewLease } from "../db/attempts.ts";
import type { Db } from "../db/connect.ts";
import { findExecution } from "../db/executions.ts";
import type { PythonOutcome, PythonProgress } from "../domain/execution.ts";
import type { AccountId, ExecutionId } from "../domain/ids.ts";
import { type Claimed, claimWithSlot } from "./claiming.ts";
import type { Slots } from "./slots.ts";
import { hostQueue } from "./task-queues.ts";
import { UnableError, UnbegunError } from "./unbegun.ts";

/** How long a claim is good without being renewed; a lost worker is replaced after at most this time. */
const LEASE_SECONDS = 20;
const RENEW_MS = 5_000;
const HEARTBEAT_MS = 2_000;
/** How often the end of an attempt is told to a database that does not answer. */
const TELL_AGAIN_MS = 250;
/** A workflow task stays open while it waits. With so many of an account waiting, further ones do not: others need them. */
const BRIEFLY_WAITING_MAX = 50;
const KEEP_LOG_MS = 1_500;
/** Shares the turns of executions that are not in the record. */
const UNKNOWN_ACCOUNT = "" as AccountId;
/**
 * Attempts that may be lost with their worker before the execution is given up. Those whose program never began, and those
 * that a process handed over when it was asked to stop, do not count.
 */
const LOST_MAX = 3;

export interface PythonDeps {
  readonly db: Db;
  readonly hostId: string;
  /** New with every start of the process: tells its attempts from those of a process that died. */
  readonly processId: string;
  readonly slots: Slots;
  /** Runs one attempt's program on this host and leaves its outputs in the spool. Rejects only for faults of ours. */
  readonly runProgram: (work: ExecutionWork, signal: AbortSignal) => Promise<PythonOutcome>;
  /** Keeps what a program that is handed over has written, for the host that begins it again. */
  readonly keepLog?: (executionId: ExecutionId) => Promise<void>;
  readonly onFault: (executionId: ExecutionId, error: unknown) => void;
  /** Told of each execution that has no more to run and whose outputs are on this host. */
  readonly onEndedHere?: (executionId: ExecutionId, ended: Extract<PythonProgress, { kind: "ended" }>) => void;
}

/** Which program is to be run, and for whom. The account is unknown where the workflow began before calls named it. */
interface Run {
  readonly executionId: ExecutionId;
  readonly accountId?: AccountId;
}

interface Running {
  readonly ended: Promise<PythonProgress>;
  readonly abort: (reason: StopReason) => void;
}

/**
 * Why a program is stopped from outside. A process that is asked to stop hands its executions over to the next one. One that
 * stops for want of a server breaks them off, which counts as a lost worker: the program may be what brought the server down.
 */
export type StopReason = "cancelled" | "lease_lost" | "handed_over" | "broken_off";

/**
 * `executePython` and what the process around it needs. Keyed by execution id: the first call in a process runs
 * the program, every other call joins it; across processes the attempt's row decides. So retries are safe, and the
 * local activity of a short run and the regular activity that joins a long one are the same run.
 */
export function createPython(deps: PythonDeps) {
  const running = new Map<ExecutionId, Running>();
  /** From then on no program begins here. */
  const draining = new AbortController();

  function join(run: Run): Running {
    const { executionId } = run;
    const known = running.get(executionId);
    if (known) return known;
    const controller = new AbortController();
    const entry: Running = {
      ended: runToEnd(deps, run, { stop: controller.signal, draining: draining.signal }).finally(() =>
        running.delete(executionId),
      ),
      abort: (reason) => controller.abort(reason),
    };
    // Whoever joins sees the error; this keeps one that nobody awaits from ending the process.
    entry.ended.then(
      (progress) => {
        if (progress.kind === "ended" && progress.hostQueue === hostQueue(deps.hostId))
          deps.onEndedHere?.(executionId, progress);
      },
      (error: unknown) => deps.onFault(executionId, error),
    );
    running.set(executionId, entry);
    return entry;
  }

  function waitsBehindMany({ executionId, accountId }: Run): boolean {
    const { slots } = deps;
    return slots.waiting(accountId) > BRIEFLY_WAITING_MAX && slots.placeOf(executionId) !== undefined;
  }

  return {
    /**
     * Runs the execution's program, or joins it. With `waitSeconds` it answers `running` when that time is over, or when it waits behind many.
     * User code that fails is a value; an error means a fault of ours, and the call may be repeated.
     */
    async executePython(input: Run & { waitSeconds?: number }): Promise<PythonProgress> {
      const run = join(input);
      const context = Context.current();
      const cancelled = context.cancellationSignal;
      const onCancel = (): void => {
        if (isAsked(context)) run.abort("cancelled");
      };
      cancelled.addEventListener("abort", onCancel, { once: true });
      const beating = context.info.isLocal ? undefined : setInterval(() => context.heartbeat(), HEARTBEAT_MS);
      try {
        if (input.waitSeconds === undefined) return await run.ended;
        if (waitsBehindMany(input)) return { kind: "running" };
        return await Promise.race([run.ended, runningAfter(input.waitSeconds)]);
      } finally {
        clearInterval(beating);
        cancelled.removeEventListener("abort", onCancel);
      }
    },

    /** Stops a program of this process, if it is here. */
    stop(executionId: ExecutionId, reason: StopReason): boolean {
      const run = running.get(executionId);
      run?.abort(reason);
      return run !== undefined;
    },

    runningCount: (): number => running.size,

    /** Hands over what waits, waits for the programs of this process up to a time, then stops those, too. */
    async drain(graceMs: number, reason: "handed_over" | "broken_off" = "handed_over"): Promise<void> {
      draining.abort(reason);
      const ended = (): Promise<unknown> => Promise.allSettled([...running.values()].map((run) => run.ended));
      await Promise.race([ended(), delay(graceMs)]);
      for (const run of running.values()) run.abort(reason);
      await ended();
    },
  };
}

/**
 * Whether somebody wants the program to end. A call is also cancelled when Temporal no longer knows of it, because it lost its
 * data or gave the call up: then the program goes on, and who asks next joins it. What ends an execution for good ends its lease.
 * A local call is cancelled with the same words when its workflow task took too long, as on a machine without time, and its workflow
 * begins the task anew: it means nothing. Who cancels a workflow in Temporal's UI then is heard when that releases its credits.
 */
function isAsked({ cancellationDetails: details, info }: Context): boolean {
  if (info.isLocal) return false;
  if (details === undefined || details.cancelRequested) return true;
  return !(details.notFound || details.timedOut || details.paused || details.reset || details.workerShutdown);
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

async function runningAfter(seconds: number): Promise<PythonProgress> {
  await delay(seconds * 1000);
  return { kind: "running" };
}

async function runToEnd(
  deps: PythonDeps,
  { executionId, accountId }: Run,
  { stop, draining }: { stop: AbortSignal; draining: AbortSignal },
): Promise<PythonProgress> {
  const { db, hostId, processId } = deps;
  const owner = accountId ?? (await findExecution(db, executionId))?.accountId ?? UNKNOWN_ACCOUNT;
  const ids = { executionId, accountId: owner, hostId, processId };
  for (;;) {
    const waiting = AbortSignal.any([stop, draining]);
    const claim = await claimWithSlot(deps, { ...ids, leaseSeconds: LEASE_SECONDS, lostMax: LOST_MAX }, waiting);
    if (claim.kind !== "claimed") {
      if (claim.kind === "ended") return toProgress(claim);
      if (claim.kind !== "claimable") throw toFailure(executionId, claim);
      if (waiting.reason === "cancelled") throw cancelledFailure(executionId);
      if (waiting.aborted) throw stoppingError();
      continue;
    }
    const outcome = await runAttempt(deps, claim, stop);
    // The usual end, a first attempt that needs no other, is known without asking the database again.
    if (outcome && claim.work.attempt === 1 && (outcome.status !== "failed" || claim.work.attemptsMax === 1)) {
      return toProgress({ outcome, hostId });
    }
  }
}

/** Runs one claimed attempt under a lease that is renewed. Answers its outcome, unless it was not ours any more to record. */
async function runAttempt(
  deps: PythonDeps,
  { work, release }: Claimed,
  signal: AbortSignal,
): Promise<PythonOutcome | undefined> {
  const { db, processId } = deps;
  const { executionId, attempt } = work;
  const lease = new AbortController();
  const renewing = setInterval(() => {
    renewLease(db, { executionId, attempt, processId, leaseSeconds: LEASE_SECONDS }).then(
      (state) => state !== "held" && lease.abort(state === "lost" ? "lease_lost" : "cancelled"),
      (error: unknown) => deps.onFault(executionId, error),
    );
  }, RENEW_MS).unref();
  try {
    const outcome = await deps.runProgram(work, AbortSignal.any([signal, lease.signal])).finally(release);
    if (isStopping(signal) && outcome.status === "cancelled") {
      await keepLogBriefly(deps, executionId);
      const stopping = stoppingError();
      throw outcome.secondsUsed === 0 ? new UnbegunError(stopping) : stopping;
    }
    return (await tellEnd(db, { executionId, attempt, processId, outcome }, signal)) ? outcome : undefined;
  } catch (error) {
    await abandonAttempt(deps, work, error, signal);
    throw error;
  } finally {
    clearInterval(renewing);
  }
}

/** A storage that is away must not keep a process that stops. */
async function keepLogBriefly({ keepLog, onFault }: PythonDeps, executionId: ExecutionId): Promise<void> {
  const kept = keepLog?.(executionId).catch((error: unknown) => onFault(executionId, error));
  await Promise.race([kept, delay(KEEP_LOG_MS)]);
}

/**
 * Records the end of an attempt, again and again for as long as its lease may last: a database that is away for a second must
 * not cost an outcome that is at hand, and a second run of the user's code. Told twice, it counts once. A process that stops has
 * no time for that.
 */
async function tellEnd(db: Db, end: Parameters<typeof endAttempt>[1], signal: AbortSignal): Promise<boolean> {
  const deadline = performance.now() + LEASE_SECONDS * 1000;
  for (;;) {
    try {
      return await endAttempt(db, end);
    } catch (error) {
      if (performance.now() > deadline || isStopping(signal)) throw error;
      await delay(TELL_AGAIN_MS);
    }
  }
}

/** Gives an attempt up without an outcome, so that the next claim need not wait for the lease to run out. */
async function abandonAttempt(
  deps: PythonDeps,
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
    await tellEnd(deps.db, end, signal);
  } catch (second) {
    deps.onFault(work.executionId, new AggregateError([error, second], "An attempt could not be given up."));
  }
}

function toProgress({
  outcome,
  hostId,
}: Pick<Extract<ClaimOutcome, { kind: "ended" }>, "outcome" | "hostId">): PythonProgress {
  const { status, secondsUsed } = outcome;
  return { kind: "ended", status, secondsUsed, hostQueue: hostQueue(hostId) };
}

/** Why no attempt can be opened any more, in Temporal's words. */
function toFailure(
  executionId: ExecutionId,
  claim: Exclude<Claimable, { kind: "ended" | "claimable" }>,
): ApplicationFailure {
  if (claim.kind === "exhausted")
    return ApplicationFailure.nonRetryable(
      `${executionId} has no attempts left: ${LOST_MAX} workers were lost while they ran it, or it never began.`,
      "internal",
    );
  if (claim.kind === "unable") return ApplicationFailure.nonRetryable(claim.reason, "unable");
  if (claim.kind === "busy") return ApplicationFailure.retryable(`${executionId} runs in another process.`);
  if (claim.cancelled) return cancelledFailure(executionId);
  return ApplicationFailure.nonRetryable(`${executionId} has ended already: ${claim.state}.`, "internal");
}

function cancelledFailure(executionId: ExecutionId): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`${executionId} was cancelled before it ran.`, "cancelled");
}

/** Whether the process stops. A reason given before, such as a request to cancel, stays. */
function isStopping({ reason }: AbortSignal): boolean {
  return reason === "handed_over" || reason === "broken_off";
}

function stoppingError(): Error {
  return new Error("The worker is stopping.");
}
