import { type MicroCredits, toCredits } from "../../domain/credits.ts";
import type { RateUse } from "../accounts/rates.ts";
import { type Db, queryRows } from "../connect.ts";
import { release } from "../ledger/credits.ts";
import { type Acceptance, acceptExecution, type NewExecution } from "./acceptance.ts";

/** The message of an execution that the account could not pay, for the record, where no caller gets it. */
export function explainRefusal({ needed, available }: { needed: MicroCredits; available: MicroCredits }): string {
  return `This execution needs ${toCredits(needed)} credits to begin, and the account had ${toCredits(available)} available.`;
}

/**
 * Records an execution that is refused because its account has fewer credits `available` than it may cost. It has ended
 * as `failed` (`insufficient_credits`), with both amounts, and nothing of it was begun or held. For runs that nobody
 * waits for, or that a person will look for: by schedule, or by form. It counts for the limits of `rates`; where they
 * let nothing through nothing is recorded. Several statements, so that it is accepted and refused by the same ones as
 * any other.
 */
export async function recordRefusedExecution(
  db: Db,
  execution: NewExecution,
  { available, rates = { key: null, account: null } }: { available: MicroCredits; rates?: RateUse },
): Promise<Acceptance> {
  const { id: executionId, chargeMax: needed } = execution;
  return db.transaction(async (tx) => {
    const acceptance = await acceptExecution(tx, Object.assign({}, execution, { notifies: false }), {
      idempotency: null,
      rates,
      concurrency: null,
    });
    if (acceptance.kind !== "accepted") return acceptance;
    await queryRows(
      tx,
      `insert into refusals (execution_id, needed, available) values (:executionId, :needed, :available)`,
      { executionId, needed: String(needed), available: String(available) },
    );
    const message = explainRefusal({ needed, available });
    await release(tx, { executionId, status: "failed", failure: "insufficient_credits", message });
    return acceptance;
  });
}
