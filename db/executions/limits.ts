import type { ExecutionId } from "../../domain/ids.ts";
import type { Limits } from "../../domain/manifest/manifest.ts";
import { type Db, queryRows } from "../connect.ts";

/** Returns the limits that the commit of an execution asks for. Throws where there is no such execution. */
export async function findLimits(db: Db, executionId: ExecutionId): Promise<Limits> {
  const [found] = await queryRows<{ readonly limits: Limits }>(
    db,
    `select c.manifest -> 'limits' as limits
       from executions e join commits c on c.workflow_id = e.workflow_id and c.id = e.commit_id
      where e.id = :executionId`,
    { executionId },
  );
  if (found === undefined) throw new Error(`There is no execution ${executionId}.`);
  return found.limits;
}
