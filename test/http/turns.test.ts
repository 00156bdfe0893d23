import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { createTurns } from "../../src/http/server/turns.ts";

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
