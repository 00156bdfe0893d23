import { expect, test } from "@jest/globals";
import { insertOperatorToken } from "../../../db/accounts/access.ts";
import { queryRows } from "../../../db/connect.ts";
import { createAccessToken, hashToken } from "../../../src/keys/tokens.ts";
import { aMember, anAccount, aSessionOf, aTokenOf, aUser, type TestMember } from "../../support/builders.ts";
import type { Answer } from "../../support/https.ts";
import { aFileService } from "../service.ts";
import { aHouse, ask, byNumber, cookieOf, findLeaks } from "./people.ts";

const service = await aFileService();

const SESSIONS = "/api/sessions";
const TOKENS = "/api/tokens";
const NEW_PASSWORD = "staple battery horse correct";

async function signIn(user: { email: string; password: string }, userAgent = "test"): Promise<string> {
  const { email, password } = user;
  const headers = { "user-agent": userAgent };
  return cookieOf(await ask(service, "/api/session", { json: { email, password }, headers })) ?? "";
}

async function sessionsOf(cookie: string): Promise<Record<string, unknown>[]> {
  return (await ask(service, SESSIONS, {}, { cookie })).json()["sessions"] as Record<string, unknown>[];
}

function bearer(token: string): { headers: Record<string, string> } {
  return { headers: { authorization: `Bearer ${token}` } };
}

test("sessions, of somebody with two browsers, show both and which one asks", async () => {
  const user = await aUser(service.db, { accountId: await anAccount(service.db) });
  const [first, second] = [await signIn(user, "Firefox"), await signIn(user, `Chrome ${"x".repeat(400)}`)];
  const sessions = await sessionsOf(first);
  const one = { sessionId: expect.stringMatching(/^ses_/), createdAt: expect.any(String), seenAt: expect.any(String) };
  expect(sessions).toHaveLength(2);
  expect(sessions).toContainEqual({ ...one, userAgent: "Firefox", current: true });
  expect(sessions).toContainEqual({ ...one, userAgent: `Chrome ${"x".repeat(293)}`, current: false });
  const ended = await ask(service, SESSIONS, { method: "DELETE" }, { cookie: first });
  expect([ended.status, ended.json()]).toEqual([200, { ended: 1 }]);
  expect(await sessionsOf(first)).toHaveLength(1);
  expect((await ask(service, SESSIONS, {}, { cookie: second })).status).toBe(401);
});

test("a session, ended by its id, is over; one's own makes the browser forget it", async () => {
  const { viewer, owner } = await aHouse(service);
  const other = await aSessionOf(service.db, viewer.userId);
  const [theirs] = (await sessionsOf(other)).filter(({ current }) => current === true);
  const path = `${SESSIONS}/${String(theirs?.["sessionId"])}`;
  expect((await ask(service, path, { method: "DELETE" }, owner)).status).toBe(404);
  const ended = await ask(service, path, { method: "DELETE" }, viewer);
  expect([ended.status, ended.json(), cookieOf(ended)]).toEqual([200, { ended: 1 }, undefined]);
  expect((await ask(service, SESSIONS, {}, { cookie: other })).status).toBe(401);
  const [own] = await sessionsOf(viewer.cookie);
  const last = await ask(service, `${SESSIONS}/${String(own?.["sessionId"])}`, { method: "DELETE" }, viewer);
  expect([last.status, cookieOf(last)]).toEqual([200, "__Host-session="]);
  expect((await ask(service, SESSIONS, {}, viewer)).status).toBe(401);
});

test("sessions, asked to end by an access token, all end", async () => {
  const { viewer } = await aHouse(service);
  await aSessionOf(service.db, viewer.userId);
  const ended = await ask(service, SESSIONS, { method: "DELETE", ...bearer(viewer.token) });
  expect(ended.json()).toEqual({ ended: 2 });
  expect((await ask(service, SESSIONS, bearer(viewer.token))).json()).toEqual({ sessions: [] });
});

test("sessions, idle or over, are not shown", async () => {
  const { viewer } = await aHouse(service);
  for (const what of ["seen_at = now() - interval '8 days'", "expires_at = now()"]) {
    const cookie = await aSessionOf(service.db, viewer.userId);
    await queryRows(service.db, `update sessions set ${what} where token_hash = :hash`, {
      hash: hashToken(cookie.split("=")[1] as string),
    });
  }
  expect(await sessionsOf(viewer.cookie)).toHaveLength(1);
});

function changePassword(json: unknown, cookie: string): Promise<Answer> {
  return ask(service, "/api/password", { method: "PUT", json }, { cookie });
}

test("password, changed, ends every session but this one, which goes on under a new token; tokens stay", async () => {
  const user = await aUser(service.db, { accountId: await anAccount(service.db) });
  const [cookie, other] = [await signIn(user), await signIn(user)];
  const token = await aTokenOf(service.db, user.userId);
  const answer = await changePassword({ currentPassword: user.password, newPassword: NEW_PASSWORD }, cookie);
  expect([answer.status, answer.json()]).toEqual([200, { changed: true }]);
  const fresh = cookieOf(answer) as string;
  expect(fresh).toMatch(/^__Host-session=[\w-]{43}$/);
  expect([cookie, other]).not.toContain(fresh);
  const statuses = [cookie, other, fresh].map(
    async (one) => (await ask(service, SESSIONS, {}, { cookie: one })).status,
  );
  expect(await Promise.all(statuses)).toEqual([401, 401, 200]);
  expect((await ask(service, SESSIONS, bearer(token))).status).toBe(200);
  expect(await signIn(user)).toBe("");
  expect(await signIn({ ...user, password: NEW_PASSWORD })).not.toBe("");
  expect(await findLeaks(service, [NEW_PASSWORD, user.password, fresh.split("=")[1] as string])).toEqual([]);
});

test("password, changed twice at once, is one of the two, and one browser is told", async () => {
  const user = await aUser(service.db, { accountId: await anAccount(service.db) });
  const [first, second] = [await signIn(user), await signIn(user)];
  const change = (cookie: string, newPassword: string) =>
    changePassword({ currentPassword: user.password, newPassword }, cookie);
  const answers = await Promise.all([change(first, `${NEW_PASSWORD} 1`), change(second, `${NEW_PASSWORD} 2`)]);
  const statuses = answers.map(({ status }) => status);
  // The slower one finds another password, or that it was changed while it looked.
  expect([...statuses].sort(byNumber)).toEqual([200, expect.any(Number)]);
  expect([400, 401, 409]).toContain(Math.max(...statuses));
  const works = await Promise.all([1, 2].map((which) => signIn({ ...user, password: `${NEW_PASSWORD} ${which}` })));
  expect(works.map((cookie) => cookie !== "")).toEqual(statuses.map((status) => status === 200));
});

test.each([
  ["a wrong one now", { currentPassword: "wrong", newPassword: NEW_PASSWORD }, "currentPassword"],
  ["a short new one", { newPassword: "short" }, "newPassword"],
  ["the same as the new one", { newPassword: undefined }, "newPassword"],
  ["a new one of 1,001 characters", { newPassword: "abcdefg".repeat(143) }, "newPassword"],
  ["a number as the new one", { newPassword: 1_234_567_890 }, "newPassword"],
])("password, changed with %s, is refused by name and stays", async (_what, given, input) => {
  const user = await aUser(service.db, { accountId: await anAccount(service.db) });
  const cookie = await aSessionOf(service.db, user.userId);
  const json = { currentPassword: user.password, ...given };
  const answer = await changePassword({ ...json, newPassword: json.newPassword ?? user.password }, cookie);
  expect([answer.status, answer.json()]).toMatchObject([400, { error: "Invalid request", details: [{ input }] }]);
  expect(cookieOf(answer)).toBeUndefined();
  expect((await ask(service, SESSIONS, {}, { cookie })).status).toBe(200);
});

test("password, guessed at in a browser left open, is answered 429 after ten guesses there, and not to its owner elsewhere", async () => {
  const user = await aUser(service.db, { accountId: await anAccount(service.db) });
  const cookie = await aSessionOf(service.db, user.userId);
  const wrong = { currentPassword: "wrong", newPassword: NEW_PASSWORD };
  const guesses = await Promise.all(Array.from({ length: 11 }, () => changePassword(wrong, cookie)));
  expect(guesses.map(({ status }) => status).sort(byNumber)).toEqual([...Array.from({ length: 10 }, () => 400), 429]);
  const right = await changePassword({ currentPassword: user.password, newPassword: NEW_PASSWORD }, cookie);
  expect([right.status, right.json()["error"]]).toEqual([429, "Rate limit exceeded"]);
  expect(Number(right.headers["retry-after"])).toBeGreaterThan(0);
  expect(await signIn(user)).not.toBe("");
});

test("password, changed by an access token, is refused", async () => {
  const { viewer } = await aHouse(service);
  const json = { currentPassword: "none", newPassword: NEW_PASSWORD };
  const answer = await ask(service, "/api/password", { method: "PUT", json, ...bearer(viewer.token) });
  expect([answer.status, answer.json()["error"]]).toEqual([403, "Forbidden"]);
});

async function createToken(who: TestMember, json: unknown, by?: { headers: Record<string, string> }): Promise<Answer> {
  return ask(service, TOKENS, { json, ...by }, by === undefined ? who : undefined);
}

test("access token, made in the editor, acts with its user's role and is shown once", async () => {
  const { viewer } = await aHouse(service);
  const made = await createToken(viewer, { name: "laptop", days: 30 });
  const { token, ...listed } = made.json();
  expect([made.status, token, listed]).toEqual([
    201,
    expect.stringMatching(/^trp_[\w-]{43}$/),
    {
      tokenId: expect.stringMatching(/^tok_[0-9a-f]{32}$/),
      name: "laptop",
      createdAt: expect.any(String),
      lastUsedAt: null,
      expiresAt: expect.any(String),
    },
  ]);
  expect((Date.parse(String(listed["expiresAt"])) - Date.now()) / 86_400_000).toBeCloseTo(30, 1);
  const own = bearer(String(token));
  expect((await ask(service, "/api/members", own)).status).toBe(200);
  expect((await ask(service, "/api/invitations", { json: {}, ...own })).status).toBe(403);
  const { tokens } = (await ask(service, TOKENS, {}, viewer)).json() as { tokens: Record<string, unknown>[] };
  expect(tokens.map(({ name }) => name)).toEqual(["laptop", "test"]);
  expect(tokens[0]).toEqual({ ...listed, lastUsedAt: expect.any(String) });
  expect(await findLeaks(service, [String(token), String(token).slice(4)])).toEqual([]);
  const path = `${TOKENS}/${String(listed["tokenId"])}`;
  const revoked = await ask(service, path, { method: "DELETE" }, viewer);
  expect([revoked.status, revoked.json()]).toEqual([200, { tokenId: listed["tokenId"], revoked: true }]);
  expect((await ask(service, path, { method: "DELETE" }, viewer)).status).toBe(404);
  expect((await ask(service, "/api/members", own)).status).toBe(401);
});

test("access token, over, opens nothing and is not shown", async () => {
  const { viewer } = await aHouse(service);
  await queryRows(service.db, "update access_tokens set expires_at = now() where user_id = :userId", { ...viewer });
  expect((await ask(service, TOKENS, bearer(viewer.token))).status).toBe(401);
  expect((await ask(service, TOKENS, {}, viewer)).json()).toEqual({ tokens: [] });
});

test("access token, made with one that ends, ends no later", async () => {
  const { viewer } = await aHouse(service);
  const first = (await createToken(viewer, { name: "short", days: 1 })).json();
  for (const days of [null, 365]) {
    const second = (await createToken(viewer, { name: "long", days }, bearer(String(first["token"])))).json();
    expect(second["expiresAt"]).toBe(first["expiresAt"]);
  }
  expect((await createToken(viewer, { name: "for ever", days: null })).json()["expiresAt"]).toBeNull();
});

test.each([
  ["no name", { name: "", days: 1 }, "name"],
  ["too long a name", { name: "n".repeat(101), days: 1 }, "name"],
  ["no word of its end", { name: "n" }, "days"],
  ["no day", { name: "n", days: 0 }, "days"],
  ["more than a year", { name: "n", days: 366 }, "days"],
  ["half a day", { name: "n", days: 0.5 }, "days"],
])("access token, with %s, is refused by name", async (_what, json, input) => {
  const { viewer } = await aHouse(service);
  const answer = await createToken(viewer, json);
  expect([answer.status, answer.json()]).toMatchObject([400, { details: [{ input }] }]);
});

test("access tokens, more than somebody may have, are refused until one is revoked", async () => {
  const { viewer } = await aHouse(service);
  await queryRows(
    service.db,
    `insert into access_tokens (token_hash, name, user_id, account_id)
     select sha256(cast(id || n as bytea)), '', id, account_id from users, generate_series(1, 99) n where id = :userId`,
    { ...viewer },
  );
  const full = await createToken(viewer, { name: "one more", days: 1 });
  expect([full.status, full.json()["error"]]).toEqual([409, "Conflict"]);
  await queryRows(service.db, "update access_tokens set revoked_at = now() where name = 'test'");
  expect((await createToken(viewer, { name: "one more", days: 1 })).status).toBe(201);
});

test.each([SESSIONS, TOKENS])("%s, by the operator's token, is refused: it is nobody's", async (path) => {
  const token = createAccessToken();
  await insertOperatorToken(service.db, { tokenHash: hashToken(token), name: "test" });
  const answer = await ask(service, path, bearer(token));
  expect([answer.status, answer.json()["error"]]).toEqual([403, "Forbidden"]);
});

test("a session, of somebody who was removed and comes back, stays over", async () => {
  const { accountId, owner, viewer } = await aHouse(service);
  await ask(service, `/api/members/${viewer.userId}`, { method: "DELETE" }, owner);
  const invited = await ask(service, "/api/invitations", { json: { email: viewer.email, role: "owner" } }, owner);
  const token = String(invited.json()["url"]).split("#")[1];
  const joined = await ask(service, "/api/join", { json: { token, password: NEW_PASSWORD } });
  expect(joined.json()).toMatchObject({ accountId, userId: viewer.userId, role: "owner" });
  expect((await ask(service, SESSIONS, {}, viewer)).status).toBe(401);
  expect((await ask(service, SESSIONS, bearer(viewer.token))).status).toBe(401);
  await aMember(service.db, accountId);
});
