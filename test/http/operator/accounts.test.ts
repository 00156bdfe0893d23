import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { notePresence } from "../../../db/executions/hosts.ts";
import { reserve } from "../../../db/ledger/credits.ts";
import type { AccountId } from "../../../domain/ids.ts";
import { aMember, anAccount, anExecution, aWorkflow } from "../../support/builders.ts";
import { anOperatorService, type OperatorService } from "./operator-service.ts";

let service: OperatorService;
beforeAll(async () => {
  service = await anOperatorService();
});
afterAll(() => service.close());

test("GET /account, without a name, shows the first account", async () => {
  const answer = await service.operator("/api/account");
  expect([answer.status, answer.json()]).toMatchObject([200, { balance: 100, reserved: 0, available: 100 }]);
  expect(answer.headers["cache-control"]).toBe("no-store");
});

test("POST /account/grants, in micro-credits, adds exactly that and a ledger entry with its reason", async () => {
  const accountId = await anAccount(service.db, { name: "granted", credits: "0" });
  const json = { credits: "0.000001", reason: "a gift" };
  const answer = await service.operator("/api/account/grants?account=granted", { method: "POST", json });
  expect([answer.status, answer.json()]).toEqual([200, { balance: 0.000001, reserved: 0, available: 0.000001 }]);
  const entries = await queryRows(
    service.db,
    "select kind, amount, reason from ledger_entries where account_id = :accountId",
    { accountId },
  );
  expect(entries).toEqual([{ kind: "grant", amount: 1n, reason: "a gift" }]);
});

test("GET /hosts, for the operator and owners of the first account, shows those of an earlier release too; for others it is 403, and nobody's 401", async () => {
  const lacks = { isolationProblems: [], networkProblem: "No tun.", commits: [] };
  const offers = { pythons: ["3.13"], network: false, isolation: "bubblewrap", memoryBytes: 8, cores: 2 };
  const ceilings = { memoryBytes: 4, cpu: 1.5, scratchBytes: 2 };
  for (const [hostId, more] of [
    ["new", { ceilings, loadAverage: 0.5 }],
    ["old", {}],
  ] as const) {
    const programs = { slots: 4, running: 1, waiting: 0, lacks, offers: { ...offers, ...more } };
    const word = { role: "worker" as const, version: "1", draining: false, keyIds: ["a key"], programs };
    await notePresence(service.db, { hostId, processId: `proc_${hostId}`, seconds: 60, word });
  }
  const first = { db: service.db, accountId: service.accountId };
  const owner = service.as(await service.tokenOf(first.accountId));
  for (const who of [service.operator, owner]) {
    const answer = await who("/api/hosts");
    const programs = (more: object) => ({
      slots: 4,
      running: 1,
      waiting: 0,
      offers: { ...offers, ...more },
      problems: ["No tun."],
    });
    expect([answer.status, answer.json()]).toMatchObject([
      200,
      {
        hosts: [
          { hostId: "new", programs: programs({ ceilings, loadAverage: 0.5 }) },
          { hostId: "old", programs: programs({ ceilings: null, loadAverage: null }) },
        ],
      },
    ]);
    expect(answer.text()).not.toContain("a key");
  }
  const others = [
    (await aMember(first.db, first.accountId, "member")).token,
    (await aMember(first.db, first.accountId, "viewer")).token,
    await service.tokenOf(await anAccount(service.db, { name: "has no hosts" })),
  ];
  for (const token of others) expect((await service.as(token)("/api/hosts")).status).toBe(403);
  expect((await service.as(undefined)("/api/hosts")).status).toBe(401);
});

test.each([["0"], ["-1"], ["1.0000001"], ["1e3"], ["many"], ["1000000001"]])(
  "POST /account/grants, of %s credits, answers 400 and grants nothing",
  async (credits) => {
    await anAccount(service.db, { name: `not granted ${credits}`, credits: "1" });
    const account = encodeURIComponent(`not granted ${credits}`);
    const answer = await service.operator(`/api/account/grants?account=${account}`, {
      method: "POST",
      json: { credits },
    });
    expect([answer.status, answer.json()["error"]]).toEqual([400, "Invalid request"]);
    const balance = await service.operator(`/api/account?account=${account}`);
    expect(balance.json()).toMatchObject({ balance: 1, reserved: 0, available: 1 });
  },
);

test("POST /account/adjustments, below what is reserved, answers 409 and changes nothing", async () => {
  const accountId = await anAccount(service.db, { name: "busy", credits: "10" });
  const workflow = await aWorkflow(service.db, { accountId });
  await reserve(service.db, await anExecution(service.db, { workflow }));
  const take = (credits: string) =>
    service.operator("/api/account/adjustments?account=busy", { method: "POST", json: { credits } });
  const refused = await take("-8");
  expect([refused.status, refused.json()["error"]]).toEqual([409, "Conflict"]);
  const taken = await take("-6.5");
  expect([taken.status, taken.json()]).toEqual([200, { balance: 3.5, reserved: 3.001, available: 0.499 }]);
});

test("POST /accounts, with credits, makes it with them; a second time answers 409 and gives none", async () => {
  const json = { name: "new", credits: "12.5" };
  const created = await service.operator("/api/accounts", { method: "POST", json });
  expect([created.status, created.json()]).toEqual([
    201,
    { accountId: expect.stringMatching(/^acct_/), name: "new", balance: 12.5, reserved: 0, available: 12.5 },
  ]);
  const again = await service.operator("/api/accounts", { method: "POST", json });
  expect([again.status, again.json()["error"]]).toEqual([409, "Conflict"]);
  const found = await service.operator("/api/account?account=new");
  expect(found.json()["balance"]).toBe(12.5);
});

test("POST /accounts, with several problems, names all of them", async () => {
  const answer = await service.operator("/api/accounts", {
    method: "POST",
    json: { name: " ", credits: "x", colour: "red" },
  });
  expect(answer.status).toBe(400);
  const details = answer.json()["details"] as { input: string }[];
  expect(details.map((detail) => detail.input).sort()).toEqual(["", "credits", "name"]);
});

test("accounts and credits, with a token of one account, show that account and refuse every change", async () => {
  const accountId = await anAccount(service.db, { name: "theirs", credits: "7" });
  const theirs = service.as(await service.tokenOf(accountId));
  expect((await theirs("/api/accounts")).json()).toEqual({
    accounts: [{ accountId, name: "theirs", balance: 7, reserved: 0, available: 7 }],
  });
  expect((await theirs("/api/account")).json()["balance"]).toBe(7);
  expect((await theirs("/api/account?account=main")).status).toBe(404);
  for (const [path, json] of [
    ["/api/account/grants", { credits: "5" }],
    ["/api/account/adjustments", { credits: "5" }],
    ["/api/accounts", { name: "another" }],
  ] as const) {
    const refused = await theirs(path, { method: "POST", json });
    expect([refused.status, refused.json()["error"]]).toEqual([403, "Forbidden"]);
  }
  expect((await theirs("/api/account")).json()["balance"]).toBe(7);
});

test("PUT /account/rates, by the operator, agrees other rate limits with an account; null is as everybody", async () => {
  const accountId = await anAccount(service.db, { name: "calls often" });
  const agree = (rates: object) =>
    service.operator("/api/account/rates?account=calls%20often", { method: "PUT", json: rates });
  const read = () =>
    queryRows(
      service.db,
      `select per_minute as "perMinute", burst, account_per_minute as "accountPerMinute"
         from account_rates where account_id = :accountId`,
      { accountId },
    );
  const agreed = { perMinute: 6_000, burst: 500, accountPerMinute: 0 };
  const answer = await agree(agreed);
  expect([answer.status, answer.json()]).toMatchObject([200, { accountId, name: "calls often", agreed }]);
  expect(await read()).toEqual([agreed]);
  expect((await agree({ ...agreed, burst: 0 })).status).toBe(400);
  expect(await read()).toEqual([agreed]);
  const usual = { perMinute: null, burst: null, accountPerMinute: null };
  expect((await agree(usual)).status).toBe(200);
  expect(await read()).toEqual([usual]);
});

test("PUT /account/rates, by anybody else, answers 403 and changes nothing", async () => {
  const accountId = await anAccount(service.db, { name: "wants more" });
  const answer = await service.as(await service.tokenOf(accountId))("/api/account/rates", {
    method: "PUT",
    json: { perMinute: 0, burst: null, accountPerMinute: 0 },
  });
  expect([answer.status, answer.json()["error"]]).toEqual([403, "Forbidden"]);
  expect(
    await queryRows(service.db, "select 1 from account_rates where account_id = :accountId", { accountId }),
  ).toEqual([]);
});

test("GET /account/rates, by somebody of another account, answers as if there were none", async () => {
  const [own, other] = [
    await anAccount(service.db, { name: "own rates" }),
    await anAccount(service.db, { name: "others" }),
  ];
  const { workflowId } = await aWorkflow(service.db, { accountId: other });
  const call = service.as(await service.tokenOf(own));
  expect((await call("/api/account/rates")).json()).toMatchObject({ accountId: own });
  const foreign = await Promise.all(
    ["?account=others", `?workflow=${workflowId}`].map((query) => call(`/api/account/rates${query}`)),
  );
  expect(foreign.map(({ status }) => status)).toEqual([404, 404]);
});

const grant = (name: string, endpoint: string, query = "") =>
  service.operator(`/api/destinations${query}`, { method: "POST", json: { name, endpoint } });

test("POST /destinations grants one account a destination, which its members see, and DELETE takes it away", async () => {
  const other = await anAccount(service.db, { name: "without destinations", credits: "1" });
  const granted = await grant("warehouse", "10.20.0.5:5432,6432");
  const shown = { name: "warehouse", endpoint: "10.20.0.5:5432,6432", createdAt: expect.any(String) };
  expect([granted.status, granted.json()]).toEqual([201, shown]);
  expect((await grant("warehouse", "10.20.0.6:5432")).status).toBe(409);
  const listed = async (accountId: AccountId) =>
    (await service.as(await service.tokenOf(accountId))("/api/destinations")).json()["destinations"];
  expect(await listed(service.accountId)).toEqual([Object.assign({ usedBy: [] }, shown)]);
  expect(await listed(other)).toEqual([]);
  const remove = () => service.operator("/api/destinations/warehouse", { method: "DELETE" });
  expect((await remove()).json()).toEqual({ name: "warehouse", removed: true, usedBy: [] });
  expect([(await remove()).status, await listed(service.accountId)]).toEqual([404, []]);
});

test.each([
  ["10.20.0.0/15:5432", /larger range than a \/16/],
  ["10.20.0.5/24:5432", /bits behind its prefix/],
  ["10.20.0.5", /no port/],
  ["10.20.0.5:70000", /no port/],
  ["[fd00::1]:5432", /no IPv6/],
  ["127.0.0.1:5432", /within 127\.0\.0\.0\/8/],
  ["169.254.169.254:80", /within 169\.254/],
  ["10.0.0.0/16:80", /within 10\.0\.2\.0\/24/],
  ["localhost:5432", /localhost leads there: 127/],
  ["198.51.100.7:7233", /leads to this machine, or to the service's own servers/],
  ["198.51.100.8:443", /leads to this machine, or to the service's own servers/],
])("POST /destinations, to %s, which nobody can be granted, says why", async (endpoint, why) => {
  const answer = await grant("refused", endpoint);
  expect([answer.status, answer.json()["message"]]).toEqual([400, expect.stringMatching(why)]);
});

test("a destination, written past the interface, is refused by the database where it could not be granted", async () => {
  const insert = (host: string, ports = "5432") =>
    queryRows(
      service.db,
      "insert into destinations (account_id, name, host, ports) values (:id, 'bare', :host, :ports)",
      {
        id: service.accountId,
        host,
        ports,
      },
    );
  for (const host of [
    "127.0.0.1",
    "169.254.0.0/16",
    "10.0.0.0/8",
    "10.20.0.5/24",
    "Upper.example.com",
    "a b",
    "999",
    "240.0.0.1",
  ])
    await expect(insert(host)).rejects.toThrow(/violates check constraint/);
  await expect(insert("10.20.0.5", "5432;")).rejects.toThrow(/violates check constraint/);
  await insert("db.example.com");
  const change = queryRows(service.db, "update destinations set host = '10.20.0.6' where name = 'bare'");
  await expect(change).rejects.toThrow(/removed and added again/);
});
