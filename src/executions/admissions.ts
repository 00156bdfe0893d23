import type { Db } from "../../db/connect.ts";
import { admitExecutions, EXECUTION_ADMITTED, listWaitingWorkflows } from "../../db/executions/admissions.ts";
import type { Subscription } from "../../db/subscription.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { type Repeating, repeat } from "../../system/repeating.ts";
import type { Log } from "../log.ts";
import type { TemporalClient } from "../temporal/client.ts";
import { startFromRecord } from "./executions.ts";

/** How often the record is polled for executions whose turn has come: a commit may allow more than the one before. */
const POLL_MS = 10_000;
const STARTERS_MAX = 8;

/**
 * Starts executions whose turn has come. The statement that ends another one admits them. Every process that gets the
 * notification starts it, because to start one twice changes nothing. The sweeper starts what no process was notified
 * of.
 */
export function createAdmissions(deps: { db: Db; log: Log }) {
  let temporalClient: TemporalClient | undefined;
  let polling: Repeating | undefined;

  const announced: ExecutionId[] = [];
  let starters = 0;

  function enqueue(executionId: ExecutionId): void {
    if (temporalClient === undefined) return;
    announced.push(executionId);
    if (starters < STARTERS_MAX) void startAnnounced();
  }

  /** One after the other: a commit that lifts a bound may let in thousands. */
  async function startAnnounced(): Promise<void> {
    starters += 1;
    for (let id = announced.shift(); id !== undefined && temporalClient !== undefined; id = announced.shift())
      await start(temporalClient, id);
    starters -= 1;
  }

  async function start(opened: TemporalClient, executionId: ExecutionId): Promise<void> {
    await startFromRecord({ db: deps.db, temporalClient: opened }, executionId).catch((error: unknown) =>
      deps.log.warn({ event: "execution.fault", executionId, error }, "A waiting execution could not be started yet."),
    );
  }

  async function poll(signal: AbortSignal): Promise<void> {
    for (const workflowId of await listWaitingWorkflows(deps.db)) {
      if (signal.aborted) return;
      await admitExecutions(deps.db, workflowId);
    }
  }

  const subscription: Subscription = { channel: EXECUTION_ADMITTED, onNotify: (id) => enqueue(id as ExecutionId) };
  return {
    subscription,
    /** Until then announcements are left to others, and to the sweeper. */
    open(opened: TemporalClient): void {
      temporalClient = opened;
      polling = repeat(poll, {
        everyMs: POLL_MS,
        onError: (error) => deps.log.warn({ event: "fault", error }, "Looking for waiting executions failed."),
      });
    },
    async close(): Promise<void> {
      temporalClient = undefined;
      await polling?.close();
    },
  };
}

export type Admissions = ReturnType<typeof createAdmissions>;
