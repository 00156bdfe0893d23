import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { insertOperatorToken } from "../../../db/accounts/access.ts";
import { queryRows } from "../../../db/connect.ts";
import { createAccessToken, hashToken } from "../../../src/keys/tokens.ts";
import type { Answer } from "../../support/https.ts";
import { aService, type TestService } from "../service.ts";
import { aHouse, ask, byNumber, findLeaks, type House } from "./people.ts";

let service: TestService;
let house: House;
let others: House;

beforeAll(async () => {
  // A proxy says who calls: so command lines come from as many networks as a test wants.
  service = await aService({ trustProxy: true });
  [house, others] = [await aHouse(service), await aHouse(service)];
});

afterAll(() => service?.close());

const CODES = "/api/device-codes";
let networks = 0;
const aNetwork = () => `198.51.${100 + Math.floor(networks / 250)}.${(networks++ % 250) + 1}`;

/** A call as the command line makes it: no cookie, and no word of a browser. */
function callAs(address: string, path: string, json: object): Promise<Answer> {
  const headers = { "content-type": "application/json", "x-forwarded-for": address, "x-forwarded-proto": "https" };
  return service.call(path, { method: "POST", headers, body: JSON.stringify(json) });
}

async function begin(name = "laptop", address = aNetwork()) {
  const answer = await callAs(address, CODES, { name });
  return { answer, address, ...(answer.json() as { deviceCode: string; userCode: string }) };
}

const fetchToken = ({ deviceCode }: { deviceCode: string }) => callAs("203.0.113.9", `${CODES}/token`, { deviceCode });
const look = (userCode: string, who?: { cookie: string }) => ask(service, `${CODES}/look`, { json: { userCode } }, who);
const answer = (userCode: string, allow: boolean, who?: { cookie: string }) =>
  ask(service, `${CODES}/answer`, { json: { userCode, allow } }, who);
const told = ({ status, ...rest }: Answer) => [status, rest.json()["error"]];
const countTokens = async (name: string) =>
  (await queryRows(service.db, "select from access_tokens where name = :name", { name })).length;
/** As if the last question had been long ago. */
const wait = () => queryRows(service.db, "update device_codes set polled_at = now() - interval '1 minute'");

test("a command line, allowed by a viewer, gets one token of theirs, named after its computer, and it is kept nowhere", async () => {
  const device = await begin("ada's laptop");
  const { deviceCode, userCode, address } = device;
  expect([device.answer.status, device.answer.json()]).toEqual([
    201,
    {
      deviceCode: expect.stringMatching(/^trc_[\w-]{43}$/),
      url: `${service.url}/device#${userCode}`,
      userCode: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      expiresAt: expect.any(String),
      intervalSeconds: 2,
    },
  ]);
  const seconds = (Date.parse(String(device.answer.json()["expiresAt"])) - Date.now()) / 1000;
  expect(seconds).toBeGreaterThan(540);
  expect(seconds).toBeLessThan(601);
  const waiting = await fetchToken(device);
  expect([waiting.status, waiting.json()]).toEqual([202, { status: "waiting", intervalSeconds: 2 }]);

  // As people type it.
  const looked = await look(` ${userCode.toLowerCase().replace("-", " ")}`, house.viewer);
  expect([looked.status, looked.json()]).toEqual([
    200,
    {
      name: "ada's laptop",
      address,
      tokenDays: 90,
      createdAt: expect.any(String),
      expiresAt: device.answer.json()["expiresAt"],
    },
  ]);
  expect(await findLeaks(service, [deviceCode, userCode, userCode.replace("-", "")])).toEqual([]);
  const allowed = await answer(userCode, true, house.viewer);
  expect([allowed.status, allowed.json()]).toEqual([200, { name: "ada's laptop", allowed: true }]);
  expect(await countTokens("ada's laptop")).toBe(0);

  await wait();
  const given = await fetchToken(device);
  const { token, ...listed } = given.json() as Record<string, string>;
  expect([given.status, token]).toEqual([201, expect.stringMatching(/^trp_[\w-]{43}$/)]);
  expect((Date.parse(listed["expiresAt"] ?? "") - Date.now()) / 86_400_000).toBeCloseTo(90, 1);
  const headers = { authorization: `Bearer ${token}` };
  const tokens = (await service.call("/api/tokens", { headers })).json()["tokens"];
  expect(tokens).toContainEqual({ ...listed, name: "ada's laptop", lastUsedAt: expect.any(String) });
  const written = await service.call("/api/workflows", {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: '{"name":"x"}',
  });
  expect(told(written)).toEqual([403, "Forbidden"]);
  expect(await findLeaks(service, [token as string])).toEqual([]);
  const { userId } = house.viewer;
  expect(service.logged).toContainEqual(expect.objectContaining({ event: "login.allowed", userId }));
  expect(service.logged).toContainEqual(
    expect.objectContaining({ event: "token.created", userId, tokenId: listed["tokenId"] }),
  );
});

test("a command line or a token, whose name hides a character or turns text around, is refused", async () => {
  for (const name of ["nimda\u202e", "\u2066laptop", "two\nlines", "bell\u0007"]) {
    expect(told((await begin(name)).answer)).toEqual([400, "Invalid request"]);
    expect(told(await ask(service, "/api/tokens", { json: { name, days: 1 } }, house.owner))).toEqual([
      400,
      "Invalid request",
    ]);
  }
  expect((await begin("מחשב של עדה")).answer.status).toBe(201);
});

test("the codes, used again after the token was given, are good for nothing, also of two questions at once", async () => {
  const device = await begin("once");
  await answer(device.userCode, true, house.owner);
  const statuses = (await Promise.all([fetchToken(device), fetchToken(device)])).map(({ status }) => status);
  expect(statuses.sort(byNumber)).toEqual([201, 404]);
  expect(told(await fetchToken(device))).toEqual([404, "Not found"]);
  expect(told(await look(device.userCode, house.owner))).toEqual([404, "Not found"]);
  expect(await countTokens("once")).toBe(1);
});

test("a command line, refused, hears so once and gets nothing", async () => {
  const device = await begin("refused");
  const refused = await answer(device.userCode, false, house.owner);
  expect([refused.status, refused.json()]).toEqual([200, { name: "refused", allowed: false }]);
  expect(told(await answer(device.userCode, true, house.owner))).toEqual([404, "Not found"]);
  const heard = await fetchToken(device);
  expect([heard.status, heard.json()]).toEqual([
    403,
    { error: "Forbidden", message: "The sign-in was refused in the browser." },
  ]);
  expect(told(await fetchToken(device))).toEqual([404, "Not found"]);
  expect(await countTokens("refused")).toBe(0);
});

test("a command line, answered in sessions of two accounts at once, belongs to the first alone", async () => {
  const device = await begin("contested");
  const answers = await Promise.all([
    answer(device.userCode, true, house.owner),
    answer(device.userCode, true, others.owner),
  ]);
  expect(answers.map(({ status }) => status).sort(byNumber)).toEqual([200, 404]);
  const [first, second] = answers[0]?.status === 200 ? [house, others] : [others, house];
  expect(told(await look(device.userCode, second.owner))).toEqual([404, "Not found"]);
  expect(told(await answer(device.userCode, false, second.owner))).toEqual([404, "Not found"]);
  const { token } = (await fetchToken(device)).json();
  const account = await service.call("/api/account", { headers: { authorization: `Bearer ${String(token)}` } });
  expect(account.json()).toMatchObject({ accountId: first.accountId });
});

test("codes, after ten minutes, are good for nothing, and go when others come", async () => {
  const [device, allowed] = [await begin("old"), await begin("old")];
  await answer(allowed.userCode, true, house.owner);
  await queryRows(
    service.db,
    "update device_codes set created_at = now() - interval '11 minutes', expires_at = now() - interval '1 minute' where name = 'old'",
  );
  for (const { userCode } of [device, allowed]) {
    expect(told(await look(userCode, house.owner))).toEqual([404, "Not found"]);
    expect(told(await answer(userCode, true, house.owner))).toEqual([404, "Not found"]);
  }
  for (const one of [device, allowed]) expect(told(await fetchToken(one))).toEqual([404, "Not found"]);
  expect(await countTokens("old")).toBe(0);
  await begin("new");
  expect(await queryRows(service.db, "select from device_codes where name = 'old'")).toHaveLength(0);
});

test("a member who is removed after allowing it gives no command line a token", async () => {
  const own = await aHouse(service);
  const device = await begin("left");
  await answer(device.userCode, true, own.member);
  await ask(service, `/api/members/${own.member.userId}`, { method: "DELETE" }, own.owner);
  expect(told(await fetchToken(device))).toEqual([403, "Forbidden"]);
  expect(await countTokens("left")).toBe(0);
});

test("an answer needs a session of our own pages: no token, no other website, no GET", async () => {
  const { userCode } = await begin();
  const operator = createAccessToken();
  await insertOperatorToken(service.db, { tokenHash: hashToken(operator), name: "operator" });
  for (const path of ["look", "answer"]) {
    const json = { userCode, ...(path === "answer" ? { allow: true } : {}) };
    expect(told(await ask(service, `${CODES}/${path}`, { json }))).toEqual([401, "Unauthorized"]);
    for (const token of [house.owner.token, operator]) {
      const byToken = await ask(service, `${CODES}/${path}`, { json, headers: { authorization: `Bearer ${token}` } });
      expect(told(byToken)).toEqual([403, "Forbidden"]);
    }
    const foreign = { json, headers: { "sec-fetch-site": "cross-site" } };
    expect(told(await ask(service, `${CODES}/${path}`, foreign, house.owner))).toEqual([403, "Forbidden"]);
    const got = await ask(service, `${CODES}/${path}?userCode=${userCode}&allow=true`, {}, house.owner);
    expect(told(got)).toEqual([405, "Method not allowed"]);
  }
  expect((await look(userCode, house.owner)).status).toBe(200);
});

test("a command line that asks too often is told to wait, and gets its token after that", async () => {
  const device = await begin("eager");
  expect((await fetchToken(device)).status).toBe(202);
  const early = await fetchToken(device);
  expect([...told(early), early.headers["retry-after"]]).toEqual([429, "Rate limit exceeded", "2"]);
  await answer(device.userCode, true, house.owner);
  expect((await fetchToken(device)).status).toBe(429);
  await wait();
  expect((await fetchToken(device)).status).toBe(201);
});

test("guesses at codes of people are counted by session", async () => {
  const { userCode } = await begin();
  const guesses = await Promise.all(Array.from({ length: 12 }, (_, at) => look(`BBBB-BBB${at}`, house.member)));
  const statuses = guesses.map(({ status }) => status);
  expect(statuses.filter((status) => status === 404)).toHaveLength(10);
  expect(statuses.filter((status) => status === 429)).toHaveLength(2);
  expect((await look(userCode, house.member)).status).toBe(429);
  expect((await look(userCode, house.owner)).status).toBe(200);
});

test("a flood of sign-ins from one network stops after 20, and one from many before a table is full", async () => {
  const flood = await Promise.all(Array.from({ length: 25 }, () => begin("flood", "192.0.2.7")));
  expect(flood.filter((one) => one.answer.status === 201)).toHaveLength(20);
  const refused = flood.find((one) => one.answer.status !== 201)?.answer as Answer;
  expect([...told(refused), Number(refused.headers["retry-after"])]).toEqual([
    429,
    "Rate limit exceeded",
    expect.any(Number),
  ]);
  expect((await begin()).answer.status).toBe(201);
  await queryRows(
    service.db,
    `insert into device_codes (device_hash, user_hash, name, address, expires_at)
     select sha256(cast('d' || n as bytea)), sha256(cast('u' || n as bytea)), 'many', '', now() + interval '1 minute'
       from generate_series(1, 1000) n`,
  );
  const full = (await begin()).answer;
  expect([...told(full), full.headers["retry-after"]]).toEqual([503, "Service busy", "60"]);
  await queryRows(service.db, "delete from device_codes where name = 'many'");
  expect((await begin()).answer.status).toBe(201);
});

test.each([
  ["no name", {}, "name"],
  ["an empty name", { name: " " }, "name"],
  ["a long name", { name: "x".repeat(101) }, "name"],
  ["a name with NUL", { name: "a\0" }, "name"],
])("a command line with %s is refused by name", async (_what, json, input) => {
  const refused = await callAs(aNetwork(), CODES, json);
  expect([refused.status, refused.json()]).toMatchObject([400, { details: [{ input }] }]);
});
