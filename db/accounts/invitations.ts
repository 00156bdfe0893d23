import type { AccountId } from "../../domain/ids.ts";
import { INVITATION_DAYS, type Role } from "../../domain/members.ts";
import { type Db, queryRows } from "../connect.ts";
import type { User } from "./access.ts";
import { endAccess, isOwner, isOwnerless, lockMembers } from "./members.ts";

export interface Invitation {
  readonly invitationId: string;
  readonly email: string;
  readonly role: Role;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** The address of who did; of the operator: `operator`. */
  readonly invitedBy: string;
}

/** Open invitations of one account. */
export const INVITATIONS_MAX = 100;
const OPEN = `i.accepted_at is null and i.revoked_at is null and i.expires_at > now()`;

export type InviteOutcome =
  | { readonly kind: "invited"; readonly invitationId: string; readonly expiresAt: Date }
  | { readonly kind: "not_owner" }
  /** Of this account. It does not show who belongs to another account. */
  | { readonly kind: "member_already" }
  /** Nobody owns the account yet: its first member has to. */
  | { readonly kind: "needs_owner" }
  | { readonly kind: "too_many" };

/**
 * Makes an invitation with the hash of a token, for a week. An invitation of the same address that is open is revoked:
 * of several links the last one counts. Alone, so that nobody who is being removed leaves an invitation behind.
 */
export async function createInvitation(
  db: Db,
  given: { accountId: AccountId; email: string; role: Role; tokenHash: Buffer; by: string | null },
): Promise<InviteOutcome> {
  const { accountId, email, role, by } = given;
  return db.transaction(async (tx) => {
    await lockMembers(tx, accountId);
    if (!(await isOwner(tx, { accountId, by }))) return { kind: "not_owner" };
    const [state] = await queryRows<{ owned: boolean; known: boolean; open: number }>(
      tx,
      `select exists (select from users where account_id = :accountId and role = 'owner' and removed_at is null) as owned,
              exists (select from users where account_id = :accountId and lower(email) = lower(:email) and removed_at is null) as known,
              (select count(*)::int from invitations i where i.account_id = :accountId and ${OPEN}) as open`,
      { accountId, email },
    );
    if (state?.known === true) return { kind: "member_already" };
    if (state?.owned !== true && role !== "owner") return { kind: "needs_owner" };
    if ((state?.open ?? 0) >= INVITATIONS_MAX) return { kind: "too_many" };
    await queryRows(
      tx,
      `update invitations set revoked_at = now()
        where account_id = :accountId and lower(email) = lower(:email) and accepted_at is null and revoked_at is null`,
      { accountId, email },
    );
    const [row] = await queryRows<{ invitationId: string; expiresAt: Date }>(
      tx,
      `insert into invitations (account_id, email, role, token_hash, invited_by, expires_at)
       values (:accountId, :email, :role, :tokenHash, :by, now() + make_interval(days => :days))
       returning id as "invitationId", expires_at as "expiresAt"`,
      { ...given, days: INVITATION_DAYS },
    );
    return { kind: "invited", ...(row as { invitationId: string; expiresAt: Date }) };
  });
}

/** The invitations of an account that can still be accepted, the newest first. */
export async function listInvitations(db: Db, accountId: AccountId): Promise<Invitation[]> {
  return queryRows<Invitation>(
    db,
    `select i.id as "invitationId", i.email, i.role, i.created_at as "createdAt", i.expires_at as "expiresAt",
            coalesce(u.email, 'operator') as "invitedBy"
       from invitations i left join users u on u.id = i.invited_by
      where i.account_id = :accountId and ${OPEN} order by i.created_at desc, i.id`,
    { accountId },
  );
}

/** Returns whether there was one that could still be accepted. */
export async function revokeInvitation(
  db: Db,
  given: { accountId: AccountId; invitationId: string },
): Promise<boolean> {
  const rows = await queryRows(
    db,
    `update invitations i set revoked_at = now() where i.id = :invitationId and i.account_id = :accountId and ${OPEN}
     returning i.id`,
    { ...given },
  );
  return rows.length > 0;
}

/** Who already has the address of an invitation: nobody, a member of its account, or a member of another one. */
export type Taken = "nobody" | "here" | "elsewhere";

export interface OpenInvitation {
  readonly invitationId: string;
  readonly accountId: AccountId;
  readonly accountName: string;
  readonly email: string;
  readonly role: Role;
  readonly taken: Taken;
}

/** The invitation of a token, when it can still be accepted. */
export async function findInvitation(db: Db, tokenHash: Buffer): Promise<OpenInvitation | undefined> {
  const [row] = await queryRows<OpenInvitation>(
    db,
    `select i.id as "invitationId", i.account_id as "accountId", a.name as "accountName", i.email, i.role,
            case when u.id is null then 'nobody' when u.account_id = i.account_id then 'here' else 'elsewhere' end as taken
       from invitations i join accounts a on a.id = i.account_id
       left join users u on lower(u.email) = lower(i.email) and u.removed_at is null
      where i.token_hash = :tokenHash and ${OPEN}`,
    { tokenHash },
  );
  return row;
}

export type AcceptOutcome =
  | { readonly kind: "joined"; readonly user: User }
  /** Accepted, revoked or expired meanwhile. */
  | { readonly kind: "unknown" }
  /** A user has the address. */
  | { readonly kind: "taken" }
  /** Nobody owns the account any more. */
  | { readonly kind: "needs_owner" };

/**
 * Makes the holder of the invitation a member, once. The row is locked, so that of two who accept it at once the second
 * finds it accepted. A user who was removed from an account before comes back as the same user, with a new password,
 * and without old sessions or tokens.
 */
export async function acceptInvitation(
  db: Db,
  given: { invitation: OpenInvitation; userId: string; passwordHash: string },
): Promise<AcceptOutcome> {
  const { invitation, ...user } = given;
  const { invitationId, accountId } = invitation;
  try {
    return await db.transaction(async (tx) => {
      await lockMembers(tx, accountId);
      const open = await queryRows(tx, `select from invitations i where i.id = :invitationId and ${OPEN} for update`, {
        invitationId,
      });
      if (open.length === 0) return { kind: "unknown" };
      const [joined] = await queryRows<User>(
        tx,
        `insert into users as u (id, account_id, email, role, password_hash, password_changed_at)
         select :userId, i.account_id, i.email, i.role, :passwordHash, now() from invitations i where i.id = :invitationId
         on conflict (lower(email)) do update
            set account_id = excluded.account_id, email = excluded.email, role = excluded.role, removed_at = null,
                password_hash = excluded.password_hash, password_changed_at = now(), created_at = now(), seen_at = null
          where u.removed_at is not null
         returning u.id, u.account_id as "accountId", u.email, u.role`,
        { ...user, invitationId },
      );
      if (joined === undefined) return { kind: "taken" };
      await endAccess(tx, joined.id);
      await queryRows(
        tx,
        `update invitations set accepted_at = now(), accepted_by = :userId where id = :invitationId`,
        {
          invitationId,
          userId: joined.id,
        },
      );
      return { kind: "joined", user: joined };
    });
  } catch (error) {
    if (!isOwnerless(error)) throw error;
    return { kind: "needs_owner" };
  }
}
