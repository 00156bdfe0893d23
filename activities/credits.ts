import { ApplicationFailure } from "@temporalio/common";
import type { Db } from "../db/connect.ts";
import { findBilling, release, reserve, settle } from "../db/credits.ts";
import { chargeFor, microCredits, type Prices } from "../domain/credits.ts";
import type { ExecutionEnd } from "../domain/execution.ts";
import type { ExecutionId } from "../domain/ids.ts";

export interface CreditsDeps {
  readonly db: Db;
  readonly prices: Prices;
  /** Told after the end of an execution has been committed: wakes the caller that waits in this process. */
  readonly onEnded: (executionId: ExecutionId) => void;
}

const RELEASES = {
  cancelled: { status: "cancelled", failure: null, message: "Cancelled before it ran." },
  terminated: { status: "cancelled", failure: null, message: "Ended by the operator. Nothing was charged." },
  insufficient_credits: {
    status: "failed",
    failure: "insufficient_credits",
    message: "The account has fewer credits available than this execution may cost.",
  },
  internal: {
    status: "failed",
    failure: "internal",
    message: "The service could not finish this execution. Nothing was charged; please try again.",
  },
} as const;

/** The money steps of an execution, each idempotent by execution id: a repeated call changes nothing. */
export function createCredits({ db, prices, onEnded }: CreditsDeps) {
  return {
    async reserveCredits({ executionId }: { executionId: ExecutionId }): Promise<void> {
      const outcome = await reserve(db, executionId);
      switch (outcome.kind) {
        case "reserved":
          return;
        case "insufficient_credits":
          throw ApplicationFailure.nonRetryable(RELEASES.insufficient_credits.message, "insufficient_credits");
        case "closed":
          throw ApplicationFailure.nonRetryable(
            `${executionId} was closed before its credits were reserved.`,
            "internal",
          );
        case "unknown_execution":
          throw ApplicationFailure.nonRetryable(`${executionId} is not in the record.`, "internal");
      }
    },

    async settleCredits(bill: { executionId: ExecutionId; status: ExecutionEnd; secondsUsed: number }): Promise<void> {
      const billing = await findBilling(db, bill.executionId);
      if (billing === undefined || billing.ended) return onEnded(bill.executionId);
      // Cancelled while it waited for its turn: nothing ran, nothing is due.
      const used = bill.status === "cancelled" && bill.secondsUsed === 0 ? undefined : bill.secondsUsed;
      const charge =
        used === undefined
          ? { compute: microCredits(0), total: microCredits(0) }
          : chargeFor({ cpu: billing.cpu, seconds: Math.min(used, billing.secondsMax) }, prices);
      // A price that rose meanwhile must not charge more than was reserved.
      const total = charge.total < billing.chargeMax ? charge.total : billing.chargeMax;
      const compute = charge.compute < total ? charge.compute : total;
      await settle(db, { ...bill, compute, total });
      onEnded(bill.executionId);
    },

    async releaseCredits(input: { executionId: ExecutionId; cause: keyof typeof RELEASES }): Promise<void> {
      await release(db, { executionId: input.executionId, ...RELEASES[input.cause] });
      onEnded(input.executionId);
    },
  };
}
