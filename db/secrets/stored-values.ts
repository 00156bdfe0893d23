import type { AccountId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

export type ValueKind = "secret" | "variable";

/** Where a value is kept. `workflowId` null: for all workflows of the account. */
export interface ValuePlace {
  readonly accountId: AccountId;
  readonly workflowId: WorkflowId | null;
  readonly kind: ValueKind;
  readonly name: string;
}

/** A value that is set now. `value` is null for a secret. */
export interface StoredValue {
  readonly name: string;
  readonly workflowId: WorkflowId | null;
  readonly version: number;
  readonly value: string | null;
  readonly setBy: string;
  readonly setAt: Date;
  readonly lastUsedAt: Date | null;
}

/** One version of a value, for the record. */
export interface ValueVersion {
  readonly version: number;
  readonly removed: boolean;
  readonly value: string | null;
  readonly setBy: string;
  readonly setAt: Date;
  readonly lastUsedAt: Date | null;
}

/** A sealed value as a run gets it. */
export interface WantedValue {
  readonly kind: ValueKind;
  readonly name: string;
  readonly workflowId: WorkflowId | null;
  readonly version: number;
  readonly sealed: Buffer | null;
  readonly value: string | null;
}

/** Of an account, secrets and variables together, and those of its workflows. */
const NAMES_MAX = 1_000;

const SAME = `v.account_id = :accountId and v.kind = :kind and v.name = :name and coalesce(v.workflow_id, '') = coalesce(cast(:workflowId as text), '')`;

/**
 * Sets a value as the next version of its name, and forgets the secret that it replaces. Returns the version; undefined where the
 * account has as many names as it may. Several statements, because the version before must give up its place first.
 */
export async function putValue(
  db: Db,
  place: ValuePlace,
  given: { readonly sealed: Buffer | null; readonly value: string | null; readonly setBy: string },
): Promise<number | undefined> {
  return db.transaction(async (tx) => {
    await lockValues(tx, place);
    const replaced = await endVersion(tx, place);
    const [row] = await queryRows<{ count: number }>(
      tx,
      `select count(*)::int as count from stored_values v where v.account_id = :accountId and v.holds`,
      { accountId: place.accountId },
    );
    if (!replaced && (row?.count ?? 0) >= NAMES_MAX) return undefined;
    return insertVersion(tx, place, { holds: true, sealed: given.sealed, value: given.value, setBy: given.setBy });
  });
}

/** Removes a value and notes by whom. Returns whether there was one. */
export async function removeValue(db: Db, place: ValuePlace, removedBy: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockValues(tx, place);
    if (!(await endVersion(tx, place))) return false;
    await insertVersion(tx, place, { holds: false, sealed: null, value: null, setBy: removedBy });
    return true;
  });
}

/** Two who set one name at once come one after the other. */
async function lockValues(tx: Db, { accountId }: ValuePlace): Promise<void> {
  await queryRows(tx, `select pg_advisory_xact_lock(hashtextextended('stored_values ' || :accountId, 0))`, {
    accountId,
  });
}

async function endVersion(tx: Db, { accountId, workflowId, kind, name }: ValuePlace): Promise<boolean> {
  const rows = await queryRows(
    tx,
    `update stored_values v set holds = false, sealed = null where ${SAME} and v.holds returning v.id`,
    { accountId, workflowId, kind, name },
  );
  return rows.length > 0;
}

async function insertVersion(
  tx: Db,
  { accountId, workflowId, kind, name }: ValuePlace,
  { holds, sealed, value, setBy }: { holds: boolean; sealed: Buffer | null; value: string | null; setBy: string },
): Promise<number> {
  const [row] = await queryRows<{ version: number }>(
    tx,
    `insert into stored_values (account_id, workflow_id, kind, name, version, holds, removed, sealed, value, set_by)
     select :accountId, :workflowId, :kind, :name,
            coalesce((select max(v.version) from stored_values v where ${SAME}), 0) + 1, :holds, not :holds, :sealed, :value, :setBy
     returning version`,
    { accountId, workflowId, kind, name, holds, sealed, value, setBy },
  );
  return (row as { version: number }).version;
}

/** Lists the values of an account that are set now, those of its workflows too, by name. */
export async function listValues(db: Db, accountId: AccountId, kind: ValueKind): Promise<StoredValue[]> {
  return queryRows<StoredValue>(
    db,
    `select v.name, v.workflow_id as "workflowId", v.version, v.value, v.set_by as "setBy", v.set_at as "setAt",
            v.last_used_at as "lastUsedAt"
       from stored_values v where v.account_id = :accountId and v.kind = :kind and v.holds
      order by v.name, v.workflow_id nulls first`,
    { accountId, kind },
  );
}

/** Lists the versions of one name, the newest first; empty where it was never set. */
export async function listVersions(
  db: Db,
  { accountId, workflowId, kind, name }: ValuePlace,
  limit: number,
): Promise<ValueVersion[]> {
  return queryRows<ValueVersion>(
    db,
    `select v.version, v.removed, v.value, v.set_by as "setBy", v.set_at as "setAt", v.last_used_at as "lastUsedAt"
       from stored_values v where ${SAME} order by v.version desc limit :limit`,
    { accountId, workflowId, kind, name, limit },
  );
}

/** Returns the names that a workflow of the account finds set; a new one, with null, those of the account. */
export async function listSetNames(
  db: Db,
  { accountId, workflowId }: Pick<ValuePlace, "accountId" | "workflowId">,
): Promise<{ kind: ValueKind; name: string }[]> {
  return queryRows(
    db,
    `select distinct v.kind, v.name from stored_values v
      where v.account_id = :accountId and v.holds and (v.workflow_id is null or v.workflow_id = :workflowId)`,
    { accountId, workflowId },
  );
}

/** A name that an attempt needs. */
export interface WantedName {
  readonly kind: ValueKind;
  readonly name: string;
}

/**
 * Returns the values that an attempt gets, and notes their versions with the attempt: one statement, so that it notes what it got.
 * A name that is not set is missing in the answer. What a workflow has itself comes before what its account has.
 */
export async function takeValues(
  db: Db,
  attempt: {
    readonly accountId: AccountId;
    readonly workflowId: WorkflowId;
    readonly executionId: ExecutionId;
    readonly attempt: number;
  },
  wanted: readonly WantedName[],
): Promise<WantedValue[]> {
  return queryRows<WantedValue>(
    db,
    `with found as materialized (
       select distinct on (v.kind, v.name) v.id, v.kind, v.name, v.workflow_id, v.version, v.sealed, v.value
         from unnest(cast(:kinds as text[]), cast(:names as text[])) as w (kind, name)
         join stored_values v on v.kind = w.kind and v.name = w.name
        where v.account_id = :accountId and v.holds and (v.workflow_id is null or v.workflow_id = :workflowId)
        order by v.kind, v.name, v.workflow_id nulls last
     ), noted as (
       update attempts a set values_used = (
         select coalesce(jsonb_agg(jsonb_build_object('kind', f.kind, 'name', f.name, 'version', f.version,
                  'workflow', f.workflow_id is not null) order by f.kind, f.name), '[]') from found f)
        where a.execution_id = :executionId and a.attempt = :attempt
     ), used as (
       update stored_values v set last_used_at = now()
        where v.id in (select f.id from found f) and (v.last_used_at is null or v.last_used_at < now() - interval '1 minute')
     )
     select f.kind, f.name, f.workflow_id as "workflowId", f.version, f.sealed, f.value from found f`,
    {
      accountId: attempt.accountId,
      workflowId: attempt.workflowId,
      executionId: attempt.executionId,
      attempt: attempt.attempt,
      kinds: wanted.map(({ kind }) => kind),
      names: wanted.map(({ name }) => name),
    },
  );
}

/** Parts of the latest commits of an account's workflows that may name secrets and variables. */
export interface NamingParts {
  readonly workflowId: WorkflowId;
  readonly workflowName: string;
  readonly secrets: readonly string[] | null;
  readonly env: Readonly<Record<string, string>> | null;
  readonly payload: unknown;
}

export async function listNamingParts(db: Db, accountId: AccountId): Promise<NamingParts[]> {
  return queryRows<NamingParts>(
    db,
    `select w.id as "workflowId", w.name as "workflowName", c.manifest -> 'secrets' as secrets, c.manifest -> 'env' as env,
            jsonb_build_array(c.manifest #> '{triggers,schedule,payload}',
                              jsonb_path_query_array(c.manifest, '$.triggers.schedules[*].payload')) as payload
       from workflows w join commits c on c.workflow_id = w.id and c.id = w.head
      where w.account_id = :accountId and w.deleted_at is null order by w.created_at, w.id`,
    { accountId },
  );
}
