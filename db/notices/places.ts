import type { AccountId, WorkflowId } from "../../domain/ids.ts";
import type { PlaceKind } from "../../domain/notices.ts";
import { type Db, queryRows } from "../connect.ts";

/** Of an account. */
const PLACES_MAX = 100;

/** A place to tell, as it is kept: its target and its secrets are sealed. */
export interface StoredPlace {
  readonly id: string;
  readonly accountId: AccountId;
  readonly name: string;
  readonly kind: PlaceKind;
  readonly target: Buffer;
  readonly secret: Buffer | null;
  readonly previousSecret: Buffer | null;
  /** Until when messages are signed with the previous secret, too. */
  readonly previousUntil: Date | null;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly disabledAt: Date | null;
  readonly disabledReason: string;
}

/** The columns of `StoredPlace`, of `notice_places p`. A previous secret whose time is over is as good as gone. */
export const PLACE = `
  p.id, p.account_id as "accountId", p.name, p.kind, p.target, p.secret,
  case when p.previous_until > now() then p.previous_secret end as "previousSecret",
  case when p.previous_until > now() then p.previous_until end as "previousUntil",
  p.created_by as "createdBy", p.created_at as "createdAt", p.disabled_at as "disabledAt", p.disabled_reason as "disabledReason"`;

/** Lists the places of an account by name. */
export async function listPlaces(db: Db, accountId: AccountId): Promise<StoredPlace[]> {
  return queryRows<StoredPlace>(
    db,
    `select ${PLACE} from notice_places p where p.account_id = :accountId order by p.name`,
    { accountId },
  );
}

/** Returns a place of an account by its name. */
export async function findPlace(db: Db, accountId: AccountId, name: string): Promise<StoredPlace | undefined> {
  const [row] = await queryRows<StoredPlace>(
    db,
    `select ${PLACE} from notice_places p where p.account_id = :accountId and p.name = :name`,
    { accountId, name },
  );
  return row;
}

/** Adds a place. `taken`: the account has one of this name; `full`: it has as many as it may. */
export async function insertPlace(
  db: Db,
  place: Pick<StoredPlace, "accountId" | "name" | "kind" | "target" | "secret" | "createdBy">,
): Promise<"added" | "taken" | "full"> {
  const { accountId, name, kind, target, secret, createdBy } = place;
  return db.transaction(async (tx) => {
    await queryRows(tx, `select pg_advisory_xact_lock(hashtextextended('notice_places ' || :accountId, 0))`, {
      accountId,
    });
    const places = await listPlaces(tx, accountId);
    if (places.some((one) => one.name === name)) return "taken";
    if (places.length >= PLACES_MAX) return "full";
    await queryRows(
      tx,
      `insert into notice_places (account_id, name, kind, target, secret, created_by)
       values (:accountId, :name, :kind, :target, :secret, :createdBy)`,
      { accountId, name, kind, target, secret, createdBy },
    );
    return "added";
  });
}

/** Gives a place another target, and uses it again where it was disabled. Returns whether there is one. */
export async function changeTarget(
  db: Db,
  { accountId, name, target }: Pick<StoredPlace, "accountId" | "name" | "target">,
): Promise<boolean> {
  const rows = await queryRows(
    db,
    `update notice_places set target = :target, disabled_at = null, disabled_reason = ''
      where account_id = :accountId and name = :name returning id`,
    { accountId, name, target },
  );
  return rows.length > 0;
}

/** Replaces the secret of a webhook; the one before goes on for `graceSeconds`. Returns until when; undefined: no such webhook. */
export async function replaceSecret(
  db: Db,
  given: { accountId: AccountId; name: string; secret: Buffer; graceSeconds: number },
): Promise<{ readonly previousUntil: Date | null } | undefined> {
  const [row] = await queryRows<{ previousUntil: Date | null }>(
    db,
    `update notice_places p
        set previous_secret = case when :graceSeconds > 0 then p.secret end,
            previous_until = case when :graceSeconds > 0 then now() + make_interval(secs => :graceSeconds) end,
            secret = :secret
      where p.account_id = :accountId and p.name = :name and p.kind = 'webhook'
     returning p.previous_until as "previousUntil"`,
    given,
  );
  return row;
}

/** Removes a place, and what was sent there. Returns whether there was one. */
export async function deletePlace(db: Db, accountId: AccountId, name: string): Promise<boolean> {
  const rows = await queryRows(
    db,
    `delete from notice_places where account_id = :accountId and name = :name returning id`,
    { accountId, name },
  );
  return rows.length > 0;
}

/** A workflow whose latest commit names places. */
export interface PlaceUser {
  readonly workflowId: WorkflowId;
  readonly name: string;
  readonly notify: unknown;
}

/** Lists the workflows of an account whose latest commit names places. */
export async function listPlaceUsers(db: Db, accountId: AccountId): Promise<PlaceUser[]> {
  return queryRows<PlaceUser>(
    db,
    `select w.id as "workflowId", w.name, c.manifest -> 'notify' as notify
       from workflows w join commits c on c.workflow_id = w.id and c.id = w.head
      where w.account_id = :accountId and w.deleted_at is null and c.manifest -> 'notify' is not null
      order by w.created_at, w.id`,
    { accountId },
  );
}
