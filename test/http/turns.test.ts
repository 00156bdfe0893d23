import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { createPacing, createTurns } from "../../src/http/server/turns.ts";

test("takeTurn, for one thing, acts one after the other in the order asked, also after one that failed", async () => {
  const takeTurn = createTurns();
  const seen: string[] = [];
  const act = (name: string, fails = false) =>
    takeTurn("thing", async () => {
      seen.push(`${name} begins`);
      await sleep(5);
      seen.push(`${name} ends`);
      if (fails) throw new Error(`${name} failed.`);
      return name;
    });
  const outcomes = await Promise.allSettled([act("one"), act("two", true), act("three")]);
  expect(seen).toEqual(["one begins", "one ends", "two begins", "two ends", "three begins", "three ends"]);
  expect(outcomes).toMatchObject([{ value: "one" }, { reason: { message: "two failed." } }, { value: "three" }]);
});

test("takeTurn, for different things, acts at the same time", async () => {
  const takeTurn = createTurns();
  let meet = (): void => undefined;
  const met = new Promise<void>((resolve) => (meet = resolve));
  await Promise.all([takeTurn("one", () => met), takeTurn("other", async () => meet())]);
});

test("createPacing begins one in each turn of the event loop, in order, also one that is given meanwhile or after all others", async () => {
  const pace = createPacing();
  const begun: string[] = [];
  const give = (name: string) => pace(() => begun.push(name));
  give("one");
  give("two");
  const counts: number[] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    await nextTurn();
    counts.push(begun.length);
    if (turn === 0) give("three");
    if (turn === 4) give("four");
  }
  await nextTurn();
  expect(begun).toEqual(["one", "two", "three", "four"]);
  expect(counts.slice(0, 4)).toEqual([1, 2, 3, 3]);
});
