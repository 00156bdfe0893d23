import type { AccountId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** The channel on which the end of a destination is announced; the payload is its id. */
export const DESTINATION_ENDED = "destination_ended";
/** Of an account. */
const DESTINATIONS_MAX = 100;

/** Where the programs of an account may connect to. */
export interface StoredDestination {
  readonly id: string;
  readonly name: string;
  readonly host: string;
  /** As `parseEndpoint` reads them behind the host. */
  readonly ports: string;
  readonly createdAt: Date;
}

/** Lists the destinations of an account by name. */
export async function listDestinations(db: Db, accountId: AccountId): Promise<StoredDestination[]> {
  return queryRows<StoredDestination>(
    db,
    `select id, name, host, ports, created_at as "createdAt" from destinations where account_id = :accountId order by name`,
    { accountId },
  );
}

/** Grants a destination to an account. `taken`: it has one of this name; `full`: it has as many as it may. */
export async function insertDestination(
  db: Db,
  destination: Pick<StoredDestination, "name" | "host" | "ports"> & { readonly accountId: AccountId },
): Promise<StoredDestination | "taken" | "full"> {
  const { accountId, name, host, ports } = destination;
  return db.transaction(async (tx) => {
    await queryRows(tx, `select pg_advisory_xact_lock(hashtextextended('destinations ' || :accountId, 0))`, {
      accountId,
    });
    const there = await listDestinations(tx, accountId);
    if (there.some((one) => one.name === name)) return "taken";
    if (there.length >= DESTINATIONS_MAX) return "full";
    const [added] = await queryRows<StoredDestination>(
      tx,
      `insert into destinations (account_id, name, host, ports) values (:accountId, :name, :host, :ports)
       returning id, name, host, ports, created_at as "createdAt"`,
      { accountId, name, host, ports },
    );
    return added as StoredDestination;
  });
}

/** Takes a destination away, and announces that. Returns whether there was one. */
export async function deleteDestination(db: Db, accountId: AccountId, name: string): Promise<boolean> {
  const rows = await queryRows(
    db,
    `delete from destinations where account_id = :accountId and name = :name returning id`,
    { accountId, name },
  );
  return rows.length > 0;
}

/** Returns which of these destinations there still are. */
export async function listGranted(db: Db, ids: readonly string[]): Promise<string[]> {
  const rows = await queryRows<{ id: string }>(db, `select id from destinations where id = any(cast(:ids as text[]))`, {
    ids: [...ids],
  });
  return rows.map(({ id }) => id);
}

/** Lists the workflows of an account whose latest commit has a network, with what it says of that. */
export async function listNetworkUsers(
  db: Db,
  accountId: AccountId,
): Promise<{ readonly workflowId: WorkflowId; readonly name: string; readonly network: unknown }[]> {
  return queryRows(
    db,
    `select w.id as "workflowId", w.name, c.manifest -> 'limits' -> 'network' as network
       from workflows w join commits c on c.workflow_id = w.id and c.id = w.head
      where w.account_id = :accountId and w.deleted_at is null
        and jsonb_typeof(c.manifest -> 'limits' -> 'network') = 'object'
      order by w.created_at, w.id`,
    { accountId },
  );
}
