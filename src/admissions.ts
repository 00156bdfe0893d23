import { admitExecutions, EXECUTION_ADMITTED, listWaitingWorkflows } from "../db/admissions.ts";
import type { Db } from "../db/connect.ts";
import type { ExecutionId } from "../domain/ids.ts";
import { startFromRecord } from "./executions.ts";
import type { Log } from "./log.ts";
import type { Driver } from "./temporal.ts";
import type { Notice } from "./waiters.ts";

/** How often the record is asked whether somebody's turn has come: a commit may allow more than the one before. */
const LOOK_MS = 10_000;
const STARTERS_MAX = 8;

/**
 * Starts executions whose turn has come. Letting them in is the record's own doing, in the statement that ends another
 * one; every process that hears of it starts it, because to start one twice changes nothing. What nobody heard, the
 * sweeper starts.
 */
export function createAdmissions(deps: { db: Db; log: Log }) {
  let driver: Driver | undefined;
  let timer: NodeJS.Timeout | undefined;

  const announced: ExecutionId[] = [];
  let starters = 0;

  function hear(executionId: ExecutionId): void {
    if (driver === undefined) return;
    announced.push(executionId);
    if (starters < STARTERS_MAX) void startAnnounced();
  }

  /** One after the other: a commit that lifts a bound may let in thousands. */
  async function startAnnounced(): Promise<void> {
    starters += 1;
    for (let id = announced.shift(); id !== undefined && driver !== undefined; id = announced.shift())
      await start(driver, id);
    starters -= 1;
  }

  async function start(opened: Driver, executionId: ExecutionId): Promise<void> {
    await startFromRecord({ db: deps.db, driver: opened }, executionId).catch((error: unknown) =>
      deps.log.warn({ event: "execution.fault", executionId, error }, "A waiting execution could not be started yet."),
    );
  }

  async function look(): Promise<void> {
    for (const workflowId of await listWaitingWorkflows(deps.db)) await admitExecutions(deps.db, workflowId);
  }

  function lookLater(delayMs: number): void {
    timer = setTimeout(() => {
      look()
        .catch((error: unknown) => deps.log.warn({ event: "fault", error }, "Looking for waiting executions failed."))
        .finally(() => timer !== undefined && lookLater(LOOK_MS));
    }, delayMs).unref();
  }

  const notice: Notice = { channel: EXECUTION_ADMITTED, receive: (id) => hear(id as ExecutionId) };
  return {
    notice,
    /** Until then announcements are left to others, and to the sweeper. */
    open(opened: Driver): void {
      driver = opened;
      lookLater(0);
    },
    close(): void {
      clearTimeout(timer);
      timer = undefined;
      driver = undefined;
    },
  };
}

export type Admissions = ReturnType<typeof createAdmissions>;
