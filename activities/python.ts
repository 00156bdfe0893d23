import { Context } from "@temporalio/activity";
import { ApplicationFailure } from "@temporalio/common";
import { beginFirstAttempt, type Claimable, type ClaimOutcome, type ExecutionWork } from "../db/executions/attempts.ts";
import { findExecution } from "../db/executions/executions.ts";
import type { PythonProgress } from "../domain/execution.ts";
import type { AccountId, ExecutionId } from "../domain/ids.ts";
import type { Slots } from "../system/slots.ts";
import { withTimeout } from "../system/with-timeout.ts";
import { type AttemptDeps, isOnly, LEASE_SECONDS, recordLeftEnd, runAttempt, stoppingError } from "./attempt.ts";
import { type Claimed, claimWithSlot } from "./claiming.ts";
import type { Begun, Lead, LedExecution } from "./lead.ts";
import { isOrdinaryFailure } from "./ordinary-failures.ts";
import { type PassOn, waitElsewhere } from "./passing-on.ts";
import { hostQueue } from "./task-queues.ts";

const HEARTBEAT_MS = 2_000;
/** A workflow task stays open while it waits. With so many of an account waiting, further ones do not: others need them. */
const BRIEFLY_WAITING_MAX = 50;
/** Shares the turns of executions that are not in the record. */
const UNKNOWN_ACCOUNT = "" as AccountId;
/**
 * Attempts that may be lost with their worker before the execution is given up. Those whose program never began, and those
 * that a process handed over when it was asked to stop, do not count.
 */
const LOST_MAX = 3;

export interface PythonDeps extends AttemptDeps {
  readonly hostId: string;
  readonly slots: Slots;
  readonly passOn?: PassOn | undefined;
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
 * Why a program is stopped from outside. A process that is asked to stop hands its executions over to the next one. A
 * process that stops because a server is gone breaks them off. That counts as a lost worker: the program may have
 * brought the server down.
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

  function join(run: Run, claimed?: Claimed): Running {
    const { executionId } = run;
    const known = running.get(executionId);
    if (known) {
      // The process stood still after it was accepted, and its workflow came first.
      claimed?.release();
      return known;
    }
    const controller = new AbortController();
    // It was accepted while the process began to stop.
    if (claimed !== undefined && draining.signal.aborted) controller.abort(draining.signal.reason);
    const entry: Running = {
      ended: runToEnd(deps, run, { stop: controller.signal, draining: draining.signal }, claimed).finally(() =>
        running.delete(executionId),
      ),
      abort: (reason) => controller.abort(reason),
    };
    // A joined call sees the error. Without this line, an error that nobody awaits would end the process.
    entry.ended.then(
      (progress) => {
        if (progress.kind === "ended" && progress.hostQueue === hostQueue(deps.hostId))
          deps.onEndedHere?.(executionId, progress);
      },
      (error: unknown) => {
        if (!isOrdinaryFailure(error)) deps.onError(executionId, error);
      },
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
        return await withTimeout(run.ended, input.waitSeconds * 1000, () => ({ kind: "running" as const }));
      } finally {
        clearInterval(beating);
        cancelled.removeEventListener("abort", onCancel);
      }
    },

    /** Runs the execution's program to its end, or joins it, without an activity's context. Rejects as `executePython` does. */
    run: (run: Run): Promise<PythonProgress> => join(run).ended,

    /** Takes a slot for an execution that is about to be recorded; undefined when none is free for its account now. */
    lead: (run: LedExecution): Lead | undefined =>
      draining.signal.aborted ? undefined : takeLead(deps, run, (claimed) => join(run, claimed).ended),

    /**
     * Takes a slot and opens the first attempt of an execution that is recorded, where both can be had at once. Undefined
     * otherwise; then `run` waits for them.
     */
    begin: async (run: LedExecution): Promise<Begun | undefined> =>
      draining.signal.aborted || running.has(run.executionId)
        ? undefined
        : beginNow(deps, run, (claimed) => join(run, claimed).ended),

    /** Stops a program of this process, if it is here. */
    stop(executionId: ExecutionId, reason: StopReason): boolean {
      const run = running.get(executionId);
      run?.abort(reason);
      return run !== undefined;
    },

    /** Whether an execution's program runs in this process, or waits for a slot in it. */
    isHere: (executionId: ExecutionId): boolean => running.has(executionId),

    runningCount: (): number => running.size,

    /** Hands over what waits, waits for the programs of this process up to a time, then stops those, too. */
    async drain(graceMs: number, reason: "handed_over" | "broken_off" = "handed_over"): Promise<void> {
      draining.abort(reason);
      const ended = (): Promise<unknown> => Promise.allSettled([...running.values()].map((run) => run.ended));
      await withTimeout(ended(), graceMs, () => undefined);
      for (const run of running.values()) run.abort(reason);
      await ended();
    },
  };
}

function takeLead(
  { slots, hostId }: PythonDeps,
  { accountId, executionId: id }: LedExecution,
  run: (claimed: Claimed) => Promise<PythonProgress>,
): Lead | undefined {
  const release = slots.takeNow({ accountId, id });
  if (release === undefined) return undefined;
  const claim = { hostId, leaseSeconds: LEASE_SECONDS };
  return { claim, run: (work) => run({ kind: "claimed", work, release }), giveUp: release };
}

/** Takes a slot and opens the first attempt; undefined where one of them is not to be had, or another host gives more. */
async function beginNow(
  deps: PythonDeps,
  run: LedExecution,
  runClaimed: (claimed: Claimed) => Promise<PythonProgress>,
): Promise<Begun | undefined> {
  const lead = deps.passOn?.isWanted() === true ? undefined : takeLead(deps, run, runClaimed);
  if (lead === undefined) return undefined;
  const { db, hostId, processId } = deps;
  const claim = { executionId: run.executionId, hostId, processId, leaseSeconds: LEASE_SECONDS };
  let work: ExecutionWork | undefined;
  try {
    work = await beginFirstAttempt(db, claim);
  } finally {
    if (work === undefined) lead.giveUp();
  }
  return work && { lead, work };
}

/**
 * Whether the program is to end. Temporal also cancels a call that it no longer knows, because it lost its data or gave
 * the call up. Then the program goes on, and the next call joins it. What ends an execution for good ends its lease. A
 * local call is cancelled with the same words when its workflow task took too long, as on an overloaded machine. Its
 * workflow begins the task anew, so that cancellation means nothing. A cancellation in Temporal's UI then takes effect
 * when it releases the credits.
 */
function isAsked({ cancellationDetails: details, info }: Context): boolean {
  if (info.isLocal) return false;
  if (details === undefined || details.cancelRequested) return true;
  return !(details.notFound || details.timedOut || details.paused || details.reset || details.workerShutdown);
}

async function runToEnd(
  deps: PythonDeps,
  { executionId, accountId }: Run,
  { stop, draining }: { stop: AbortSignal; draining: AbortSignal },
  claimed?: Claimed,
): Promise<PythonProgress> {
  const { db, hostId, processId } = deps;
  const owner = accountId ?? (await findExecution(db, executionId))?.accountId ?? UNKNOWN_ACCOUNT;
  const ids = { executionId, accountId: owner, hostId, processId };
  const end = claimed === undefined ? deps.spool?.findEnd(executionId) : undefined;
  if (end !== undefined) await recordLeftEnd(deps, executionId, end);
  for (let first = claimed; ; first = undefined) {
    const waiting = AbortSignal.any([stop, draining]);
    const wanted = Object.assign({ leaseSeconds: LEASE_SECONDS, lostMax: LOST_MAX }, ids);
    // Without a wait where nothing lacks: who asks next is to see that it stands in the queue.
    const elsewhere =
      first === undefined && deps.passOn?.isWanted() === true
        ? await waitElsewhere({ db, passOn: deps.passOn }, wanted, waiting)
        : undefined;
    const claim = first ?? elsewhere ?? (await claimWithSlot(deps, wanted, waiting));
    if (claim.kind !== "claimed") {
      if (claim.kind === "ended") return toProgress(claim);
      if (claim.kind === "waiting") return claim;
      if (claim.kind !== "claimable") throw toFailure(executionId, claim);
      if (waiting.reason === "cancelled") throw cancelledFailure(executionId);
      if (waiting.aborted) throw stoppingError();
      continue;
    }
    const ended = await runAttempt(deps, claim, stop);
    // The usual end, a first attempt that needs no other, is known without asking the database again.
    if (ended !== undefined && isOnly(claim.work, ended.outcome))
      return toProgress({ outcome: ended.outcome, hostId }, ended.finished);
  }
}

function toProgress(
  { outcome, hostId }: Pick<Extract<ClaimOutcome, { kind: "ended" }>, "outcome" | "hostId">,
  finished = false,
): PythonProgress {
  const { status, secondsUsed } = outcome;
  const ended = { kind: "ended" as const, status, secondsUsed, hostQueue: hostQueue(hostId) };
  return finished ? Object.assign(ended, { finished }) : ended;
}

/** Why no attempt can be opened any more, in Temporal's words. */
function toFailure(
  executionId: ExecutionId,
  claim: Exclude<Claimable, { kind: "ended" | "claimable" | "waiting" }>,
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
