import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { AccountId } from "../../domain/ids.ts";
import { chooseToGo, type Holding } from "../../sandbox/lanes/shares.ts";
import { openWarmBench } from "./harness.ts";

const BUSY = "acct_busy" as AccountId;
const STRANGER = "acct_stranger" as AccountId;
const LANES_MAX = 3;

test("lanes, when one account makes as many as it can, leave those of another alone", async () => {
  const bench = await openWarmBench({}, { lanesMax: LANES_MAX });
  try {
    const commit = (value: number, accountId: AccountId) =>
      bench.commit({ code: `def main():\n    return ${value}\n`, accountId });
    const stranger = commit(0, STRANGER);
    expect(await stranger.warm()).toEqual({ warm: true });
    const many = [1, 2, 3, 4, 5].map((value) => commit(value, BUSY));
    for (const each of many) expect(await each.warm()).toEqual({ warm: true });
    expect((await stranger.run()).path).toBe("lane");
    expect((await many[4]?.run())?.path).toBe("lane");
  } finally {
    await bench.close();
  }
});

test("lanes, when one account has all, make room for the first of another", async () => {
  const bench = await openWarmBench({}, { lanesMax: LANES_MAX });
  try {
    const commit = (value: number, accountId: AccountId) =>
      bench.commit({ code: `def main():\n    return ${value}\n`, accountId });
    for (const value of [1, 2, 3]) await commit(value, BUSY).warm();
    const stranger = commit(0, STRANGER);
    expect(await stranger.warm()).toEqual({ warm: true });
    expect((await stranger.run()).path).toBe("lane");
  } finally {
    await bench.close();
  }
});

const account = fc.constantFrom("a", "b", "c", undefined) as fc.Arbitrary<AccountId | undefined>;
const holding: fc.Arbitrary<Holding> = fc.record({ accountId: account, amount: fc.nat(100) });
const amountOf = (all: readonly Holding[], accountId: AccountId | undefined): number =>
  all.reduce((sum, one) => sum + (one.accountId === accountId ? one.amount : 0), 0);

test("chooseToGo, whatever is held, takes from the account that holds most and never from one below who wants", () => {
  fc.assert(
    fc.property(fc.array(holding), fc.array(fc.boolean()), fc.option(account, { nil: null }), (all, may, wants) => {
      const mayGo = all.filter((_, index) => may[index] === true);
      const wanting = wants === null ? undefined : { accountId: wants };
      const least = wanting === undefined ? 0 : amountOf(all, wanting.accountId);
      const amounts = mayGo.map(({ accountId }) => amountOf(all, accountId)).filter((amount) => amount >= least);
      const chosen = chooseToGo(all, mayGo, wanting);
      if (amounts.length === 0) return expect(chosen).toBeUndefined();
      const most = Math.max(...amounts);
      expect(chosen).toBe(mayGo.find(({ accountId }) => amountOf(all, accountId) === most));
    }),
  );
});
