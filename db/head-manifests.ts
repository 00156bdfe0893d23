import type { AccountId, CommitId, WorkflowId } from "../domain/ids.ts";
import { type Db, queryRows } from "./connect.ts";

export interface HeadManifest {
  readonly workflowId: WorkflowId;
  readonly commitId: CommitId;
  readonly manifest: unknown;
}

/** The manifests that count now: of the latest commit of every workflow of an account (null: of all accounts) that declares a schedule. */
export async function listScheduledManifests(db: Db, accountId: AccountId | null): Promise<HeadManifest[]> {
  return queryRows<HeadManifest>(
    db,
    `select w.id as "workflowId", c.id as "commitId", c.manifest
       from workflows w join commits c on c.workflow_id = w.id and c.id = w.head
      where w.deleted_at is null
        and (cast(:accountId as text) is null or w.account_id = :accountId)
        and jsonb_typeof(c.manifest #> '{triggers,schedule}') = 'object'
      order by w.created_at, w.id`,
    { accountId },
  );
}
