import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { createFinishing, type EndedProgram, type FinishingDeps } from "../../activities/finishing.ts";
import { createExecutionId } from "../../src/ids.ts";

const ENDED: EndedProgram = { kind: "ended", status: "success", secondsUsed: 1.5, hostQueue: "host-a" };

function aFinishing(given: Partial<FinishingDeps["steps"]> = {}) {
  const settled: unknown[] = [];
  const faults: unknown[] = [];
  const finishing = createFinishing({
    steps: {
      uploadOutputs: async () => true,
      settleCredits: async (executionId, ended) => settled.push({ executionId, ended }) > 0,
      ...given,
    },
    onError: (_, error) => faults.push(error),
  });
  return { finishing, settled, faults };
}

test("finishing, of a program that has ended, uploads and settles once, whoever asks and how often", async () => {
  const { finishing, settled } = aFinishing();
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  finishing.begin(executionId, ENDED);
  expect(finishing.hasTaken(executionId, "uploadOutputs")).toBe(false);
  expect(await finishing.whenOver(executionId)).toBe(true);
  expect(settled).toEqual([{ executionId, ended: ENDED }]);
});

test("finishing, asked whether an execution is settled, waits for what is under way, and knows when it is uploaded", async () => {
  let release: (taken: boolean) => void = () => undefined;
  const held = new Promise<boolean>((resolve) => {
    release = resolve;
  });
  const { finishing } = aFinishing({ settleCredits: () => held });
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  const answers: boolean[] = [];
  const asked = finishing.whenOver(executionId).then((answer) => answers.push(answer));
  await sleep(20);
  expect([answers, finishing.hasTaken(executionId, "uploadOutputs")]).toEqual([[], true]);
  release(true);
  await asked;
  expect(answers).toEqual([true]);
});

test("finishing, of an execution that did not end here, takes no step", async () => {
  const { finishing, settled } = aFinishing();
  const executionId = createExecutionId();
  expect([finishing.hasTaken(executionId, "uploadOutputs"), await finishing.whenOver(executionId), settled]).toEqual([
    false,
    false,
    [],
  ]);
});

test("finishing, of outputs that are on another host, does not settle", async () => {
  const { finishing, settled, faults } = aFinishing({ uploadOutputs: async () => false });
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  expect([await finishing.whenOver(executionId), settled, faults]).toEqual([false, [], []]);
});

test("finishing, whose upload fails, says so and leaves the rest to the workflow", async () => {
  const { finishing, settled, faults } = aFinishing({
    uploadOutputs: async () => {
      throw new Error("The storage is away.");
    },
  });
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  expect([await finishing.whenOver(executionId), finishing.hasTaken(executionId, "uploadOutputs")]).toEqual([
    false,
    false,
  ]);
  expect([settled, faults]).toEqual([[], [new Error("The storage is away.")]]);
});

test("finishing, whose settling fails, has uploaded and leaves settling to the workflow", async () => {
  const { finishing, faults } = aFinishing({
    settleCredits: async () => {
      throw new Error("The database is away.");
    },
  });
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  await sleep(0);
  expect([finishing.hasTaken(executionId, "uploadOutputs"), await finishing.whenOver(executionId)]).toEqual([
    true,
    false,
  ]);
  expect(faults).toEqual([new Error("The database is away.")]);
});

test("finishing, closed, has finished what was under way", async () => {
  const { finishing, settled } = aFinishing({ uploadOutputs: () => sleep(20, true) });
  finishing.begin(createExecutionId(), ENDED);
  await finishing.close();
  expect(settled).toHaveLength(1);
});

test("finishing, asked with the program's end whether all is done, says so once it is, and remembers no more", async () => {
  let isSettled = false;
  const { finishing } = aFinishing({ settleCredits: async () => (isSettled = await sleep(20, true)) });
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  expect([await finishing.isFinished(executionId), isSettled]).toEqual([true, true]);
  expect([finishing.hasTaken(executionId, "uploadOutputs"), await finishing.isFinished(executionId)]).toEqual([
    false,
    false,
  ]);
});

test("finishing, whose last steps take longer than a second, leaves them to be asked for", async () => {
  let release: (taken: boolean) => void = () => undefined;
  const held = new Promise<boolean>((resolve) => {
    release = resolve;
  });
  const { finishing } = aFinishing({ settleCredits: () => held });
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  expect(await finishing.isFinished(executionId)).toBe(false);
  release(true);
  expect([finishing.hasTaken(executionId, "uploadOutputs"), await finishing.whenOver(executionId)]).toEqual([
    true,
    true,
  ]);
});

test("finishing, whose settling fails, is not finished", async () => {
  const { finishing } = aFinishing({
    settleCredits: async () => {
      throw new Error("The database is away.");
    },
  });
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  expect(await finishing.isFinished(executionId)).toBe(false);
});
