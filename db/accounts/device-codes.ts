import { type Db, queryRows } from "../connect.ts";
import { insertAccessToken, type ListedToken } from "./access-tokens.ts";

/** Those of all strangers together that can still be answered. */
const OPEN_MAX = 1_000;
const OPEN = "expires_at > now()";

/** A command line that waits for an answer. */
export interface WaitingDevice {
  readonly name: string;
  readonly address: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/**
 * Inserts the two codes of a command line, known by their hashes, and clears away those that are over. Returns when they end;
 * undefined when as many as may be are open. Calls at once may each pass that limit by one.
 */
export async function insertDeviceCode(
  db: Db,
  code: { deviceHash: Buffer; userHash: Buffer; name: string; address: string; lifetimeSeconds: number },
): Promise<Date | undefined> {
  const [inserted] = await queryRows<{ expiresAt: Date }>(
    db,
    `with gone as (delete from device_codes where not ${OPEN})
     insert into device_codes (device_hash, user_hash, name, address, expires_at)
     select :deviceHash, :userHash, :name, :address, now() + make_interval(secs => :lifetimeSeconds)
      where (select count(*) from device_codes where ${OPEN}) < :most
     returning expires_at as "expiresAt"`,
    { ...code, most: OPEN_MAX },
  );
  return inserted?.expiresAt;
}

/** Returns the command line that waits with this code for people; undefined once it was answered or its time is over. */
export async function findWaitingDevice(db: Db, userHash: Buffer): Promise<WaitingDevice | undefined> {
  const [found] = await queryRows<WaitingDevice>(
    db,
    `select name, address, created_at as "createdAt", expires_at as "expiresAt"
       from device_codes where user_hash = :userHash and answered_at is null and ${OPEN}`,
    { userHash },
  );
  return found;
}

/** Stores the answer, once: of two answers at once the second finds nothing. Returns whose it is. `userId` null: it is refused. */
export async function answerDevice(
  db: Db,
  { userHash, userId }: { userHash: Buffer; userId: string | null },
): Promise<{ name: string } | undefined> {
  const [answered] = await queryRows<{ name: string }>(
    db,
    `update device_codes set answered_at = now(), allowed_by = cast(:userId as text)
      where user_hash = :userHash and answered_at is null and ${OPEN} returning name`,
    { userHash, userId },
  );
  return answered;
}

export type DeviceState =
  | { readonly kind: "unknown" | "early" | "waiting" | "refused" | "too_many" }
  | { readonly kind: "allowed"; readonly token: ListedToken; readonly userId: string };

/**
 * Asks what became of a command line. An answer is given once: then its row is gone, and one that was allowed has the access
 * token of `tokenHash`. `early`: the last question was less than `intervalSeconds` ago, and nothing else is returned. The row's lock makes
 * the second of two questions at once an early one, or one that finds no row.
 */
export async function takeDeviceAnswer(
  db: Db,
  given: { deviceHash: Buffer; tokenHash: Buffer; tokenDays: number; intervalSeconds: number },
): Promise<DeviceState> {
  return db.transaction(async (tx): Promise<DeviceState> => {
    const { deviceHash, tokenHash, tokenDays: days } = given;
    type Row = { name: string; early: boolean; answered: boolean; allowedBy: string | null };
    const [row] = await queryRows<Row>(
      tx,
      `select name, answered_at is not null as answered,
              (select u.id from users u where u.id = allowed_by and u.removed_at is null) as "allowedBy",
              coalesce(polled_at > clock_timestamp() - make_interval(secs => :intervalSeconds), false) as early
         from device_codes where device_hash = :deviceHash and ${OPEN} for update of device_codes`,
      { deviceHash, intervalSeconds: given.intervalSeconds },
    );
    if (row === undefined) return { kind: "unknown" };
    if (row.early) return { kind: "early" };
    if (!row.answered) {
      await queryRows(tx, `update device_codes set polled_at = clock_timestamp() where device_hash = :deviceHash`, {
        deviceHash,
      });
      return { kind: "waiting" };
    }
    await queryRows(tx, `delete from device_codes where device_hash = :deviceHash`, { deviceHash });
    const { allowedBy: userId, name } = row;
    if (userId === null) return { kind: "refused" };
    const made = await insertAccessToken(tx, { tokenHash, userId, name, days, expiresBy: null });
    return made.kind === "too_many" ? { kind: "too_many" } : { kind: "allowed", token: made.token, userId };
  });
}
