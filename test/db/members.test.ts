import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { findAccessToken, findSessionUser, putUser } from "../../db/accounts/access.ts";
import { changeRole, listMembers, removeMember } from "../../db/accounts/members.ts";
import { insertSession } from "../../db/accounts/sessions.ts";
import { type Db, queryRows } from "../../db/connect.ts";
import type { AccountId } from "../../domain/ids.ts";
import { createUserId } from "../../src/ids.ts";
import { createSessionToken, hashToken } from "../../src/keys/tokens.ts";
import { aMember, anAccount, type TestMember } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

const IDLE_SECONDS = 604_800;

const database = await aFileDatabase();
const { db } = database;

/** An account with this many owners. */
async function aHouse(owners: number): Promise<{ accountId: AccountId; owners: TestMember[] }> {
  const accountId = await anAccount(db);
  const members: TestMember[] = [];
  for (let count = 0; count < owners; count += 1) members.push(await aMember(db, accountId));
  return { accountId, owners: members };
}

async function rolesOf(accountId: AccountId): Promise<string[]> {
  return (await listMembers(db, accountId)).map(({ role }) => role).sort();
}

function sessionOf({ cookie }: TestMember) {
  return findSessionUser(db, hashToken(cookie.split("=")[1] as string), IDLE_SECONDS);
}

test.each([
  ["update users set role = 'member' where account_id = :accountId"],
  ["update users set removed_at = now() where account_id = :accountId"],
  ["delete from users where account_id = :accountId"],
  ["update users set account_id = :other where account_id = :accountId and role = 'owner'"],
])("users, by %s, cannot leave an account without an owner", async (statement) => {
  const { accountId } = await aHouse(2);
  const { accountId: other } = await aHouse(1);
  await aMember(db, accountId, "viewer");
  await expect(queryRows(db, statement, { accountId, other })).rejects.toMatchObject({
    code: "23514",
    constraint: "account_keeps_an_owner",
  });
  expect(await rolesOf(accountId)).toEqual(["owner", "owner", "viewer"]);
});

test("users, into an account that nobody owns, are owners or are refused", async () => {
  const accountId = await anAccount(db);
  for (const role of ["member", "viewer"] as const)
    await expect(aMember(db, accountId, role)).rejects.toMatchObject({ constraint: "account_keeps_an_owner" });
  await aMember(db, accountId);
  await aMember(db, accountId, "viewer");
  expect(await rolesOf(accountId)).toEqual(["owner", "viewer"]);
});

test("users, an owner stepping down while another does by a statement that knows of no lock, waits and is refused", async () => {
  const { accountId, owners } = await aHouse(2);
  const [ada, bob] = owners as [TestMember, TestMember];
  const stepDown = (tx: Db, { userId }: TestMember) =>
    queryRows(tx, "update users set role = 'viewer' where id = :userId", { userId });
  let second: Promise<unknown> = Promise.resolve();
  let settled = false;
  await db.transaction(async (tx) => {
    await stepDown(tx, ada);
    second = stepDown(db, bob).finally(() => (settled = true));
    second.catch(() => undefined);
    // It has done what it will do, or waits for what this transaction becomes.
    while (!settled && !(await isSomebodyWaiting())) await sleep(5);
  });
  await expect(second).rejects.toMatchObject({ constraint: "account_keeps_an_owner" });
  expect(await rolesOf(accountId)).toEqual(["owner", "viewer"]);
});

/** Whether a session of this test's database waits for a lock of the kind that members are changed under. */
async function isSomebodyWaiting(): Promise<boolean> {
  const rows = await queryRows(
    db,
    `select from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`,
  );
  return rows.length > 0;
}

test("changeRole, of two owners who take the role from each other at once, lets one be quicker", async () => {
  for (let round = 0; round < 5; round += 1) {
    const { accountId, owners } = await aHouse(2);
    const [ada, bob] = owners as [TestMember, TestMember];
    const outcomes = await Promise.all([
      changeRole(db, { accountId, userId: bob.userId, by: ada.userId, role: "member" }),
      changeRole(db, { accountId, userId: ada.userId, by: bob.userId, role: "member" }),
    ]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["changed", "not_owner"]);
    expect(await rolesOf(accountId)).toEqual(["member", "owner"]);
  }
});

test("changeRole, of many owners who all step down at once, keeps one", async () => {
  const { accountId, owners } = await aHouse(6);
  const outcomes = await Promise.all(
    owners.map(({ userId }) => changeRole(db, { accountId, userId, by: userId, role: "viewer" })),
  );
  expect(outcomes.filter(({ kind }) => kind === "changed")).toHaveLength(5);
  expect(outcomes.filter(({ kind }) => kind === "last_owner")).toHaveLength(1);
  expect(await rolesOf(accountId)).toEqual(["owner", ...Array.from({ length: 5 }, () => "viewer")]);
});

test("removeMember, of two owners who remove each other at once, keeps one", async () => {
  for (let round = 0; round < 5; round += 1) {
    const { accountId, owners } = await aHouse(2);
    const [ada, bob] = owners as [TestMember, TestMember];
    const outcomes = await Promise.all([
      removeMember(db, { accountId, userId: bob.userId, by: ada.userId }),
      removeMember(db, { accountId, userId: ada.userId, by: bob.userId }),
    ]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["not_owner", "removed"]);
    expect(await rolesOf(accountId)).toEqual(["owner"]);
  }
});

test("removeMember, of somebody who is in, ends sessions, tokens and the password with them", async () => {
  const { accountId, owners } = await aHouse(2);
  const [ada, bob] = owners as [TestMember, TestMember];
  expect(await sessionOf(bob)).toMatchObject({ id: bob.userId, role: "owner" });
  expect(await findAccessToken(db, hashToken(bob.token))).toMatchObject({ user: { id: bob.userId } });
  expect(await removeMember(db, { accountId, userId: bob.userId, by: ada.userId })).toEqual({ kind: "removed" });
  expect([await sessionOf(bob), await findAccessToken(db, hashToken(bob.token))]).toEqual([undefined, undefined]);
  const [left] = await queryRows<{ hash: string; sessions: number; tokens: number }>(
    db,
    `select password_hash as hash, (select count(*)::int from sessions where user_id = u.id) as sessions,
            (select count(*)::int from access_tokens where user_id = u.id) as tokens from users u where id = :userId`,
    { userId: bob.userId },
  );
  expect(left).toEqual({ hash: "removed", sessions: 0, tokens: 0 });
  expect(await removeMember(db, { accountId, userId: bob.userId, by: ada.userId })).toEqual({ kind: "unknown" });
});

test("sessions and tokens, of somebody whose row alone says removed, let nobody in", async () => {
  const { accountId } = await aHouse(1);
  const viewer = await aMember(db, accountId, "viewer");
  await queryRows(db, "update users set removed_at = now() where id = :userId", { userId: viewer.userId });
  expect([await sessionOf(viewer), await findAccessToken(db, hashToken(viewer.token))]).toEqual([undefined, undefined]);
});

test("insertSession, with a password that was changed meanwhile, or of somebody removed, makes none", async () => {
  const { accountId } = await aHouse(1);
  const { userId } = await aMember(db, accountId, "viewer");
  const insert = (passwordHash: string | null) =>
    insertSession(db, {
      userId,
      passwordHash,
      userAgent: "",
      lifetimeSeconds: 60,
      tokenHash: hashToken(createSessionToken()),
    });
  expect([await insert("none"), await insert("another"), await insert(null)]).toEqual([true, false, true]);
  await queryRows(db, "update users set removed_at = now() where id = :userId", { userId });
  expect(await insert(null)).toBe(false);
});

test("insertSession, more often than somebody has browsers, ends the ones seen least lately", async () => {
  const { accountId } = await aHouse(1);
  const { userId } = await aMember(db, accountId, "viewer");
  await queryRows(db, "update sessions set seen_at = now() - interval '1 day' where user_id = :userId", { userId });
  const insert = () =>
    insertSession(db, {
      userId,
      passwordHash: null,
      userAgent: "new",
      lifetimeSeconds: 60,
      tokenHash: hashToken(createSessionToken()),
    });
  for (let count = 0; count < 100; count += 1) await insert();
  const agents = await queryRows<{ agent: string }>(
    db,
    "select distinct user_agent as agent, count(*)::int from sessions where user_id = :userId group by 1",
    { userId },
  );
  expect(agents).toEqual([{ agent: "new", count: 100 }]);
});

test("access tokens, of a user, stand for the account the user belongs to, by a constraint", async () => {
  const { accountId, owners } = await aHouse(1);
  const { accountId: other } = await aHouse(1);
  const [ada] = owners as [TestMember];
  for (const [name, user, account] of [
    ["account_is_the_users", ada.userId, other],
    ["operator_or_user", null, accountId],
    ["operator_or_user", ada.userId, null],
  ]) {
    await expect(
      queryRows(
        db,
        `insert into access_tokens (token_hash, name, user_id, account_id) values (:hash, '', :user, :account)`,
        { hash: hashToken(createSessionToken()), user, account },
      ),
    ).rejects.toMatchObject({ constraint: name });
  }
});

test("findSessionUser, by many requests at once, lets none of them wait for another", async () => {
  const { owners } = await aHouse(1);
  const [ada] = owners as [TestMember];
  await queryRows(db, "update sessions set seen_at = now() - interval '1 hour' where user_id = :userId", { ...ada });
  await queryRows(db, "update users set seen_at = now() - interval '1 hour' where id = :userId", { ...ada });
  await db.transaction(async (tx) => {
    await queryRows(tx, "select from users where id = :userId for update", { ...ada });
    await queryRows(tx, "select from sessions where user_id = :userId for update", { ...ada });
    expect(await sessionOf(ada)).toMatchObject({ id: ada.userId });
    expect(await findAccessToken(db, hashToken(ada.token))).toMatchObject({ user: { id: ada.userId } });
  });
  const found = await Promise.all(Array.from({ length: 20 }, () => sessionOf(ada)));
  expect(found.map((user) => user?.id)).toEqual(found.map(() => ada.userId));
  const [seen] = await queryRows<{ session: boolean; user: boolean }>(
    db,
    `select s.seen_at > now() - interval '5 minutes' as session, u.seen_at > now() - interval '5 minutes' as user
       from sessions s join users u on u.id = s.user_id where u.id = :userId`,
    { ...ada },
  );
  expect(seen).toEqual({ session: true, user: true });
});

test("putUser, of an address that was removed, brings nobody back", async () => {
  const { accountId } = await aHouse(1);
  const viewer = await aMember(db, accountId, "viewer");
  await queryRows(db, "update users set removed_at = now() where id = :userId", { ...viewer });
  await putUser(db, { id: createUserId(), accountId, email: viewer.email, role: "owner", passwordHash: "new" });
  expect(await rolesOf(accountId)).toEqual(["owner"]);
});
