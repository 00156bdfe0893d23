import type { PythonControl } from "../activities/index.ts";
import type { Slots } from "../activities/slots.ts";
import type { Db } from "../db/connect.ts";
import { CANCEL_REQUESTED, findStartable } from "../db/executions.ts";
import type { ExecutionId } from "../domain/ids.ts";
import type { Executions } from "./http/deps.ts";
import { mayWait } from "./http/waiting-calls.ts";
import type { Driver } from "./temporal.ts";
import type { Notice, Waiters } from "./waiters.ts";

/** With this many programs waiting for a slot of this host no call is accepted; one account may hold most of them, not all. */
const QUEUE_PER_SLOT = 50;
const RETRY_AFTER_SECONDS = 5;
/** A full disk is not emptied within seconds. */
const DISK_RETRY_AFTER_SECONDS = 30;

/** Executions as the HTTP room sees them: start, wait, cancel, and whether this host has room for another program. */
export function createExecutions(deps: {
  db: Db;
  driver: Driver;
  waiters: Waiters;
  /** The programs of this process; absent in a process that only answers HTTP. */
  python: Pick<PythonControl, "stop"> | undefined;
  slots: Slots;
  slotCount: number;
  /** Why not even one program could begin for want of disk; undefined when one could. */
  diskProblem: () => string | undefined;
  /** Why no program of a commit can begin on this host; undefined when it can, and where this process runs none. */
  hostProblem: NonNullable<Executions["hostProblem"]>;
}): Executions {
  return {
    async start(input) {
      await deps.driver.start(input);
    },
    startAgain: (executionId) => startFromRecord(deps, executionId),
    waitForEnd: (executionId, timeoutMs, gone) => deps.waiters.wait(executionId, timeoutMs, gone),
    async cancel(executionId) {
      // The program of this process is stopped at once; one elsewhere by the notification that came with the record.
      deps.python?.stop(executionId, "cancelled");
    },
    capacity(accountId) {
      const reason = deps.diskProblem();
      if (reason !== undefined) return { accepting: false, reason, retryAfterSeconds: DISK_RETRY_AFTER_SECONDS };
      const [own, total] = [deps.slots.waiting(accountId), deps.slots.waiting()];
      return {
        accepting: mayWait({ own, total, max: deps.slotCount * QUEUE_PER_SLOT }),
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      };
    },
    hostProblem: deps.hostProblem,
    placeOf: deps.slots.placeOf,
  };
}

/** Starts an execution from its record, unless it has ended or waits for its turn. To start it twice changes nothing. */
export async function startFromRecord(deps: { db: Db; driver: Driver }, executionId: ExecutionId): Promise<void> {
  const execution = await findStartable(deps.db, executionId);
  if (execution !== undefined) await deps.driver.start({ ...execution, executionId });
}

/** What a process does when it hears that an execution is to be cancelled. */
export function cancelNotice(python: Pick<PythonControl, "stop"> | undefined): Notice {
  return { channel: CANCEL_REQUESTED, receive: (id) => void python?.stop(id as ExecutionId, "cancelled") };
}
