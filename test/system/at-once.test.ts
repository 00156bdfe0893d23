import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { forEachAtOnce } from "../../system/at-once.ts";

test.each([
  ["a list", [1, 2, 3, 4, 5]],
  [
    "a stream",
    (async function* () {
      for (const item of [1, 2, 3, 4, 5]) yield item;
    })(),
  ],
])("work for each of %s, three at a time, is done once for each and never for more at a time", async (_, items) => {
  const done: number[] = [];
  let [busy, busiest] = [0, 0];
  await forEachAtOnce<number>(items, 3, async (item) => {
    busiest = Math.max(busiest, ++busy);
    await turn();
    busy -= 1;
    done.push(item);
  });
  expect([done.length, new Set(done), busiest]).toEqual([5, new Set([1, 2, 3, 4, 5]), 3]);
});

test("work for each of a list, when some of it fails, begins no more, ends what is under way and rejects", async () => {
  const [begun, ended] = [[] as number[], [] as number[]];
  const work = forEachAtOnce([1, 2, 3, 4], 2, async (item) => {
    begun.push(item);
    if (item === 1) throw new Error("one");
    await turn();
    ended.push(item);
  });
  await expect(work).rejects.toThrow("one");
  expect([begun, ended]).toEqual([[1, 2], [2]]);
});
