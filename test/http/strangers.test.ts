import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import type { AccountId } from "../../domain/ids.ts";
import { hashPassword, verifyPassword } from "../../src/keys/password.ts";
import { aMember, anAccount, aUser } from "../support/builders.ts";
import type { Answer } from "../support/https.ts";
import { aService, type TestService } from "./service.ts";

let service: TestService;
let accountId: AccountId;

beforeAll(async () => {
  // A proxy says who calls: so strangers come from as many networks as a test wants.
  service = await aService({ trustProxy: true });
  accountId = await anAccount(service.db, { name: "main" });
});

afterAll(() => service?.close());

function signIn(
  from: string,
  body: { email: string; password: string; code?: string },
  cookie?: string,
): Promise<Answer> {
  const headers = {
    "content-type": "application/json",
    "x-forwarded-for": from,
    "x-forwarded-proto": "https",
    ...(cookie === undefined ? {} : { cookie, "sec-fetch-site": "same-origin" }),
  };
  return service.call("/api/session", { method: "POST", headers, body: JSON.stringify(body) });
}

/** The cookies that an answer sets, as the next request brings them. */
function cookiesOf({ headers }: Answer): string {
  return [headers["set-cookie"] ?? []]
    .flat()
    .map((one) => one.split(";")[0])
    .join("; ");
}

const rightOf = ({ email, password }: { email: string; password: string }) => ({ email, password });

const knownOf = (answer: Answer): string => /__Host-known=[^;]+/.exec(cookiesOf(answer))?.[0] ?? "";

/** Guesses from fifty networks, three hundred unless given; answers how many of them were looked at. */
async function guess({ email }: { email: string }, rounds = 6): Promise<number> {
  let looked = 0;
  for (let round = 0; round < rounds; round += 1) {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, network) => signIn(`198.51.100.${network}`, { email, password: "wrong" })),
    );
    for (const { status } of answers) expect([401, 429, 503]).toContain(status);
    looked += answers.filter(({ status }) => status === 401).length;
  }
  return looked;
}

test("an owner, while strangers guess hundreds of times from fifty networks, signs in by a known browser and by a link", async () => {
  const owner = await aUser(service.db, { accountId });
  const right = rightOf(owner);
  const first = await signIn("203.0.113.1", right);
  expect(first.status).toBe(200);
  const known = knownOf(first);
  expect(known).not.toBe("");

  const guessed = guess(owner);
  // At once, also in the middle of the guesses, from whatever network.
  expect((await signIn("203.0.113.2", right, known)).status).toBe(200);
  expect(await guessed).toBeLessThanOrEqual(51);
  expect((await signIn("203.0.113.3", right, known)).status).toBe(200);

  const stranger = await signIn("203.0.113.4", right);
  expect([stranger.status, stranger.json()]).toEqual([
    429,
    { error: "Rate limit exceeded", message: expect.stringContaining("members sign-in-link EMAIL") },
  ]);
  expect(Number(stranger.headers["retry-after"])).toBeLessThanOrEqual(360);

  const { token } = await aMember(service.db, accountId);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const link = await service.call(`/api/members/${owner.userId}/sign-in-link`, {
    method: "POST",
    headers: { ...headers, "x-forwarded-proto": "https" },
    body: "{}",
  });
  expect(link.status).toBe(201);
  const code = (link.json() as { url: string }).url.split("#")[1] ?? "";
  expect((await signIn("203.0.113.5", { ...right, code })).status).toBe(200);

  await queryRows(service.db, "update rate_buckets set busy_until = busy_until - interval '361 seconds'");
  expect((await signIn("203.0.113.6", right)).status).toBe(200);
}, 300_000);

test("a known browser guesses ten times like anybody else, and is no stranger's excuse", async () => {
  const [owner, other] = [await aUser(service.db, { accountId }), await aUser(service.db, { accountId })];
  const known = knownOf(await signIn("203.0.113.20", rightOf(owner)));
  const wrong = { email: owner.email, password: "wrong" };
  const guesses = [];
  for (let index = 0; index < 12; index += 1) guesses.push((await signIn("203.0.113.20", wrong, known)).status);
  expect(guesses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429]);
  // Neither by the mark of somebody else, nor by one that was changed, nor by the link of somebody else or of yesterday.
  const elsewhere = knownOf(await signIn("203.0.113.21", rightOf(other)));
  await guess(owner, 4);
  const changed = known.replace(/.(?=\.)/, (last) => (last === "A" ? "B" : "A"));
  for (const cookie of [elsewhere, changed, "__Host-known=x"])
    expect((await signIn("203.0.113.22", rightOf(owner), cookie)).status).toBe(429);
  const codes = ["", "1.x", `${Math.floor(Date.now() / 1000) + 60}.${"A".repeat(43)}`];
  for (const code of codes) expect((await signIn("203.0.113.23", { ...rightOf(owner), code })).status).toBe(429);
}, 300_000);

test("passwords to check, when more strangers wait than may, are refused to the next stranger and not to who is known", async () => {
  const stored = await hashPassword("right");
  const strangers = Array.from({ length: 26 }, () => verifyPassword("wrong", stored, { isKnown: false }));
  const outcomes = Promise.allSettled(strangers);
  const since = performance.now();
  expect(await verifyPassword("right", stored, { isKnown: true })).toMatchObject({ valid: true });
  const knownMs = performance.now() - since;
  const settled = await outcomes;
  const allMs = performance.now() - since;
  expect(settled.filter(({ status }) => status === "rejected")).toHaveLength(4);
  expect(knownMs).toBeLessThan(allMs / 2);
}, 120_000);
