import type { AccountId, CommitId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";
import { type Commit, insertEnvironment, type NewCommit } from "./commits.ts";

/** A commit as a host needs it to find interpreter and packages for it. */
export interface CommitCode {
  readonly accountId: AccountId;
  readonly workflowId: WorkflowId;
  readonly commitId: CommitId;
  readonly manifest: unknown;
  /** Of the environment that was made when it was published; null when it needs no packages. */
  readonly environmentKey: string | null;
  /** The minor version of Python that it was made with, such as 3.11; null where that was not noted. */
  readonly python: string | null;
}

export interface KeptEnvironment {
  readonly key: string;
  readonly lock: string;
  /** As `environments` of a commit has them. */
  readonly requirements: string;
  /** The version of Python that it was locked for, such as 3.11.2. */
  readonly interpreter: string;
}

/** Lists what a commit may run in: its own environment first, then those made for other hosts, oldest first. */
export async function listCommitEnvironments(
  db: Db,
  { workflowId, commitId, environmentKey }: Pick<CommitCode, "workflowId" | "commitId" | "environmentKey">,
): Promise<KeptEnvironment[]> {
  return queryRows<KeptEnvironment>(
    db,
    `select e.key, e.lock, e.requirements, e.interpreter
       from environments e
       left join commit_environments ce
         on ce.environment_key = e.key and ce.workflow_id = :workflowId and ce.commit_id = :commitId
      where e.key = :environmentKey or e.key = any(array(
        select o.environment_key from commit_environments o
         where o.workflow_id = :workflowId and o.commit_id = :commitId))
      order by e.key <> :environmentKey, ce.created_at, e.key`,
    { workflowId, commitId, environmentKey },
  );
}

/** Returns the key of the environment that was made last for a commit; null when it needs no packages. */
export async function findNewestEnvironmentKey(
  db: Db,
  { workflowId, id, environmentKey }: Pick<Commit, "workflowId" | "id" | "environmentKey">,
): Promise<string | null> {
  const [row] = await queryRows<{ key: string }>(
    db,
    `select environment_key as key from commit_environments
      where workflow_id = :workflowId and commit_id = :id order by created_at desc limit 1`,
    { workflowId, id },
  );
  return row?.key ?? environmentKey;
}

/** Notes one more environment that a commit runs in. Both rows or none; noted twice is noted once. */
export async function addCommitEnvironment(
  db: Db,
  { workflowId, commitId }: Pick<CommitCode, "workflowId" | "commitId">,
  environment: NonNullable<NewCommit["environment"]>,
): Promise<void> {
  await db.transaction(async (tx) => {
    await insertEnvironment(tx, environment);
    await queryRows(
      tx,
      `insert into commit_environments (workflow_id, commit_id, environment_key) values (:workflowId, :commitId, :key)
       on conflict do nothing`,
      { workflowId, commitId, key: environment.key },
    );
  });
}

/** Lists the latest commits of all workflows that ask for packages or for a version of Python. */
export async function listDemandingHeads(db: Db): Promise<CommitCode[]> {
  return queryRows<CommitCode>(
    db,
    `select w.account_id as "accountId", c.workflow_id as "workflowId", c.id as "commitId", c.manifest,
            c.environment_key as "environmentKey", c.python
       from workflows w join commits c on c.workflow_id = w.id and c.id = w.head
      where w.deleted_at is null and (c.environment_key is not null or c.manifest ->> 'python' is not null)
      order by c.created_at desc, c.id`,
  );
}
