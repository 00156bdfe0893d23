import type { Db } from "../../db/connect.ts";
import { countExecutionDays } from "../../db/executions/days.ts";
import { type Repeating, repeat } from "../../system/repeating.ts";
import type { Log } from "../log.ts";

const EVERY_MS = 300_000;

/** Counts ended executions by day, at once and every five minutes, so that figures of a month need not look at each. */
export function startCountingDays({ db, log }: { db: Db; log: Log }): Repeating {
  return repeat(() => countExecutionDays(db), {
    everyMs: EVERY_MS,
    onError: (error) => log.warn({ event: "fault", error }, "Ended executions could not be counted; tried again soon."),
  });
}
