import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { type Db, sqlState } from "../connect.ts";
import { createBatches } from "./batches.ts";
import { type Release, type ReserveOutcome, releaseAll, reserveAll, type Settlement, settleAll } from "./credits.ts";

/** More callers than this in one statement make the last of them wait longer than a second statement would. */
const BATCH_MAX = 256;

/**
 * The money of this process. Callers that move credits of one account at the same time share a statement: they would
 * wait for each other at the account's row anyway. Every call may be repeated, together with itself too: an execution
 * is reserved once and ended once. An error reaches everybody who shared the statement, and nothing of it was done.
 */
export function createLedger(db: Db) {
  const options = { batchMax: BATCH_MAX, isOfOneItem };
  const reserve = createBatches<ExecutionId, ReserveOutcome>({ send: (ids) => reserveAll(db, ids), ...options });
  const settle = createBatches<Settlement, boolean>({ send: (each) => settleAll(db, each), ...options });
  const release = createBatches<Release, boolean>({ send: (each) => releaseAll(db, each), ...options });
  /** Without an account nobody else comes along. */
  const laneOf = (input: { accountId?: AccountId | undefined; executionId: ExecutionId }): string =>
    input.accountId ?? input.executionId;
  return {
    /** A caller that gives up (`signal`) may hold credits all the same, like one whose answer was lost: release them. */
    reserve: (
      input: { executionId: ExecutionId; accountId?: AccountId | undefined },
      signal?: AbortSignal,
    ): Promise<ReserveOutcome> => reserve(laneOf(input), input.executionId, signal),
    settle: (input: Settlement & { accountId?: AccountId | undefined }): Promise<boolean> =>
      settle(laneOf(input), input),
    release: (input: Release & { accountId?: AccountId | undefined }): Promise<boolean> =>
      release(laneOf(input), input),
  };
}

export type Ledger = ReturnType<typeof createLedger>;

/** Data that the tables refuse (classes 22 and 23 of SQLSTATE): the account's other executions are not to blame. */
function isOfOneItem(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? "");
}
