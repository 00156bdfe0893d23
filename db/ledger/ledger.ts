import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { type Db, isDataError } from "../connect.ts";
import { type Ending, type Finish, finishAll } from "../executions/endings.ts";
import { createBatches } from "./batches.ts";
import { type Release, type ReserveOutcome, releaseAll, reserveAll, type Settlement, settleAll } from "./credits.ts";

/** More callers than this in one statement make the last of them wait longer than a second statement would. */
const BATCH_MAX = 256;
/** Ends bring their outputs along: 2 MiB together, where each has as much as may be small. */
const ENDINGS_MAX = 32;

/**
 * The money of this process. Callers that move credits of one account at the same time share a statement: they would
 * wait for each other at the account's row anyway. Every call may be repeated, together with itself too: an execution
 * is reserved once and ended once. An error reaches everybody who shared the statement, and nothing of it was done.
 */
export function createLedger(db: Db) {
  // Of data that the tables refuse, the account's other executions are not to blame.
  const options = { batchMax: BATCH_MAX, isOfOneItem: isDataError };
  const reserve = createBatches<ExecutionId, ReserveOutcome>({ send: (ids) => reserveAll(db, ids), ...options });
  const settle = createBatches<Settlement, boolean>({ send: (each) => settleAll(db, each), ...options });
  const release = createBatches<Release, boolean>({ send: (each) => releaseAll(db, each), ...options });
  const finish = createBatches<Ending, Finish>({
    send: (each) => finishAll(db, each),
    batchMax: ENDINGS_MAX,
    isOfOneItem: isDataError,
  });
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
    finish,
  };
}

export type Ledger = ReturnType<typeof createLedger>;
