import type { PythonControl } from "../../activities/index.ts";
import type { Begun, Lead, LedExecution, RunCommit } from "../../activities/lead.ts";
import type { Db } from "../../db/connect.ts";
import { CANCEL_REQUESTED, findStartable, isBetweenAttempts } from "../../db/executions/executions.ts";
import type { Subscription } from "../../db/subscription.ts";
import type { ExecutionResult, Trigger } from "../../domain/execution.ts";
import type { AccountId, CommitId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { Slots } from "../../system/slots.ts";
import type { Log } from "../log.ts";
import type { TemporalClient } from "../temporal/client.ts";
import type { HeadStart } from "./head-start.ts";
import type { Listener } from "./listener.ts";
import { mayWait } from "./waiting-calls.ts";

/** With this many programs waiting for a slot of this host no call is accepted; one account may hold most of them, not all. */
const QUEUE_PER_SLOT = 50;
const RETRY_AFTER_SECONDS = 5;
/** A full disk is not emptied within seconds. */
const DISK_RETRY_AFTER_SECONDS = 30;

/** Executions for those who accept calls: start, wait, cancel, and whether there is room for another program. */
export interface Executions {
  /** Whether the next execution of a commit begins before Temporal knows of it, here or on a worker. It is recorded with `headStart` then. */
  beginsAtOnce(commit: RunCommit): boolean;
  /** Takes a slot for an execution that is about to be recorded with `claim`; undefined when none is free now. */
  lead(execution: LedExecution): Lead | undefined;
  /** Chooses the host that an execution is recorded with as `offeredTo`; undefined when it is not to be offered so. */
  chooseHost(commit: RunCommit): string | undefined;
  /**
   * Begins an execution that was recorded with `headStart`. Never throws: what goes wrong is left to its workflow. `begun`: it was
   * recorded with the claim of a lead, or with `offeredTo`.
   */
  begin(execution: LedExecution, commit: RunCommit, begun?: Begun | "offered"): void;
  /** Starts a recorded execution. When it throws, it is unknown whether the execution was started. */
  start(input: {
    readonly executionId: ExecutionId;
    readonly workflowId: WorkflowId;
    readonly commitId: CommitId;
    readonly accountId: AccountId;
    readonly trigger: Trigger;
    readonly timeoutSeconds: number;
    readonly attemptsMax: number;
    readonly workflowName: string;
  }): Promise<void>;
  /** Starts one from the record, unless it has ended, waits for its turn, or was started before. */
  startAgain(executionId: ExecutionId): Promise<void>;
  /**
   * The result when the execution ended within the time, or true where only the record has it. False when the time was
   * over, or the caller gone, first. May be asked before the execution is started.
   */
  waitForEnd(executionId: ExecutionId, timeoutMs: number, gone?: AbortSignal): Promise<ExecutionResult | boolean>;
  /** Stops the program; `by` says who asked, for the record. */
  cancel(executionId: ExecutionId, by: string): Promise<void>;
  /** The execution's place among those that wait for a slot of this process, 1 for the next; undefined when it does not. */
  placeOf(executionId: ExecutionId): number | undefined;
  /** Why no program of a commit can begin where programs are run, as far as this process knows; undefined when it can. */
  hostProblem?: (commit: RunCommit) => string | undefined;
  /**
   * Returns whether one more program of the account may wait here. `reason` says why not, unless too many wait already.
   */
  capacity(accountId: AccountId): {
    readonly accepting: boolean;
    readonly reason?: string;
    readonly retryAfterSeconds: number;
  };
}

/** How many programs can run and how many executions wait for that. */
export interface ProgramPlaces {
  /** Undefined: not known. */
  slots(): number | undefined;
  /** Of one account, or of all. */
  waiting(accountId?: AccountId): number;
}

/** Executions of this process and of the hosts that it knows. */
export function createExecutions(deps: {
  db: Db;
  temporalClient: TemporalClient;
  listener: Listener;
  headStart: HeadStart;
  /** The programs of this process; absent in a process that only answers HTTP. */
  python: Pick<PythonControl, "stop"> | undefined;
  slots: Slots;
  /** The places of this host, or of all workers in a process that runs no programs itself. */
  places: ProgramPlaces;
  /** Why not even one program could begin for want of disk; undefined when one could. */
  diskProblem: () => string | undefined;
  /** Why no program of a commit can begin on this host; undefined when it can, and where this process runs none. */
  hostProblem: NonNullable<Executions["hostProblem"]>;
  /** Ends a cancelled execution whose outputs wait on a host that is not there. */
  endStranded: (executionId: ExecutionId) => Promise<void>;
}): Executions {
  return {
    beginsAtOnce: (commit) => deps.headStart.isOpen(commit),
    lead: (execution) => deps.headStart.lead(execution),
    chooseHost: (commit) => deps.headStart.chooseHost(commit),
    begin: (execution, commit, begun) => void deps.headStart.begin(execution, commit, begun),
    async start(input) {
      await deps.temporalClient.start(input);
    },
    startAgain: (executionId) => startFromRecord(deps, executionId),
    waitForEnd: (executionId, timeoutMs, gone) => deps.listener.wait(executionId, timeoutMs, gone),
    async cancel(executionId) {
      // The program of this process is stopped at once; one elsewhere by the notification that came with the record.
      deps.python?.stop(executionId, "cancelled");
      await deps.endStranded(executionId);
    },
    capacity(accountId) {
      const reason = deps.diskProblem();
      if (reason !== undefined) return { accepting: false, reason, retryAfterSeconds: DISK_RETRY_AFTER_SECONDS };
      const { waiting, slots } = deps.places;
      const max = slots();
      const accepting =
        max === undefined || mayWait({ own: waiting(accountId), total: waiting(), max: max * QUEUE_PER_SLOT });
      return {
        accepting,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      };
    },
    hostProblem: deps.hostProblem,
    placeOf: deps.slots.placeOf,
  };
}

/** Starts an execution from its record, unless it has ended or waits for its turn. To start it twice changes nothing. */
export async function startFromRecord(
  deps: { db: Db; temporalClient: TemporalClient },
  executionId: ExecutionId,
): Promise<void> {
  const execution = await findStartable(deps.db, executionId);
  if (execution !== undefined) await deps.temporalClient.start({ ...execution, executionId });
}

/** What a process does when it is notified that an execution is to be cancelled: it stops its program, or ends its wait. */
export function subscribeToCancels(deps: {
  readonly db: Db;
  readonly stop: PythonControl["stop"];
  readonly wake: TemporalClient["wake"];
  readonly log: Log;
}): Subscription {
  const { db, stop, wake, log } = deps;
  return {
    channel: CANCEL_REQUESTED,
    onNotify(payload) {
      const executionId = payload as ExecutionId;
      stop(executionId, "cancelled");
      const ending = isBetweenAttempts(db, executionId).then((is) => (is ? wake(executionId) : undefined));
      ending.catch((error: unknown) =>
        log.warn({ event: "execution.fault", executionId, error }, "A cancelled execution could not be woken."),
      );
    },
  };
}
