import { setTimeout as sleep } from "node:timers/promises";
import { type Db, queryRows } from "../../../db/connect.ts";
import type { Release, Settlement } from "../../../db/ledger/credits.ts";
import { microCredits } from "../../../domain/credits.ts";
import type { AccountId, ExecutionId, WorkflowId } from "../../../domain/ids.ts";
import { anAccount, anExecution, aWorkflow } from "../../support/builders.ts";

const WAITING_MS = 60_000;

/** An account with so many micro-credits, and one accepted execution for each of the amounts that it may cost. */
export async function anAccountWith(
  db: Db,
  given: { credits: bigint; charges: readonly bigint[] },
): Promise<{ accountId: AccountId; workflowId: WorkflowId; ids: ExecutionId[] }> {
  const accountId = await anAccount(db, { microCredits: given.credits });
  const workflow = await aWorkflow(db, { accountId });
  const ids: ExecutionId[] = [];
  for (const charge of given.charges) ids.push(await anExecution(db, { workflow, chargeMax: microCredits(charge) }));
  return { accountId, workflowId: workflow.workflowId, ids };
}

export function aBill(executionId: ExecutionId, total: bigint): Settlement {
  return {
    executionId,
    status: "success",
    secondsUsed: 1,
    compute: microCredits(total),
    total: microCredits(total),
  };
}

export function aFault(executionId: ExecutionId): Release {
  return { executionId, status: "failed", failure: "internal", message: "ours" };
}

/** Holds the account's row, as another process would, until the function it answers is called. */
export async function holdAccount(db: Db, accountId: AccountId): Promise<() => Promise<void>> {
  const holder = await db.transaction();
  await holder.raw("select from accounts where id = ? for update", [accountId]);
  return async () => void (await holder.commit());
}

/** The sessions that wait for a row inside a function of the database; there is one at the latest when it answers. */
export async function findWaiting(db: Db, name: string): Promise<number[]> {
  for (const deadline = Date.now() + WAITING_MS; Date.now() < deadline; await sleep(5)) {
    const rows = await queryRows<{ pid: number }>(
      db,
      `select pid from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%' || cast(:name as text) || '(%'`,
      { name },
    );
    if (rows.length > 0) return rows.map((row) => row.pid);
  }
  throw new Error(`No session waits inside ${name}.`);
}
