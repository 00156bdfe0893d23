import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { anAccount } from "../support/builders.ts";
import { aCliService, type CliService } from "./cli-service.ts";

let service: CliService;
beforeAll(async () => {
  service = await aCliService();
});
afterAll(() => service?.close());

function readAgreed(accountId: string): Promise<unknown[]> {
  return queryRows(
    service.db,
    `select per_minute as "perMinute", burst, account_per_minute as "accountPerMinute"
       from account_rates where account_id = :accountId`,
    { accountId },
  );
}

test("rates, set and reset, are agreed with the account and answered", async () => {
  const accountId = await anAccount(service.db, { name: "calls often" });
  const account = ["--account", "calls often"];
  const agreed = { perMinute: 6_000, burst: 500, accountPerMinute: 0 };
  const limits = ["--per-minute", "6000", "--burst", "500", "--account-per-minute", "0"];
  const set = await service.cli("rates", "set", ...limits, ...account, "--json");
  expect([set.code, set.json()]).toEqual([0, { accountId, name: "calls often", ...agreed }]);
  expect(await readAgreed(accountId)).toEqual([agreed]);

  const one = await service.cli("rates", "set", "--burst", "7", ...account);
  expect([one.code, one.out]).toEqual([
    0,
    "calls often: per minute as everybody, burst 7, account per minute as everybody\n",
  ]);
  expect(await readAgreed(accountId)).toEqual([{ perMinute: null, burst: 7, accountPerMinute: null }]);

  const usual = { perMinute: null, burst: null, accountPerMinute: null };
  expect((await service.cli("rates", "reset", ...account, "--json")).json()).toEqual({
    accountId,
    name: "calls often",
    ...usual,
  });
  expect(await readAgreed(accountId)).toEqual([usual]);
});

test("rates, without an account, are those of the first", async () => {
  const { name } = (await service.cli("rates", "set", "--per-minute", "9", "--json")).json();
  expect(name).toBe("main");
  await service.cli("rates", "reset");
});

test("rates, set to nothing or for nobody, are refused and change nothing", async () => {
  const accountId = await anAccount(service.db, { name: "left alone" });
  const nothing = await service.cli("rates", "set", "--account", "left alone", "--json");
  expect([nothing.code, nothing.json()["error"]]).toEqual([1, "Nothing to set"]);
  const nobody = await service.cli("rates", "set", "--burst", "1", "--account", "nobody", "--json");
  expect([nobody.code, nobody.json()["error"]]).toEqual([1, "Not found"]);
  expect(await readAgreed(accountId)).toEqual([]);
});

test.each([
  ["a rate that is none", ["--per-minute", "fast"]],
  ["a rate below 0", ["--per-minute=-1"]],
  ["a rate over the most", ["--account-per-minute", "1000001"]],
  ["no burst at all", ["--burst", "0"]],
])("rates, set to %s, are wrong usage", async (_what, options) => {
  const answer = await service.cli("rates", "set", ...options);
  expect([answer.code, answer.out]).toEqual([2, ""]);
});
