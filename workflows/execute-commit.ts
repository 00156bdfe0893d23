import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  defineSignal,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  sleep,
  workflowInfo,
} from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import {
  CANCEL_SIGNAL,
  type ExecutionInput,
  type ExecutionSummary,
  LAST_STEPS,
  type LastStep,
  type PythonProgress,
} from "../domain/execution.ts";
import type { ExecutionId } from "../domain/ids.ts";

/** A program that ends within this time costs one workflow task; a longer one is joined by a regular activity. */
const BRIEF_SECONDS = 3;
/** What a worker needs around the program: code and environment on disk, inputs, collecting outputs. */
const PREPARATION_SECONDS = 660;

const DECIDED: ReadonlySet<string> = new Set(["insufficient_credits", "internal", "cancelled", "unable"]);

// Short statements of our own database. As local activities they ride in the workflow task that is open anyway.
const ledger = proxyLocalActivities<Activities>({
  startToCloseTimeout: "5 seconds",
  scheduleToCloseTimeout: "60 seconds",
  retry: { initialInterval: "100 milliseconds", maximumInterval: "2 seconds" },
});
// The same after a minute without the database: retried until it is back, and visible in the UI meanwhile.
const patientLedger = proxyActivities<Activities>({
  startToCloseTimeout: "10 seconds",
  retry: { initialInterval: "1 second", maximumInterval: "30 seconds" },
});

/**
 * One execution, from hold to charge. The reservation always ends settled or released. The release is armed before the
 * reserve: a reserve whose answer was lost may hold credits all the same.
 */
export async function executeCommit(input: ExecutionInput): Promise<ExecutionSummary> {
  const executionId = workflowInfo().workflowId as ExecutionId;
  // The process that accepted it has carried it out, and the record has it: there is nothing left to drive.
  if (input.story !== undefined) return { executionId, status: input.story.status, story: input.story };
  // Left out where it is unknown: workflows that began before it was an input go on as they were.
  const holder = { executionId, ...(input.accountId === undefined ? {} : { accountId: input.accountId }) };
  try {
    await reserve(holder);
    const run = await runPython(holder, input);
    // From here on the program has run: nothing may keep its result from being kept and charged.
    // Usually the process that ran it has taken the last steps already (`activities/finishing.ts`).
    if (run.finished !== true)
      await CancellationScope.nonCancellable(async () => {
        for (const step of LAST_STEPS) await lastSteps[step](executionId, run);
      });
    return { executionId, status: run.status };
  } catch (error) {
    const cause = causeOf(error);
    const ending = cause === "unable" ? { cause, reason: messageOf(error) } : { cause };
    await CancellationScope.nonCancellable(() => release(holder, ending));
    if (cause === "cancelled") return { executionId, status: "cancelled" };
    throw error;
  }
}

/** An execution, and the account whose credits it uses. */
type Holder = Parameters<Activities["reserveCredits"]>[0];

async function reserve(holder: Holder): Promise<void> {
  try {
    await ledger.reserveCredits(holder);
  } catch (error) {
    if (isDecided(error)) throw error;
    await patientLedger.reserveCredits(holder);
  }
}

type EndedPython = Extract<PythonProgress, { kind: "ended" }>;

const cancelSignal = defineSignal(CANCEL_SIGNAL);

/** Tries the program as often as it takes. Between two attempts there is a timer and nothing else: no slot, no process. */
async function runPython(holder: Holder, input: ExecutionInput): Promise<EndedPython> {
  let wake = (): void => undefined;
  for (;;) {
    // Before the call: a request that comes during it may have come too late for it.
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const progress = await tryPython(holder, input);
    if (progress.kind === "ended") return progress;
    // The record says by then that it is cancelled, and the next call finds that.
    setHandler(cancelSignal, () => wake());
    // `condition` with a time-out would cancel the whole workflow at its end: the threads track no promises
    // (`src/patches/workflow-threads.ts`).
    await Promise.race([sleep(Math.max(1, Math.ceil(progress.seconds * 1000))), woken]);
  }
}

async function tryPython(holder: Holder, input: ExecutionInput): Promise<Exclude<PythonProgress, { kind: "running" }>> {
  const brief = proxyLocalActivities<Activities>({
    startToCloseTimeout: "8 seconds",
    retry: { maximumAttempts: 2, initialInterval: "100 milliseconds" },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  });
  // Without a task queue of its own it stays on the workflow's, which is what lets the server dispatch it eagerly.
  const joining = proxyActivities<Activities>({
    startToCloseTimeout: (input.timeoutSeconds + PREPARATION_SECONDS) * 1000,
    heartbeatTimeout: "10 seconds",
    // Without a bound of its own: the record counts attempts, and a call that a stopping process hands over is none.
    retry: { initialInterval: "1 second", maximumInterval: "10 seconds" },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  });
  let progress: PythonProgress;
  try {
    progress = await brief.executePython({ ...holder, waitSeconds: BRIEF_SECONDS });
  } catch (error) {
    if (isDecided(error) || isCancellation(error)) throw error;
    progress = { kind: "running" };
  }
  if (progress.kind === "running") progress = await joining.executePython(holder);
  if (progress.kind === "running")
    throw ApplicationFailure.nonRetryable("executePython ended without an outcome", "internal");
  return progress;
}

const lastSteps: Readonly<Record<LastStep, (executionId: ExecutionId, run: EndedPython) => Promise<void>>> = {
  uploadOutputs: upload,
  settleCredits: settle,
};

async function upload(executionId: ExecutionId, { hostQueue }: EndedPython): Promise<void> {
  const here = proxyLocalActivities<Activities>({
    startToCloseTimeout: "6 seconds",
    retry: { maximumAttempts: 2, initialInterval: "100 milliseconds" },
  });
  try {
    const progress = await here.uploadOutputs({ executionId, brief: true });
    if (progress.kind === "uploaded") return;
  } catch (error) {
    if (isDecided(error)) throw error;
  }
  // The outputs wait in the spool of the host that made them: a storage outage never runs the program again.
  const onHost = proxyActivities<Activities>({
    taskQueue: hostQueue,
    startToCloseTimeout: "10 minutes",
    heartbeatTimeout: "30 seconds",
    scheduleToCloseTimeout: "24 hours",
    retry: { initialInterval: "1 second", maximumInterval: "1 minute" },
  });
  await onHost.uploadOutputs({ executionId, brief: false });
}

async function settle(executionId: ExecutionId, run: EndedPython): Promise<void> {
  const bill = { executionId, status: run.status, secondsUsed: run.secondsUsed };
  try {
    await ledger.settleCredits(bill);
  } catch {
    await patientLedger.settleCredits(bill);
  }
}

type ReleaseCause = "cancelled" | "insufficient_credits" | "unable" | "internal";

type Ending = Omit<Parameters<Activities["releaseCredits"]>[0], keyof Holder>;

async function release(holder: Holder, ending: Ending): Promise<void> {
  try {
    await ledger.releaseCredits({ ...holder, ...ending });
  } catch {
    await patientLedger.releaseCredits({ ...holder, ...ending });
  }
}

function causeOf(error: unknown): ReleaseCause {
  if (isCancellation(error) || failureType(error) === "cancelled") return "cancelled";
  const type = failureType(error);
  return type === "insufficient_credits" || type === "unable" ? type : "internal";
}

function messageOf(error: unknown): string {
  const { message } = (error instanceof ActivityFailure ? error.cause : error) as Error;
  return message;
}

/**
 * A refusal or a finding that trying again cannot change: the types our activities give their failures.
 * (A local activity's failure does not tell whether it was non-retryable.)
 */
function isDecided(error: unknown): boolean {
  return DECIDED.has(failureType(error) ?? "");
}

function failureType(error: unknown): string | null | undefined {
  if (error instanceof ApplicationFailure) return error.type;
  return error instanceof ActivityFailure && error.cause instanceof ApplicationFailure ? error.cause.type : undefined;
}
