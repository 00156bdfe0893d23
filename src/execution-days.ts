import type { Db } from "../db/connect.ts";
import { countExecutionDays } from "../db/execution-days.ts";
import type { Log } from "./log.ts";

const INTERVAL_MS = 300_000;

/** Counts ended executions by day, at once and every five minutes, so that figures of a month need not look at each. Nobody waits for it. */
export function startCountingDays({ db, log }: { db: Db; log: Log }): { close(): Promise<void> } {
  let stopping = false;
  let running: Promise<void> | undefined;
  const count = async (): Promise<void> => {
    while (!stopping && (await countExecutionDays(db)));
  };
  const run = (): void => {
    running ??= count()
      .catch((error: unknown) => {
        if (!stopping) log.warn({ event: "fault", error }, "Ended executions could not be counted; tried again soon.");
      })
      .finally(() => {
        running = undefined;
      });
  };
  run();
  const timer = setInterval(run, INTERVAL_MS).unref();
  return {
    async close() {
      stopping = true;
      clearInterval(timer);
      await running;
    },
  };
}
