import type { PythonControl } from "../../activities/index.ts";
import type { Db } from "../../db/connect.ts";
import { CANCEL_REQUESTED, findStartable, isBetweenAttempts } from "../../db/executions/executions.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import type { Slots } from "../../system/slots.ts";
import { mayWait } from "../http/admission/waiting-calls.ts";
import type { Executions } from "../http/deps.ts";
import type { Log } from "../log.ts";
import type { TemporalClient } from "../temporal/client.ts";
import type { HeadStart } from "./head-start.ts";
import type { Listener, Subscription } from "./listener.ts";

/** With this many programs waiting for a slot of this host no call is accepted; one account may hold most of them, not all. */
const QUEUE_PER_SLOT = 50;
const RETRY_AFTER_SECONDS = 5;
/** A full disk is not emptied within seconds. */
const DISK_RETRY_AFTER_SECONDS = 30;

/** How many programs can run and how many executions wait for that. */
export interface ProgramPlaces {
  /** Undefined: not known. */
  slots(): number | undefined;
  /** Of one account, or of all. */
  waiting(accountId?: AccountId): number;
}

/** Executions as the HTTP room sees them: start, wait, cancel, and whether this host has room for another program. */
export function createExecutions(deps: {
  db: Db;
  temporalClient: TemporalClient;
  listener: Listener;
  /** Absent in a process that takes no calls. */
  headStart: HeadStart | undefined;
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
    beginsAtOnce: (commit) => deps.headStart?.isOpen(commit) === true,
    lead: (execution) => deps.headStart?.lead(execution),
    begin: (execution, commit, begun) => deps.headStart?.begin(execution, commit, begun),
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
