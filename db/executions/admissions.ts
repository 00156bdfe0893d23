import type { ExecutionId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** The channel on which executions whose turn has come are announced; the payload is the execution id. See 0005. */
export const EXECUTION_ADMITTED = "execution_admitted";

/** The workflows of which executions wait for their turn. */
export async function listWaitingWorkflows(db: Db): Promise<WorkflowId[]> {
  const rows = await queryRows<{ id: WorkflowId }>(
    db,
    `select distinct workflow_id as id from executions where admitted_at is null and state = 'queued'`,
  );
  return rows.map((row) => row.id);
}

/**
 * Lets in those whose turn has come, in the order they were accepted; answers and announces them. The end of an execution
 * does this by itself; it is needed when a commit allows more than the one before.
 */
export async function admitExecutions(db: Db, workflowId: WorkflowId): Promise<ExecutionId[]> {
  const rows = await queryRows<{ id: ExecutionId }>(db, `select id from admit_executions(:workflowId) as id`, {
    workflowId,
  });
  return rows.map((row) => row.id);
}
