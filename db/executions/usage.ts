import type { WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** How many of the newest executions count. */
const LAST_EXECUTIONS = 100;

/** What attempts of a workflow used at most. Null where none of them was measured. */
export interface Usage {
  /** How many executions it is taken from. */
  readonly executions: number;
  readonly seconds: number;
  readonly memoryBytes: number | null;
  readonly processorSeconds: number | null;
}

/** The most that an attempt of the last executions of a workflow used; undefined when none has ended. Two looks into indexes. */
export async function findUsage(db: Db, workflowId: WorkflowId): Promise<Usage | undefined> {
  const [row] = await queryRows<Omit<Usage, "memoryBytes"> & { memoryBytes: bigint | null }>(
    db,
    `select cast(count(distinct a.execution_id) as int) as executions, max(a.seconds_used) as seconds,
            max(a.peak_memory_bytes) as "memoryBytes", max(a.used_processor_seconds) as "processorSeconds"
       from (select e.id from executions e where e.workflow_id = :workflowId order by e.created_at desc limit :last) newest
       join attempts a on a.execution_id = newest.id and a.status is not null
     having count(*) > 0`,
    { workflowId, last: LAST_EXECUTIONS },
  );
  return row && Object.assign(row, { memoryBytes: row.memoryBytes === null ? null : Number(row.memoryBytes) });
}
