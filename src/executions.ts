import type { PythonControl } from "../activities/index.ts";
import type { Slots } from "../activities/slots.ts";
import { CANCEL_REQUESTED } from "../db/executions.ts";
import type { ExecutionId } from "../domain/ids.ts";
import type { Executions } from "./http/deps.ts";
import type { Driver } from "./temporal.ts";
import type { Waiters } from "./waiters.ts";

/** After this many programs wait for a place on this host, callers are told to come again. */
const QUEUE_PER_SLOT = 50;
const RETRY_AFTER_SECONDS = 5;

/** Executions as the HTTP room sees them: start, wait, cancel, and whether there is room for another call. */
export function createExecutions(deps: {
  driver: Driver;
  waiters: Waiters;
  /** The programs of this process; absent in a process that only answers HTTP. */
  python: Pick<PythonControl, "stop"> | undefined;
  slots: Slots;
  slotCount: number;
  waitingCallsMax: number;
}): Executions {
  return {
    async start(input) {
      await deps.driver.start(input);
    },
    waitForEnd: (executionId, timeoutMs) => deps.waiters.wait(executionId, timeoutMs),
    async cancel(executionId) {
      // The program of this process is stopped at once; one elsewhere by the notification that came with the record.
      deps.python?.stop(executionId, "cancelled");
    },
    capacity() {
      const accepting =
        deps.waiters.count() < deps.waitingCallsMax && deps.slots.waiting() < deps.slotCount * QUEUE_PER_SLOT;
      return { accepting, retryAfterSeconds: RETRY_AFTER_SECONDS };
    },
  };
}

/** What a process does when it hears that an execution is to be cancelled. */
export function cancelNotice(python: Pick<PythonControl, "stop"> | undefined): {
  channel: string;
  receive: (payload: string) => void;
} {
  return { channel: CANCEL_REQUESTED, receive: (id) => void python?.stop(id as ExecutionId, "cancelled") };
}
