import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { reserve } from "../../../db/ledger/credits.ts";
import { anAccount, anExecution, aWorkflow } from "../../support/builders.ts";
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
