import type { AccountId, CommitId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";
import { declareSchedule } from "../schedules/declarations.ts";
import { listScheduleNames, lockSchedule } from "../schedules/schedules.ts";

export interface Workflow {
  readonly id: WorkflowId;
  readonly accountId: AccountId;
  readonly name: string;
  readonly head: CommitId | null;
  readonly createdAt: Date;
}

const COLUMNS = `id, account_id as "accountId", name, head, created_at as "createdAt"`;

/** Inserts a workflow without a commit, with its first API key: no workflow exists without exactly one current key. */
export async function createWorkflow(
  db: Db,
  input: { id: WorkflowId; accountId: AccountId; name: string; keyHash: Buffer; keyEncrypted: Buffer },
): Promise<void> {
  await queryRows(
    db,
    `with created as (
       insert into workflows (id, account_id, name) values (:id, :accountId, :name) returning id
     )
     insert into api_keys (hash, workflow_id, encrypted) select :keyHash, id, :keyEncrypted from created`,
    { ...input },
  );
}

export async function findWorkflow(db: Db, id: WorkflowId): Promise<Workflow | undefined> {
  const [row] = await queryRows<Workflow>(
    db,
    `select ${COLUMNS} from workflows where id = :id and deleted_at is null`,
    { id },
  );
  return row;
}

/** Gives a workflow another name; undefined when there is no such workflow. A commit whose manifest has a name gives it that one. */
export async function renameWorkflow(db: Db, id: WorkflowId, name: string): Promise<Workflow | undefined> {
  const [row] = await queryRows<Workflow>(
    db,
    `update workflows set name = :name where id = :id and deleted_at is null returning ${COLUMNS}`,
    { id, name },
  );
  return row;
}

/**
 * Marks a workflow deleted, revokes its keys, deletes its drafts and ends its schedule at `now`. That time is read once
 * no tick of it is being decided. Executions, ticks and ledger stay. Returns whether there was one. A transaction: the
 * schedule is pushed to Temporal if and only if the workflow is gone.
 */
export async function deleteWorkflow(db: Db, id: WorkflowId, now: () => Date): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockSchedule(tx, id);
    const rows = await queryRows(
      tx,
      `with gone as (
         update workflows set deleted_at = now() where id = :id and deleted_at is null returning id
       ), revoked as (
         update api_keys set revoked_at = now() from gone where workflow_id = gone.id and revoked_at is null
       ), forgotten as (
         delete from drafts using gone where workflow_id = gone.id
       )
       select id from gone`,
      { id },
    );
    if (rows.length === 0) return false;
    for (const { name: scheduleName, isDeclared } of await listScheduleNames(tx, id))
      if (isDeclared)
        await declareSchedule(tx, { workflowId: id, scheduleName, declaration: null, at: now(), lookAt: null });
    return true;
  });
}
