import type { AccountId, CommitId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { AgreedRates } from "../accounts/rates.ts";
import { type Db, queryRows } from "../connect.ts";
import { KEPT_BYTES, type KeptBytes } from "../executions/kept-bytes.ts";
import { type GitObject, holdObjects } from "./git-objects.ts";

export interface CommitAuthor {
  /** Null: the operator. */
  readonly userId: string | null;
  /** Of the operator: `operator`. */
  readonly email: string;
}

export interface NewCommit {
  readonly workflowId: WorkflowId;
  readonly id: CommitId;
  readonly parentId: CommitId | null;
  readonly treeId: string;
  readonly message: string;
  readonly manifest: unknown;
  readonly environment: { key: string; interpreter: string; requirements: string; lock: string } | null;
  /** The minor version of Python that it is made with, such as 3.11. */
  readonly python?: string | null;
  /** Null when nobody in particular made it: the service its examples. */
  readonly author?: CommitAuthor | null;
  readonly objects: readonly GitObject[];
}

/** Of one statement. */
const OBJECTS_MAX = 500;
const OBJECT_BYTES_MAX = 1_000_000;

export type PublishOutcome =
  | { readonly kind: "published" }
  /** The workflow has a newer head than the commit was made on. */
  | { readonly kind: "head_moved"; readonly head: CommitId | null }
  | { readonly kind: "unknown_workflow" };

/**
 * Stores a commit with its objects and moves the workflow's head to it: all or nothing. The head's row is locked first,
 * so that of two publishes on the same parent one wins and the other is refused. Several statements in the caller's
 * transaction because the objects may be many.
 */
export async function publishCommit(tx: Db, commit: NewCommit): Promise<PublishOutcome> {
  const [workflow] = await queryRows<{ head: CommitId | null }>(
    tx,
    `select head from workflows where id = :workflowId and deleted_at is null for update`,
    { workflowId: commit.workflowId },
  );
  if (workflow === undefined) return { kind: "unknown_workflow" };
  if (workflow.head !== commit.parentId) return { kind: "head_moved", head: workflow.head };
  await holdObjects(tx, commit.workflowId);
  await publishUnseenCommit(tx, commit);
  return { kind: "published" };
}

/** Publishes to a workflow that the caller's transaction has made: nobody else can see it, so nothing is locked or asked. */
export async function publishUnseenCommit(tx: Db, commit: NewCommit): Promise<void> {
  await insertObjects(tx, commit);
  if (commit.environment !== null) await insertEnvironment(tx, commit.environment);
  await queryRows(
    tx,
    `with committed as (
       insert into commits (workflow_id, id, parent_id, tree_id, message, manifest, environment_key, python, author_id, author_email)
       values (:workflowId, :id, :parentId, :treeId, :message, cast(:manifest as jsonb), :environmentKey, :python, :authorId, :authorEmail)
           on conflict (workflow_id, id) do nothing
     )
     update workflows set head = :id, name = coalesce(:name, name) where id = :workflowId`,
    { ...toBindings(commit), name: manifestName(commit.manifest) },
  );
}

/** Returns the bindings of a new row of `commits`, a name for each column. */
export function toBindings(commit: NewCommit) {
  return {
    workflowId: commit.workflowId,
    id: commit.id,
    parentId: commit.parentId,
    treeId: commit.treeId,
    message: commit.message,
    manifest: JSON.stringify(commit.manifest),
    environmentKey: commit.environment?.key ?? null,
    python: commit.python ?? null,
    authorId: commit.author?.userId ?? null,
    authorEmail: commit.author?.email ?? null,
  };
}

function manifestName(manifest: unknown): string | null {
  const name = (manifest as { name?: unknown } | null)?.name;
  return typeof name === "string" && name !== "" ? name : null;
}

/**
 * Stores those objects of a commit that its workflow has not. What it has must be held by the transaction (`holdObjects`). As
 * many in a statement as may wait for one.
 */
export async function insertObjects(tx: Db, commit: NewCommit): Promise<void> {
  for (const objects of toStatements(commit.objects))
    await queryRows(
      tx,
      `insert into git_objects (workflow_id, id, kind, content)
       select :workflowId, o.* from unnest(cast(:ids as text[]), cast(:kinds as text[]), cast(:contents as bytea[])) as o
           on conflict (workflow_id, id) do nothing`,
      {
        workflowId: commit.workflowId,
        ids: objects.map(({ id }) => id),
        kinds: objects.map(({ kind }) => kind),
        contents: objects.map(({ content }) => content),
      },
    );
}

/** Most commits are one statement; large ones are several, each small enough to be held in memory a few times over. */
function toStatements(objects: readonly GitObject[]): GitObject[][] {
  const statements: GitObject[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const object of objects) {
    const last = statements.at(-1);
    bytes += object.content.length;
    if (last !== undefined && last.length < OBJECTS_MAX && bytes <= OBJECT_BYTES_MAX) last.push(object);
    else {
      statements.push([object]);
      bytes = object.content.length;
    }
  }
  return statements;
}

/** Notes what an environment is made of, once. */
export async function insertEnvironment(tx: Db, environment: NonNullable<NewCommit["environment"]>): Promise<void> {
  await queryRows(
    tx,
    `insert into environments (key, interpreter, requirements, lock) values (:key, :interpreter, :requirements, :lock)
     on conflict (key) do nothing`,
    environment,
  );
}

/** Objects of one workflow by id; the answer has only those that exist. */
export async function findObjects(db: Db, workflowId: WorkflowId, ids: readonly string[]): Promise<GitObject[]> {
  return queryRows<GitObject>(
    db,
    `select id, kind, content from git_objects where workflow_id = :workflowId and id = any(cast(:ids as text[]))`,
    { workflowId, ids: [...ids] },
  );
}

/** Which of these objects a workflow has. */
export async function listKnownObjects(db: Db, workflowId: WorkflowId, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await queryRows<{ id: string }>(
    db,
    `select id from git_objects where workflow_id = :workflowId and id = any(cast(:ids as text[]))`,
    { workflowId, ids: [...ids] },
  );
  return new Set(rows.map(({ id }) => id));
}

export interface Commit {
  readonly workflowId: WorkflowId;
  readonly id: CommitId;
  readonly parentId: CommitId | null;
  readonly treeId: string;
  readonly message: string;
  readonly manifest: unknown;
  /** Null when it needs no packages. */
  readonly environmentKey: string | null;
  /** The minor version of Python that it was made with, such as 3.11; null where that was not noted. */
  readonly python: string | null;
  /** The user who made it, also after they left; `operator` is the operator. Null: nobody in particular. */
  readonly authorEmail: string | null;
  readonly createdAt: Date;
}

export async function findCommit(db: Db, workflowId: WorkflowId, id: CommitId): Promise<Commit | undefined> {
  const [row] = await queryRows<Commit>(
    db,
    `select workflow_id as "workflowId", id, parent_id as "parentId", tree_id as "treeId", message, manifest,
            environment_key as "environmentKey", python, author_email as "authorEmail", created_at as "createdAt"
       from commits where workflow_id = :workflowId and id = :id`,
    { workflowId, id },
  );
  return row;
}

/** What an execute request needs to know before its body is read. */
export interface Target {
  readonly accountId: AccountId;
  readonly available: bigint;
  readonly kept: KeptBytes;
  /** Whether the key given is a living key of this workflow. */
  readonly keyValid: boolean;
  /** Null when the workflow has no commit yet. */
  readonly commitId: CommitId | null;
  readonly manifest: unknown;
  /** The environment of that commit, and the minor version of Python that it was made with; null without one. */
  readonly environmentKey: string | null;
  readonly python: string | null;
  /** The execution that the idempotency key given belongs to. */
  readonly keyedId: ExecutionId | null;
  readonly agreedRates: AgreedRates | null;
  /** For how many seconds the rate limits are busy with what they have let through; see `toBucketState`. */
  readonly keyBusySeconds: number | null;
  readonly accountBusySeconds: number | null;
}

/**
 * Authenticates, chooses the latest commit, reads balance and rate limits, and finds the execution of the same
 * idempotency key: all in one statement. Undefined: no such workflow.
 */
export async function findTarget(
  db: Db,
  workflowId: WorkflowId,
  keyHash: Buffer,
  idempotencyKey: string | null = null,
): Promise<Target | undefined> {
  const [row] = await queryRows<Target>(
    db,
    `select w.account_id as "accountId", a.balance - a.reserved as available, ${KEPT_BYTES} as kept,
            exists (select 1 from api_keys k where k.hash = :keyHash and k.workflow_id = w.id
                       and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())) as "keyValid",
            w.head as "commitId", c.manifest, c.environment_key as "environmentKey", c.python,
            (select e.id from executions e
              where e.workflow_id = :workflowId and e.idempotency_key = cast(:idempotencyKey as text)
                and (e.failure is null or e.failure = 'internal')) as "keyedId",
            (select jsonb_build_object('perMinute', r.per_minute, 'burst', r.burst, 'accountPerMinute', r.account_per_minute)
               from account_rates r where r.account_id = w.account_id) as "agreedRates",
            (select cast(extract(epoch from b.busy_until - now()) as double precision)
               from rate_buckets b where b.bucket = 'key ' || w.id) as "keyBusySeconds",
            (select cast(extract(epoch from b.busy_until - now()) as double precision)
               from rate_buckets b where b.bucket = 'account ' || w.account_id) as "accountBusySeconds"
       from workflows w
       join accounts a on a.id = w.account_id
       left join commits c on c.workflow_id = w.id and c.id = w.head
      where w.id = :workflowId and w.deleted_at is null`,
    { workflowId, keyHash, idempotencyKey },
  );
  return row;
}

/** Returns whether a key opens the workflow an execution belongs to. Undefined: no such execution. */
export async function findExecutionAccess(
  db: Db,
  executionId: string,
  keyHash: Buffer,
): Promise<{ workflowId: WorkflowId; accountId: AccountId; keyValid: boolean } | undefined> {
  const [row] = await queryRows<{ workflowId: WorkflowId; accountId: AccountId; keyValid: boolean }>(
    db,
    `select e.workflow_id as "workflowId", e.account_id as "accountId",
            exists (select 1 from api_keys k where k.hash = :keyHash and k.workflow_id = e.workflow_id
                       and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())) as "keyValid"
       from executions e where e.id = :executionId`,
    { executionId, keyHash },
  );
  return row;
}

/** Of a commit `c`: its own environment, and those made for hosts that its own does not fit. */
const ENVIRONMENT_KEYS = `array_remove(c.environment_key || array(
  select ce.environment_key from commit_environments ce where ce.workflow_id = c.workflow_id and ce.commit_id = c.id), null)`;

/** Lists the environments that the latest commits of an account's workflows need, each once; those of `except` apart. */
export async function listEnvironmentsOf(db: Db, accountId: AccountId, except: WorkflowId | null): Promise<string[]> {
  const rows = await queryRows<{ key: string }>(
    db,
    `select distinct unnest(${ENVIRONMENT_KEYS}) as key
       from workflows w join commits c on c.workflow_id = w.id and c.id = w.head
      where w.account_id = :accountId and w.deleted_at is null and c.environment_key is not null
        and (:except::text is null or w.id <> :except)`,
    { accountId, except },
  );
  return rows.map(({ key }) => key);
}

/** The head of every workflow with the environments it runs in: what must not be cleared away. */
export async function listHeads(
  db: Db,
): Promise<{ workflowId: WorkflowId; commitId: CommitId; environmentKeys: string[] }[]> {
  return queryRows(
    db,
    `select c.workflow_id as "workflowId", c.id as "commitId", ${ENVIRONMENT_KEYS} as "environmentKeys"
       from workflows w join commits c on c.workflow_id = w.id and c.id = w.head
      where w.deleted_at is null`,
  );
}
