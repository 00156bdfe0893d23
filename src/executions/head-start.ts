import type { Begun, Lead, LedExecution, RunCommit } from "../../activities/lead.ts";
import type { Db } from "../../db/connect.ts";
import { findStartable } from "../../db/executions/executions.ts";
import {
  type DueStart,
  deleteWorkflowStarts,
  findStartBacklog,
  listDueStarts,
  type StartBacklog,
} from "../../db/executions/workflow-starts.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { forEachAtOnce } from "../../system/at-once.ts";
import { repeat } from "../../system/repeating.ts";
import { withTimeout } from "../../system/with-timeout.ts";
import type { Log } from "../log.ts";
import type { TemporalClient } from "../temporal/client.ts";
import type { Executor } from "./executor.ts";
import { createStartPace } from "./start-pace.ts";

/** An execution that takes longer than this is driven by its workflow from then on. */
const JOIN_SECONDS = 1;
/** What another process began is left to it for so long: it is telling Temporal most likely. */
const OTHERS_SECONDS = 20;
/** How often Temporal learns of what has ended, while something has. Several starts made together cost callers less. */
const START_MS = 250;
/** How often it is looked for what other processes left, in milliseconds. */
const OTHERS_MS = 10_000;
const BATCH = 100;
/** A start that takes longer counts as refused, so that the backlog is counted while Temporal stands still. */
const START_MS_MAX = 5_000;
/** After a refusal Temporal is left alone for so long: it is away, or has too much to do. */
const PAUSE_MS = 2_000;
const CLOSE_MS = 500;

const isLate = (): Promise<never> =>
  Promise.reject(new Error(`Temporal did not answer within ${START_MS_MAX / 1000} s.`));

export interface HeadStartDeps {
  readonly db: Db;
  readonly temporalClient: Pick<TemporalClient, "start">;
  readonly executor: Executor;
  readonly processId: string;
  /** So many starts may lag, and for so long in seconds, before executions wait for Temporal again. */
  readonly lagMax: { readonly count: number; readonly seconds: number };
  readonly log: Log;
}

export interface HeadStart {
  /** Whether the next execution of a commit may begin before Temporal knows of it. */
  isOpen(commit: RunCommit): boolean;
  /** Whether an execution of a commit would begin now, before Temporal knows of it. */
  beginsAtOnce(execution: LedExecution, commit: RunCommit): boolean;
  /** Takes a slot for an execution that is about to be recorded with it; undefined when none is free now. */
  lead(execution: LedExecution): Lead | undefined;
  /** Chooses the host that an execution is offered to as it is recorded; undefined when it is not to be offered so. */
  chooseHost(commit: RunCommit): string | undefined;
  /**
   * Carries out an execution that was recorded with `headStart`. Resolves when it has ended, or is left to its workflow; never
   * rejects. `begun`: its first attempt is open, or it was offered as it was recorded.
   */
  begin(execution: LedExecution, commit: RunCommit, begun?: Begun | "offered"): Promise<void>;
  /** The starts that Temporal has yet to learn of, as last counted. */
  backlog(): StartBacklog;
  /** Waits half a second for starts under way: the row of one that hangs is there for the next process. */
  close(): Promise<void>;
}

/**
 * Begins executions in the process that accepted them, or on a worker, before Temporal knows of them. Temporal learns of each one later,
 * from a row that was committed with the acceptance. One that ended within a second is started with its story. Any other
 * is started so that its workflow drives it. Starting twice changes nothing, so rows outlive crashes and races.
 */
export function createHeadStart(deps: HeadStartDeps): HeadStart {
  const { db, executor, processId, lagMax, log } = deps;
  let backlog: StartBacklog = { count: 0, ageSeconds: 0 };
  /** Whether there may be rows of this process. */
  let hasBegun = false;
  let lookedForOthersAt = Number.NEGATIVE_INFINITY;
  /** The first look takes all there is: what an earlier process of this host left must not wait. */
  let othersSeconds = 0;
  let pausedUntil = 0;
  const pace = createStartPace(lagMax, { everyMs: START_MS, batch: BATCH });

  async function start(due: DueStart): Promise<ExecutionId> {
    const { story, id: executionId, ...execution } = due;
    await deps.temporalClient.start({ ...execution, executionId, ...(story === null ? {} : { story }) });
    return executionId;
  }

  /** When it fails, the row is there for the next round. */
  async function startNow(executionId: ExecutionId): Promise<void> {
    try {
      const execution = await findStartable(db, executionId);
      if (execution === undefined) return;
      await deps.temporalClient.start({ ...execution, executionId });
      await deleteWorkflowStarts(db, [executionId]);
    } catch (error) {
      log.warn({ event: "execution.fault", executionId, error }, "An execution could not be left to its workflow yet.");
    }
  }

  async function startDue(signal: AbortSignal): Promise<boolean> {
    if (performance.now() < pausedUntil) return false;
    // A round that comes a little early counts.
    const isTurnOfOthers = performance.now() - lookedForOthersAt >= OTHERS_MS - START_MS;
    if (!hasBegun && !isTurnOfOthers) return false;
    if (!hasBegun) backlog = await findStartBacklog(db);
    if (!hasBegun && backlog.count === 0) {
      lookedForOthersAt = performance.now();
      othersSeconds = OTHERS_SECONDS;
      return false;
    }
    // Before the look: what is begun during it is looked for in the next one.
    hasBegun = false;
    const { endedMax, atOnce } = pace.choose(backlog);
    const times = { joinSeconds: JOIN_SECONDS, othersSeconds };
    const due = await listDueStarts(db, { processId, ...times, limit: BATCH, endedMax });
    const known: ExecutionId[] = [];
    const faults: unknown[] = [];
    await forEachAtOnce(due, atOnce, async (each) => {
      // Temporal is away: the rest would wait for it in vain.
      if (signal.aborted || faults.length >= atOnce) return;
      if (each.story !== null && pace.isInterrupted()) return;
      await withTimeout(start(each), START_MS_MAX, isLate).then(
        (id) => known.push(id),
        (error: unknown) => faults.push(error),
      );
    });
    await deleteWorkflowStarts(db, known);
    backlog = await findStartBacklog(db);
    hasBegun ||= backlog.count > 0;
    if (isTurnOfOthers) {
      lookedForOthersAt = performance.now();
      if (due.length < endedMax) othersSeconds = OTHERS_SECONDS;
    }
    if (faults.length > 0) pausedUntil = performance.now() + PAUSE_MS;
    if (faults.length > 0) throw new AggregateError(faults, `Temporal did not take ${faults.length} starts.`);
    return due.length === BATCH && !pace.isInterrupted();
  }

  // Soon only while there is something to tell: an idle process is not woken for it.
  const starting = repeat((signal) => startDue(signal).finally(() => hasBegun && starting.soon(START_MS)), {
    everyMs: OTHERS_MS,
    onError: (error) => log.warn({ event: "fault", error }, "Temporal could not be told of executions yet."),
  });
  const isOpen = (commit: RunCommit): boolean =>
    backlog.count < lagMax.count && backlog.ageSeconds < lagMax.seconds && executor.isOpen(commit);
  return {
    isOpen,
    beginsAtOnce: (execution, commit) => isOpen(commit) && executor.canBegin(execution, commit),
    lead: executor.lead,
    chooseHost: executor.chooseHost,
    async begin(execution, commit, begun) {
      hasBegun = true;
      starting.soon(START_MS);
      pace.noteBegun();
      if (begun === "offered") return;
      // Whatever goes wrong is left to the workflow: it does the steps that were not done, and knows what each error means.
      await executor.execute(execution, commit, begun).catch(() => startNow(execution.executionId));
    },
    backlog: () => backlog,
    close: () => withTimeout(starting.close(), CLOSE_MS, () => undefined),
  };
}
