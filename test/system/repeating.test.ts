import { once } from "node:events";
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { repeat } from "../../system/repeating.ts";

const NEVER_MS = 2 ** 30;
const noFault = (error: unknown): void => {
  throw error;
};

test("repeated work, asked for while it is done, is not done twice at a time, and again as long as it resolves to true", async () => {
  const [rounds, ends] = [[] as number[], [] as ((again: boolean) => void)[]];
  const repeating = repeat(
    () => {
      rounds.push(rounds.length);
      return new Promise((resolve) => ends.push(resolve));
    },
    { everyMs: 1, onError: noFault },
  );
  const joined = repeating.now();
  expect(rounds).toHaveLength(1);
  ends[0]?.(true);
  while (ends.length < 2) await turn();
  expect(rounds).toHaveLength(2);
  ends[1]?.(false);
  await joined;
  while (ends.length < 3) await turn(); // by the timer
  ends[2]?.(false);
  await repeating.close();
});

test("repeated work, that fails, is reported and tried again", async () => {
  const faults: unknown[] = [];
  let isBroken = true;
  const repeating = repeat(async () => isBroken && Promise.reject(new Error("broken")), {
    everyMs: NEVER_MS,
    first: "later",
    onError: (error) => void faults.push(error),
  });
  await repeating.now();
  isBroken = false;
  await repeating.now();
  expect(faults).toEqual([new Error("broken")]);
  await repeating.close();
});

test("repeated work, that is closed, is asked to end, is waited for, and is not done again", async () => {
  let [rounds, isOver] = [0, false];
  const repeating = repeat(
    async (signal) => {
      rounds += 1;
      await once(signal, "abort");
      isOver = true;
      throw new Error("an end that was asked for is no fault");
    },
    { everyMs: NEVER_MS, onError: noFault },
  );
  await repeating.close();
  expect(isOver).toBe(true);
  await repeating.now();
  expect(rounds).toBe(1);
});

test("repeated work, that is wanted soon, is done once however often that was said, and not after it was closed", async () => {
  let rounds = 0;
  const repeating = repeat(async () => void (rounds += 1), { everyMs: NEVER_MS, first: "later", onError: noFault });
  repeating.soon(1);
  repeating.soon(1);
  while (rounds === 0) await turn();
  await delay(20);
  expect(rounds).toBe(1);
  repeating.soon(1);
  await repeating.close();
  await delay(20);
  expect(rounds).toBe(1);
});
