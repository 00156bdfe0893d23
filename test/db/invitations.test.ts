import { randomBytes } from "node:crypto";
import { beforeAll, expect, test } from "@jest/globals";
import { findAccessToken, findUserByEmail } from "../../db/accounts/access.ts";
import {
  acceptInvitation,
  createInvitation,
  findInvitation,
  INVITATIONS_MAX,
  listInvitations,
  type OpenInvitation,
  revokeInvitation,
} from "../../db/accounts/invitations.ts";
import { changeRole, listMembers, removeMember } from "../../db/accounts/members.ts";
import { queryRows } from "../../db/connect.ts";
import type { AccountId } from "../../domain/ids.ts";
import type { Role } from "../../domain/members.ts";
import { createUserId } from "../../src/ids.ts";
import { hashToken } from "../../src/keys/tokens.ts";
import { aMember, anAccount, aSessionOf, aTokenOf, type TestMember } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

const { db } = await aFileDatabase();
let accountId: AccountId;
let ada: TestMember;

beforeAll(async () => {
  accountId = await anAccount(db);
  ada = await aMember(db, accountId);
});

const anAddress = (): string => `${randomBytes(8).toString("hex")}@example.test`;

interface Wish {
  readonly email?: string;
  readonly role?: Role;
  readonly by?: string | null;
  readonly accountId?: AccountId;
}

async function invite(wish: Wish = {}) {
  const tokenHash = randomBytes(32);
  const given = { accountId, email: anAddress(), role: "member" as const, by: ada.userId, ...wish };
  return { ...given, tokenHash, outcome: await createInvitation(db, { ...given, tokenHash }) };
}

async function anInvitation(wish: Wish = {}): Promise<OpenInvitation> {
  const { tokenHash } = await invite(wish);
  return (await findInvitation(db, tokenHash)) as OpenInvitation;
}

function accept(invitation: OpenInvitation) {
  return acceptInvitation(db, { invitation, userId: createUserId(), passwordHash: "chosen" });
}

test("invitation, accepted twice at once, makes one member", async () => {
  for (let round = 0; round < 5; round += 1) {
    const invitation = await anInvitation();
    const before = (await listMembers(db, accountId)).length;
    const outcomes = await Promise.all([accept(invitation), accept(invitation), accept(invitation)]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["joined", "unknown", "unknown"]);
    expect((await listMembers(db, accountId)).length).toBe(before + 1);
  }
});

test("invitations of one address to two accounts, accepted at once, make a member of one", async () => {
  const email = anAddress();
  const other = await anAccount(db);
  const bob = await aMember(db, other);
  const invitations = [await anInvitation({ email }), await anInvitation({ email, accountId: other, by: bob.userId })];
  const outcomes = await Promise.all(invitations.map(accept));
  expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["joined", "taken"]);
});

test.each([
  [
    "expired",
    "update invitations set created_at = now() - interval '8 days', expires_at = now() - interval '1 second'",
  ],
  ["revoked", "update invitations set revoked_at = now()"],
])("invitation, %s after it was looked at, makes nobody a member", async (_what, statement) => {
  const invitation = await anInvitation();
  await queryRows(db, `${statement} where id = :invitationId`, { invitationId: invitation.invitationId });
  expect((await accept(invitation)).kind).toBe("unknown");
  expect(await findUserByEmail(db, invitation.email)).toBeUndefined();
});

test("invitation, when a newer one of the same address is made, is good no more", async () => {
  const first = await invite();
  const second = await invite({ email: first.email.toUpperCase(), role: "viewer" });
  expect(await findInvitation(db, first.tokenHash)).toBeUndefined();
  expect(await findInvitation(db, second.tokenHash)).toMatchObject({ role: "viewer", taken: "nobody" });
});

test("invitations of one address, made at once, leave one that is open", async () => {
  const email = anAddress();
  const made = await Promise.all(Array.from({ length: 5 }, () => invite({ email })));
  expect(made.map(({ outcome }) => outcome.kind)).toEqual(made.map(() => "invited"));
  const open = await Promise.all(made.map(({ tokenHash }) => findInvitation(db, tokenHash)));
  expect(open.filter((one) => one !== undefined)).toHaveLength(1);
});

test("invitation, of a member, is refused; of somebody of another account, tells nobody so", async () => {
  const other = await anAccount(db);
  const { email } = await aMember(db, other);
  expect((await invite({ email: ada.email.toUpperCase() })).outcome.kind).toBe("member_already");
  const { outcome, tokenHash } = await invite({ email });
  expect(outcome.kind).toBe("invited");
  const invitation = await findInvitation(db, tokenHash);
  expect(invitation).toMatchObject({ taken: "elsewhere" });
  expect((await accept(invitation as OpenInvitation)).kind).toBe("taken");
  expect(await findUserByEmail(db, email)).toMatchObject({ accountId: other });
});

test("invitations, into an account that nobody owns, are for its owner first", async () => {
  const empty = await anAccount(db);
  expect((await invite({ accountId: empty, by: null })).outcome.kind).toBe("needs_owner");
  const owner = await anInvitation({ accountId: empty, by: null, role: "owner" });
  expect((await accept(owner)).kind).toBe("joined");
  expect((await listMembers(db, empty)).map(({ role }) => role)).toEqual(["owner"]);
});

test("invitation, of somebody who is no owner any more when it is written, is refused", async () => {
  const member = await aMember(db, accountId, "member");
  expect((await invite({ by: member.userId })).outcome.kind).toBe("not_owner");
});

test.each(["demoted", "removed"] as const)("invitations, of an owner who was %s, are revoked with it", async (what) => {
  const eve = await aMember(db, accountId);
  const { tokenHash } = await invite({ by: eve.userId, role: "owner" });
  const kept = await invite();
  const change = { accountId, userId: eve.userId, by: ada.userId };
  if (what === "demoted") await changeRole(db, { ...change, role: "member" });
  else await removeMember(db, change);
  expect(await findInvitation(db, tokenHash)).toBeUndefined();
  expect(await findInvitation(db, kept.tokenHash)).toBeDefined();
});

test("invitation, of somebody who was removed before, brings back the same user and nothing that let them in", async () => {
  const bob = await aMember(db, accountId);
  await removeMember(db, { accountId, userId: bob.userId, by: ada.userId });
  // As a sign-in would leave it that was on its way when the member was removed.
  await queryRows(db, "update users set removed_at = null where id = :userId", { ...bob });
  const [cookie, token] = [await aSessionOf(db, bob.userId), await aTokenOf(db, bob.userId)];
  await queryRows(db, "update users set removed_at = now() where id = :userId", { ...bob });
  const other = await anAccount(db);
  const owner = await aMember(db, other);
  const invitation = await anInvitation({ email: bob.email, accountId: other, by: owner.userId, role: "viewer" });
  expect(await accept(invitation)).toEqual({
    kind: "joined",
    user: { id: bob.userId, accountId: other, email: bob.email, role: "viewer" },
  });
  expect(await findAccessToken(db, hashToken(token))).toBeUndefined();
  expect(
    await queryRows(db, "select from sessions where token_hash = :hash", {
      hash: hashToken(cookie.split("=")[1] as string),
    }),
  ).toEqual([]);
});

test("invitations, more than an account may have open, are refused until one is revoked", async () => {
  const crowded = await anAccount(db);
  const owner = await aMember(db, crowded);
  await queryRows(
    db,
    `insert into invitations (account_id, email, role, token_hash, expires_at)
     select :crowded, n || '@example.test', 'viewer', sha256(cast(n as text)::bytea), now() + interval '1 day'
       from generate_series(1, :most) n`,
    { crowded, most: INVITATIONS_MAX },
  );
  const wish = { accountId: crowded, by: owner.userId };
  expect((await invite(wish)).outcome.kind).toBe("too_many");
  const [first] = await listInvitations(db, crowded);
  expect(await revokeInvitation(db, { accountId, invitationId: first?.invitationId ?? "" })).toBe(false);
  expect(await revokeInvitation(db, { accountId: crowded, invitationId: first?.invitationId ?? "" })).toBe(true);
  expect((await invite(wish)).outcome.kind).toBe("invited");
});
