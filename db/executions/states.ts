import type { ExecutionState } from "../../domain/execution.ts";
import type { AccountId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** The channel on which changes of workflows are announced; the payload is `{"accountId", "workflowId"}`. */
export const WORKFLOW_CHANGED = "workflow_changed";

export interface StateOfExecution {
  readonly executionId: ExecutionId;
  readonly accountId: AccountId;
  readonly workflowId: WorkflowId;
  readonly status: ExecutionState;
}

const STATE = `e.id as "executionId", e.account_id as "accountId", e.workflow_id as "workflowId", e.state as status`;

/**
 * How the newest executions of an account stand, at most `limit`. At most `limit` each of waiting and of running ones,
 * and those named. The oldest first, each once.
 */
export async function listLatestStates(
  db: Db,
  input: { accountId: AccountId; ids: readonly ExecutionId[]; limit: number },
): Promise<StateOfExecution[]> {
  const newest = (condition: string): string =>
    `(select id from executions where account_id = :accountId ${condition} order by created_at desc limit :limit)`;
  return queryRows<StateOfExecution>(
    db,
    `with these as materialized (
       ${newest("")} union ${newest("and state = 'queued'")} union ${newest("and state = 'running'")}
       union select unnest(cast(:ids as text[]))
     )
     select ${STATE} from these t join executions e on e.id = t.id
      where e.account_id = :accountId order by e.created_at, e.id`,
    { ...input, ids: [...input.ids] },
  );
}

/** How these executions stand; unknown ones are left out. */
export async function listStates(db: Db, ids: readonly ExecutionId[]): Promise<StateOfExecution[]> {
  return queryRows<StateOfExecution>(
    db,
    `select ${STATE} from executions e where e.id = any(cast(:ids as text[])) order by e.created_at, e.id`,
    { ids: [...ids] },
  );
}
