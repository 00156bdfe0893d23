import type { Db } from "../db/connect.ts";
import { forgetKeys } from "../db/idempotency.ts";
import { deleteFullBuckets } from "../db/rates.ts";
import type { Log } from "./log.ts";

const INTERVAL_MS = 3_600_000;
/** Rows a statement takes: few enough to hold no lock for long. */
const BATCH = 1_000;

export interface RetentionDeps {
  readonly db: Db;
  readonly idempotencyDays: number;
  readonly log: Log;
}

/** Forgets what is kept only for a time, at once and every hour; see `forgetOld`. */
export function startRetention(deps: RetentionDeps): { close(): void } {
  const run = (): void => {
    forgetOld(deps).catch((error: unknown) =>
      deps.log.warn({ event: "fault", error }, "Old records could not be removed."),
    );
  };
  run();
  const timer = setInterval(run, INTERVAL_MS).unref();
  return { close: () => clearInterval(timer) };
}

/** Idempotency keys older than the days they are kept, and rate limits that nobody has used for an hour. */
export async function forgetOld({ db, idempotencyDays }: Omit<RetentionDeps, "log">): Promise<void> {
  while ((await forgetKeys(db, { days: idempotencyDays, limit: BATCH })) === BATCH);
  while ((await deleteFullBuckets(db, BATCH)) === BATCH);
}
