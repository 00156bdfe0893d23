import type { AccountId } from "../../domain/ids.ts";
import type { Role } from "../../domain/members.ts";
import { type Db, queryRows, sqlState } from "../connect.ts";

export interface Member {
  readonly userId: string;
  readonly email: string;
  readonly role: Role;
  /** When they joined. */
  readonly createdAt: Date;
  /** Null: never yet. */
  readonly lastSeenAt: Date | null;
}

/** Whom a change of members is about, and who makes it: an owner of the account, or the operator (null). */
interface Change {
  readonly accountId: AccountId;
  readonly userId: string;
  readonly by: string | null;
}

export type Refused =
  /** Nobody of that id belongs to the account. */
  | { readonly kind: "unknown" }
  /** Who makes the change is no owner any more. */
  | { readonly kind: "not_owner" }
  /** An account with members keeps an owner. */
  | { readonly kind: "last_owner" };

const CHECK_VIOLATION = "23514";
const COLUMNS = `id as "userId", email, role, created_at as "createdAt", seen_at as "lastSeenAt"`;

/** Who belongs to an account, in the order they joined. */
export async function listMembers(db: Db, accountId: AccountId): Promise<Member[]> {
  return queryRows<Member>(
    db,
    `select ${COLUMNS} from users where account_id = :accountId and removed_at is null order by created_at, id`,
    { accountId },
  );
}

export async function findMember(
  db: Db,
  { accountId, userId }: { accountId: AccountId; userId: string },
): Promise<Member | undefined> {
  const [row] = await queryRows<Member>(
    db,
    `select ${COLUMNS} from users where id = :userId and account_id = :accountId and removed_at is null`,
    { accountId, userId },
  );
  return row;
}

/**
 * Gives a member another role and ends their sessions, so that nobody goes on with a session that meant less, or more.
 * Open invitations by a user who is no longer an owner are revoked. The role they have already changes nothing.
 */
export async function changeRole(
  db: Db,
  change: Change & { readonly role: Role },
): Promise<{ kind: "changed"; member: Member; previousRole: Role } | Refused> {
  return changeMembers(db, change, async (tx) => {
    const [previous] = await queryRows<{ role: Role }>(
      tx,
      `select role from users where id = :userId and account_id = :accountId and removed_at is null for no key update`,
      { userId: change.userId, accountId: change.accountId },
    );
    if (previous === undefined) return { kind: "unknown" };
    const [member] = await queryRows<Member>(
      tx,
      `update users set role = :role where id = :userId returning ${COLUMNS}`,
      { userId: change.userId, role: change.role },
    );
    if (previous.role !== change.role)
      await queryRows(tx, `delete from sessions where user_id = :userId`, { userId: change.userId });
    if (change.role !== "owner") await revokeInvitationsOf(tx, change.userId);
    return { kind: "changed", member: member as Member, previousRole: previous.role };
  });
}

/**
 * Removes a member from an account. From the next moment on, their sessions and tokens are not good, and nobody can
 * join by their invitations. Their password is forgotten; what they did keeps their name. Members may remove
 * themselves.
 */
export async function removeMember(db: Db, change: Change): Promise<{ kind: "removed" } | Refused> {
  return changeMembers(db, change, async (tx) => {
    const gone = await queryRows(
      tx,
      `update users set removed_at = now(), password_hash = 'removed'
        where id = :userId and account_id = :accountId and removed_at is null returning id`,
      { userId: change.userId, accountId: change.accountId },
    );
    if (gone.length === 0) return { kind: "unknown" };
    await endAccess(tx, change.userId);
    await revokeInvitationsOf(tx, change.userId);
    return { kind: "removed" };
  });
}

/**
 * Ends all that lets a user in. After the user's row is locked or changed: a sign-in that was under way has ended by
 * then.
 */
export async function endAccess(tx: Db, userId: string): Promise<void> {
  await queryRows(tx, `delete from sessions where user_id = :userId`, { userId });
  await queryRows(tx, `delete from access_tokens where user_id = :userId`, { userId });
}

/** Locks the membership of an account until the transaction ends: what the caller has read stays so. */
export async function lockMembers(tx: Db, accountId: AccountId): Promise<void> {
  await queryRows(tx, `select lock_members(:accountId)`, { accountId });
}

/**
 * Whether this user owns the account, or is the operator (null). Within `lockMembers`: and will until the transaction
 * ends.
 */
export async function isOwner(
  tx: Db,
  { accountId, by }: { accountId: AccountId; by: string | null },
): Promise<boolean> {
  if (by === null) return true;
  const rows = await queryRows(
    tx,
    `select from users where id = :by and account_id = :accountId and role = 'owner' and removed_at is null`,
    { by, accountId },
  );
  return rows.length > 0;
}

/** Returns whether a statement was refused because it left an account with members and no owner. */
export function isOwnerless(error: unknown): boolean {
  const { constraint } = error as { constraint?: unknown };
  return sqlState(error) === CHECK_VIOLATION && constraint === "account_keeps_an_owner";
}

/**
 * Runs a change alone, when who makes it is still an owner, or removes themselves. Of two owners who take the role from each
 * other at once, one is too late.
 */
async function changeMembers<Done>(
  db: Db,
  { accountId, userId, by, ...change }: Change & { readonly role?: Role },
  perform: (tx: Db) => Promise<Done | Refused>,
): Promise<Done | Refused> {
  try {
    return await db.transaction(async (tx) => {
      await lockMembers(tx, accountId);
      const isLeaving = by === userId && change.role === undefined;
      if (!isLeaving && !(await isOwner(tx, { accountId, by }))) return { kind: "not_owner" } as const;
      return await perform(tx);
    });
  } catch (error) {
    if (!isOwnerless(error)) throw error;
    return { kind: "last_owner" };
  }
}

async function revokeInvitationsOf(tx: Db, userId: string): Promise<void> {
  await queryRows(
    tx,
    `update invitations set revoked_at = now() where invited_by = :userId and accepted_at is null and revoked_at is null`,
    { userId },
  );
}
