import { expect, test } from "@jest/globals";
import type { Generation } from "../../../sandbox/network/generation.ts";
import { keepGeneration } from "../../../sandbox/network/generations.ts";

/** A generation that nobody goes through. */
function aGeneration(): Generation {
  return { failed: new Promise(() => undefined), close: () => Promise.resolve() } as unknown as Generation;
}

test("who asks while the first generation is being opened waits for it, and no problem is told", async () => {
  let finish: (generation: Generation) => void = () => undefined;
  const generations = keepGeneration(
    () => new Promise((resolve) => (finish = resolve)),
    () => undefined,
  );
  let asked: Generation | undefined;
  const asking = generations.current().then((generation) => (asked = generation));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([asked, generations.problem()]).toEqual([undefined, undefined]);
  const opened = aGeneration();
  finish(opened);
  await generations.opened;
  expect(await asking).toBe(opened);
  await generations.close();
  await expect(generations.current()).rejects.toThrow("The network of executions is closed.");
});

test("who asks while the first generation is being opened is told why it could not be", async () => {
  const reports: string[] = [];
  const generations = keepGeneration(
    async () => {
      throw new Error("there is no nft");
    },
    (line) => reports.push(line),
  );
  const problem = "There is no network for executions: there is no nft";
  await expect(generations.current()).rejects.toThrow(problem);
  expect([generations.problem(), reports]).toEqual([problem, [problem]]);
  await generations.close();
});
