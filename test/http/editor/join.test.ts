import { beforeAll, expect, test } from "@jest/globals";
import { insertOperatorToken } from "../../../db/accounts/access.ts";
import { queryRows } from "../../../db/connect.ts";
import { createAccessToken, hashToken } from "../../../src/keys/tokens.ts";
import { aMember, anAccount } from "../../support/builders.ts";
import type { Answer } from "../../support/https.ts";
import { aFileService, aService } from "../service.ts";
import { aHouse, ask, byNumber, cookieOf, findLeaks, type House } from "./people.ts";

let house: House;

const service = await aFileService();

beforeAll(async () => {
  house = await aHouse(service);
});

const INVITATIONS = "/api/invitations";
const PASSWORD = "correct horse battery staple";
let addresses = 0;

async function invite(
  given: { email?: string; role?: string } = {},
  by: { cookie: string } = house.owner,
): Promise<{ email: string; token: string; answer: Answer }> {
  const email = given.email ?? `invited-${(addresses += 1)}@example.test`;
  const answer = await ask(service, INVITATIONS, { json: { role: "member", ...given, email } }, by);
  return { email, answer, token: String(answer.json()["url"]).split("#")[1] ?? "" };
}

const look = (token: unknown) => ask(service, "/api/join/look", { json: { token } });
const join = (token: unknown, password: unknown = PASSWORD, who?: { cookie: string }) =>
  ask(service, "/api/join", { json: { token, password } }, who);

test("invitation, accepted, makes a member who is signed in, and who can sign in again", async () => {
  const { email, token, answer } = await invite({ role: "viewer" });
  expect([answer.status, answer.json()]).toEqual([
    201,
    {
      invitationId: expect.stringMatching(/^inv_[0-9a-f]{32}$/),
      email,
      role: "viewer",
      url: `${service.url}/join#${token}`,
      expiresAt: expect.any(String),
    },
  ]);
  expect(token).toMatch(/^tri_[\w-]{43}$/);
  const days = (Date.parse(String(answer.json()["expiresAt"])) - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(6.9);
  expect(days).toBeLessThan(7.1);
  const listed = (await ask(service, "/api/members", {}, house.viewer)).json()["invitations"] as object[];
  expect(listed[0]).toEqual({
    invitationId: answer.json()["invitationId"],
    email,
    role: "viewer",
    invitedBy: house.owner.email,
    createdAt: expect.any(String),
    expiresAt: answer.json()["expiresAt"],
  });
  const accountName = `account ${house.accountId}`;
  const looked = await look(token);
  expect([looked.status, looked.json()]).toEqual([200, { email, accountName, role: "viewer" }]);
  const joined = await join(token);
  expect([joined.status, joined.json()]).toEqual([
    200,
    {
      email,
      accountName,
      accountId: house.accountId,
      userId: expect.stringMatching(/^usr_/),
      role: "viewer",
      seesHosts: false,
      temporalUiUrl: null,
      contact: null,
    },
  ]);
  const cookie = cookieOf(joined) as string;
  expect((await ask(service, "/api/session", {}, { cookie })).json()).toEqual(joined.json());
  expect((await ask(service, "/api/session", { json: { email, password: PASSWORD } })).status).toBe(200);
  const { invitations } = (await ask(service, "/api/members", {}, house.viewer)).json();
  expect(JSON.stringify(invitations)).not.toContain(email);
});

test("invitation, accepted twice at once over HTTPS, makes one member, and again it is not good", async () => {
  const { token } = await invite();
  const before = (await queryRows(service.db, "select from users")).length;
  const answers = await Promise.all([join(token), join(token)]);
  const statuses = answers.map(({ status }) => status).sort(byNumber);
  // The slower one finds it accepted, or the address taken: by when it looked.
  expect([
    [200, 404],
    [200, 409],
  ]).toContainEqual(statuses);
  expect((await queryRows(service.db, "select from users")).length).toBe(before + 1);
  const again = await join(token);
  expect([again.status, again.json()]).toEqual([
    404,
    {
      error: "Not found",
      message: "This invitation is not good: it was accepted, revoked, or is older than 7 days. Ask for a new one.",
    },
  ]);
  expect((await look(token)).status).toBe(404);
});

test.each([
  ["no password", undefined, "is required"],
  ["a short password", "short", "at least 10 characters"],
  ["the address as password", "email", "must not be the email address"],
  ["one letter as password", "aaaaaaaaaaaa", "must not be a few characters repeated"],
  ["a number as password", 1_234_567_890, "expected string"],
])("invitation, accepted with %s, is refused by name and stays good", async (_what, password, problem) => {
  const { email, token } = await invite();
  const answer = await ask(service, "/api/join", {
    json: {
      token,
      ...(password === undefined ? {} : { password: password === "email" ? email.toUpperCase() : password }),
    },
  });
  expect([answer.status, answer.json()]).toMatchObject([
    400,
    { error: "Invalid request", details: [{ input: "password", message: expect.stringContaining(problem) }] },
  ]);
  expect(cookieOf(answer)).toBeUndefined();
  expect((await look(token)).status).toBe(200);
});

test("invitation, after a week or once revoked, is not good", async () => {
  const old = await invite();
  await queryRows(
    service.db,
    `update invitations set created_at = now() - interval '8 days', expires_at = now() - interval '1 second' where email = :email`,
    { email: old.email },
  );
  const revoked = await invite();
  const { invitationId } = revoked.answer.json();
  const path = `${INVITATIONS}/${String(invitationId)}`;
  const answer = await ask(service, path, { method: "DELETE" }, house.owner);
  expect([answer.status, answer.json()]).toEqual([200, { invitationId, revoked: true }]);
  expect((await ask(service, path, { method: "DELETE" }, house.owner)).status).toBe(404);
  for (const { token } of [old, revoked]) {
    expect([(await look(token)).status, (await join(token)).status]).toEqual([404, 404]);
  }
});

test("invitation, of somebody of another account, says so to them alone", async () => {
  const other = await aMember(service.db, await anAccount(service.db));
  const { answer, token } = await invite({ email: other.email });
  expect(answer.status).toBe(201);
  const message = `${other.email} belongs to another account here, and a user belongs to one account only. Leave that one first, or ask to be invited with another address.`;
  for (const refused of [await look(token), await join(token), await join(token, PASSWORD, other)])
    expect([refused.status, refused.json()]).toEqual([409, { error: "Conflict", message }]);
  expect((await ask(service, "/api/session", {}, other)).status).toBe(200);
});

test("invitation, of somebody who is a member, is refused", async () => {
  const { answer } = await invite({ email: house.viewer.email });
  expect([answer.status, answer.json()["message"]]).toEqual([
    409,
    expect.stringContaining("belongs to the account already"),
  ]);
});

test.each([
  ["without an address", { email: "", role: "member" }, "email"],
  ["with an address that is none", { email: "ada at example", role: "member" }, "email"],
  ["with half a character in the address", { email: "\ud800@example.test", role: "member" }, "email"],
  ["with too long an address", { email: `${"a".repeat(320)}@example.test`, role: "member" }, "email"],
  ["with a role that is none", { email: "a@example.test", role: "root" }, "role"],
])("invitation, %s, is refused by name", async (_what, json, input) => {
  const answer = await ask(service, INVITATIONS, { json }, house.owner);
  expect([answer.status, answer.json()]).toMatchObject([400, { details: [{ input }] }]);
});

test("invitation, into an account without people, is the operator's to make, for an owner first", async () => {
  const token = createAccessToken();
  await insertOperatorToken(service.db, { tokenHash: hashToken(token), name: "test" });
  await anAccount(service.db, { name: "a new house" });
  const headers = { authorization: `Bearer ${token}` };
  const path = `${INVITATIONS}?account=a%20new%20house`;
  const email = "first@example.test";
  const member = await ask(service, path, { json: { email, role: "member" }, headers });
  expect([member.status, member.json()["message"]]).toEqual([409, expect.stringContaining("Invite an owner first")]);
  const owner = await ask(service, path, { json: { email, role: "owner" }, headers });
  expect(owner.status).toBe(201);
  const joined = await join(String(owner.json()["url"]).split("#")[1]);
  expect(joined.json()).toMatchObject({ accountName: "a new house", role: "owner" });
});

test("joining, in a browser in which somebody is signed in, ends that session", async () => {
  const before = await aMember(service.db, house.accountId, "viewer");
  const { token, email } = await invite();
  const joined = await join(token, PASSWORD, before);
  expect(joined.json()).toMatchObject({ email });
  expect((await ask(service, "/api/session", {}, before)).status).toBe(401);
});

test.each(["/api/join", "/api/join/look"])("%s, from another website, is refused", async (path) => {
  const { token } = await invite();
  const headers = { "sec-fetch-site": "cross-site" };
  expect((await ask(service, path, { json: { token, password: PASSWORD }, headers })).status).toBe(403);
  expect((await look(token)).status).toBe(200);
});

test("invitations, made and accepted, leave their secret and the password in no row and in no log", async () => {
  const { token } = await invite();
  const password = "a password of its very own";
  await look(token);
  await join(token, "too short");
  expect((await join(token, password)).status).toBe(200);
  await join(token, password);
  expect(await findLeaks(service, [token, token.slice(4), password])).toEqual([]);
  // The search itself finds what is there.
  expect(await findLeaks(service, [house.owner.email])).toContain("users");
});

test("tokens of invitations, guessed at by one who asks too often, are answered 429 to look and join", async () => {
  const own = await aService();
  try {
    const { token } = { token: `tri_${"a".repeat(43)}` };
    const guesses = await Promise.all(
      Array.from({ length: 31 }, (_, index) => ask(own, "/api/join/look", { json: { token: `${token}${index}` } })),
    );
    expect(guesses.filter(({ status }) => status === 404)).toHaveLength(30);
    const refused = [
      await ask(own, "/api/join/look", { json: { token } }),
      await ask(own, "/api/join", { json: { token, password: PASSWORD } }),
      await ask(own, "/api/session", { json: { email: "a@example.test", password: "x" } }),
    ];
    for (const answer of refused) {
      expect([answer.status, answer.json()["error"]]).toEqual([429, "Rate limit exceeded"]);
      expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
    }
  } finally {
    await own.close();
  }
});
