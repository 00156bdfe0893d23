import { beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import type { AccountId } from "../../domain/ids.ts";
import { createSignInThrottle } from "../../src/http/auth/sign-in-throttle.ts";
import { anAccount, aUser } from "../support/builders.ts";
import type { Answer } from "../support/https.ts";
import { aFileService, aService, type TestService } from "./service.ts";

let accountId: AccountId;

const service = await aFileService();

beforeAll(async () => {
  accountId = await anAccount(service.db);
});

const JSON_TYPE = { "content-type": "application/json" };

function signIn(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return service.call("/api/session", {
    method: "POST",
    headers: { ...JSON_TYPE, ...headers },
    body: JSON.stringify(body),
  });
}

function cookieOf(answer: Answer): string {
  return String(answer.headers["set-cookie"]?.[0]).split(";")[0] as string;
}

const countSessions = async (): Promise<number> => (await queryRows(service.db, "select 1 from sessions")).length;

test("session, with the right password, answers who signed in and sets a cookie for this host alone", async () => {
  const user = await aUser(service.db, { accountId });
  const answer = await signIn({ ...user, email: user.email.toUpperCase() });
  const signedIn = {
    email: user.email,
    accountId,
    accountName: `account ${accountId}`,
    userId: user.userId,
    role: "owner",
    seesHosts: true,
    temporalUiUrl: null,
    contact: null,
  };
  expect([answer.status, answer.json()]).toEqual([200, signedIn]);
  expect(answer.headers["set-cookie"]).toEqual([
    expect.stringMatching(/^__Host-session=[\w-]{43}; Path=\/; Max-Age=2592000; Secure; HttpOnly; SameSite=Lax$/),
    expect.stringMatching(
      /^__Host-known=[\w-]{22}\.[\w-]{43}; Path=\/; Max-Age=34560000; Secure; HttpOnly; SameSite=Lax$/,
    ),
  ]);
  const [row] = await queryRows<{ hash: Buffer }>(
    service.db,
    `select token_hash as hash from sessions order by created_at desc limit 1`,
  );
  expect(row?.hash.toString("base64url")).not.toBe(cookieOf(answer).split("=")[1]);
  const whoami = await service.call("/api/session", { headers: { cookie: `other=1; ${cookieOf(answer)}` } });
  expect([whoami.status, whoami.json()]).toEqual([200, signedIn]);
});

test("session, with a wrong password or an unknown address, answers the same 401", async () => {
  const user = await aUser(service.db, { accountId });
  const before = await countSessions();
  const wrong = await signIn({ email: user.email, password: "wrong" });
  const unknown = await signIn({ email: "nobody@example.test", password: "wrong" });
  expect([wrong.status, wrong.json()]).toEqual([
    401,
    { error: "Unauthorized", message: "The email address or the password is wrong." },
  ]);
  expect([unknown.status, unknown.json()]).toEqual([wrong.status, wrong.json()]);
  expect(wrong.headers["set-cookie"]).toBeUndefined();
  expect(await countSessions()).toBe(before);
});

test("session, after signing out, is gone", async () => {
  const cookie = cookieOf(await signIn(await aUser(service.db, { accountId })));
  const out = await service.call("/api/session", {
    method: "DELETE",
    headers: { cookie, "sec-fetch-site": "same-origin" },
  });
  expect([out.status, out.json(), cookieOf(out)]).toEqual([200, { signedOut: true }, "__Host-session="]);
  const after = await service.call("/api/session", { headers: { cookie } });
  expect([after.status, after.json()["error"]]).toEqual([401, "Unauthorized"]);
});

test("session, idle for a week or after a month, is over", async () => {
  const cookie = cookieOf(await signIn(await aUser(service.db, { accountId })));
  await queryRows(service.db, "update sessions set seen_at = now() - interval '8 days'");
  expect((await service.call("/api/session", { headers: { cookie } })).status).toBe(401);
  await queryRows(service.db, "update sessions set seen_at = now(), expires_at = now() - interval '1 second'");
  expect((await service.call("/api/session", { headers: { cookie } })).status).toBe(401);
});

test("session, on signing in again, ends the one before", async () => {
  const user = await aUser(service.db, { accountId });
  const first = cookieOf(await signIn(user));
  await signIn(user, { cookie: first, "sec-fetch-site": "same-origin" });
  expect((await service.call("/api/session", { headers: { cookie: first } })).status).toBe(401);
});

test("session, with a hash made by weaker parameters, makes it anew", async () => {
  const user = await aUser(service.db, { accountId });
  const { scryptSync } = await import("node:crypto");
  const salt = Buffer.alloc(16, 1);
  const weak = `scrypt$1024$8$1$${salt.toString("hex")}$${scryptSync(user.password, salt, 32, { N: 1024 }).toString("hex")}`;
  await queryRows(service.db, "update users set password_hash = :weak where email = :email", {
    weak,
    email: user.email,
  });
  expect((await signIn(user)).status).toBe(200);
  const [row] = await queryRows<{ hash: string }>(
    service.db,
    "select password_hash as hash from users where email = :email",
    { email: user.email },
  );
  expect(row?.hash).toMatch(/^scrypt\$131072\$8\$1\$/);
  expect((await signIn(user)).status).toBe(200);
});

test.each([
  ["without a password", { email: "a@example.test" }, 400, "Invalid request"],
  ["with a number for a password", { email: "a@example.test", password: 1 }, 400, "Invalid request"],
  ["with too large a body", { email: "a@example.test", password: "x".repeat(20_000) }, 413, "Payload too large"],
])("session, %s, is refused", async (_what, body, status, error) => {
  const answer = await signIn(body);
  expect([answer.status, answer.json()["error"]]).toEqual([status, error]);
});

test("session, with a form instead of JSON, answers 415", async () => {
  const answer = await service.call("/api/session", {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "email=a",
  });
  expect([answer.status, answer.json()["error"]]).toEqual([415, "Unsupported media type"]);
});

test("session, after ten wrong passwords for an address, answers 429 also to the right one", async () => {
  const user = await aUser(service.db, { accountId });
  const wrong = await Promise.all(Array.from({ length: 11 }, () => signIn({ email: user.email, password: "wrong" })));
  expect(wrong.filter(({ status }) => status === 401)).toHaveLength(10);
  const refused = await signIn(user);
  expect([refused.status, refused.json()]).toEqual([
    429,
    { error: "Rate limit exceeded", message: expect.any(String) },
  ]);
  expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
  expect(Number(refused.headers["retry-after"])).toBeLessThanOrEqual(360);
});

test("session, after wrong passwords at two processes, is refused by both, and not for somebody else", async () => {
  const second = await aService({ db: service.db });
  try {
    const user = await aUser(service.db, { accountId });
    const guess = (at: TestService, password: string, email = user.email) =>
      at.call("/api/session", { method: "POST", headers: JSON_TYPE, body: JSON.stringify({ email, password }) });
    for (let round = 0; round < 5; round += 1)
      for (const at of [service, second]) expect((await guess(at, "wrong")).status).toBe(401);
    for (const at of [service, second]) expect((await guess(at, user.password)).status).toBe(429);
    const other = await aUser(service.db, { accountId });
    expect((await guess(second, other.password, other.email)).status).toBe(200);
  } finally {
    await second.close();
  }
});

test.each([
  ["another site", { "sec-fetch-site": "cross-site" }, 403],
  ["a sibling of ours", { "sec-fetch-site": "same-site" }, 403],
  ["another origin", { origin: "https://evil.example" }, 403],
  ["a page without origin", { origin: "null" }, 403],
  ["nobody knows where", {}, 403],
  ["our own pages", { "sec-fetch-site": "same-origin" }, 200],
])("an unsafe call with a cookie, from %s, answers %s", async (_from, headers, status) => {
  const cookie = `__Host-session=${"a".repeat(43)}`;
  const answer = await service.call("/api/session", {
    method: "DELETE",
    headers: { cookie, ...headers } as Record<string, string>,
  });
  expect(answer.status).toBe(status);
  if (status === 403)
    expect(answer.json()).toEqual({ error: "Forbidden", message: expect.stringContaining("another website") });
});

test("an unsafe call with a cookie, from an old browser on our own pages, is taken", async () => {
  const headers = { cookie: `__Host-session=${"a".repeat(43)}`, origin: service.url };
  expect((await service.call("/api/session", { method: "DELETE", headers })).status).toBe(200);
});

test("signing in, from another website, is refused even without a cookie", async () => {
  const answer = await signIn(await aUser(service.db, { accountId }), { "sec-fetch-site": "cross-site" });
  expect(answer.status).toBe(403);
});

async function beginAt(throttle: ReturnType<typeof createSignInThrottle>, email: string, address: string) {
  return throttle.begin({ email: `${email}@example.test`, address });
}

test("throttle, from one network, stops after thirty attempts and lets go after a while", async () => {
  const throttle = createSignInThrottle(service.db);
  const attempt = (index: number) => beginAt(throttle, `network${index}`, `2001:db8:1:2::${index.toString(16)}`);
  for (let index = 0; index < 30; index += 1) expect((await attempt(index)).kind).toBe("allowed");
  const refused = await attempt(31);
  expect(refused).toEqual({ kind: "refused", retryAfterSeconds: expect.any(Number) });
  if (refused.kind === "refused") expect(refused.retryAfterSeconds).toBeLessThanOrEqual(120);
  expect((await beginAt(throttle, "network99", "2001:db8:1:3::1")).kind).toBe("allowed");
  await queryRows(service.db, "update rate_buckets set busy_until = busy_until - interval '121 seconds'");
  expect((await attempt(32)).kind).toBe("allowed");
  expect((await attempt(33)).kind).toBe("refused");
});

test("throttle, of an attempt that is refused, counts it nowhere", async () => {
  const throttle = createSignInThrottle(service.db);
  const from = (address: number) => beginAt(throttle, "locked", `198.51.100.${address}`);
  for (let address = 1; address <= 50; address += 1) expect((await from(address)).kind).toBe("allowed");
  for (let round = 0; round < 40; round += 1) expect((await from(51)).kind).toBe("refused");
  // Its network has all of its attempts left for others.
  for (let index = 0; index < 30; index += 1)
    expect((await beginAt(throttle, `unlocked${index}`, "198.51.100.51")).kind).toBe("allowed");
});

test("throttle, for somebody who knows the password, counts nothing", async () => {
  const throttle = createSignInThrottle(service.db);
  for (let index = 0; index < 50; index += 1) {
    const attempt = await beginAt(throttle, "known", "::ffff:192.0.2.1");
    expect(attempt.kind).toBe("allowed");
    if (attempt.kind === "allowed") await attempt.succeed();
  }
});

test("throttle, of what was typed, leaves nothing to read in the database", async () => {
  await beginAt(createSignInThrottle(service.db), "a-secret-in-the-wrong-field", "203.0.113.77");
  const rows = await queryRows<{ bucket: string }>(service.db, "select bucket from rate_buckets");
  expect(rows.filter(({ bucket }) => /secret|203\.0/.test(bucket))).toEqual([]);
  expect(rows.length).toBeGreaterThan(0);
});
