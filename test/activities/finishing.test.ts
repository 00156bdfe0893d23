import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { createFinishing, type EndedProgram, type FinishingDeps } from "../../activities/finishing.ts";
import { createExecutionId } from "../../src/ids.ts";

const ENDED: EndedProgram = { kind: "ended", status: "success", secondsUsed: 1.5, hostQueue: "host-a" };

function aFinishing(given: Partial<FinishingDeps> = {}) {
  const settled: unknown[] = [];
  const faults: unknown[] = [];
  const finishing = createFinishing({
    upload: async () => ({ kind: "uploaded" }),
    settle: async (bill) => void settled.push(bill),
    onFault: (_, error) => faults.push(error),
    ...given,
  });
  return { finishing, settled, faults };
}

test("finishing, of a program that has ended, uploads and settles once, whoever asks and how often", async () => {
  const { finishing, settled } = aFinishing();
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  finishing.begin(executionId, ENDED);
  expect(finishing.hasUploaded(executionId)).toBe(false);
  expect(await finishing.hasSettled(executionId)).toBe(true);
  expect(settled).toEqual([{ executionId, status: "success", secondsUsed: 1.5 }]);
});

test("finishing, asked whether an execution is settled, waits for what is under way, and knows when it is uploaded", async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { finishing } = aFinishing({ settle: () => held });
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  const answers: boolean[] = [];
  const asked = finishing.hasSettled(executionId).then((answer) => answers.push(answer));
  await sleep(20);
  expect([answers, finishing.hasUploaded(executionId)]).toEqual([[], true]);
  release();
  await asked;
  expect(answers).toEqual([true]);
});

test("finishing, of an execution that did not end here, takes no step", async () => {
  const { finishing, settled } = aFinishing();
  const executionId = createExecutionId();
  expect([finishing.hasUploaded(executionId), await finishing.hasSettled(executionId), settled]).toEqual([
    false,
    false,
    [],
  ]);
});

test("finishing, of outputs that are on another host, does not settle", async () => {
  const { finishing, settled, faults } = aFinishing({ upload: async () => ({ kind: "deferred" }) });
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  expect([await finishing.hasSettled(executionId), settled, faults]).toEqual([false, [], []]);
});

test("finishing, whose upload fails, says so and leaves the rest to the workflow", async () => {
  const { finishing, settled, faults } = aFinishing({
    upload: async () => {
      throw new Error("The storage is away.");
    },
  });
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  expect([await finishing.hasSettled(executionId), finishing.hasUploaded(executionId)]).toEqual([false, false]);
  expect([settled, faults]).toEqual([[], [new Error("The storage is away.")]]);
});

test("finishing, whose settling fails, has uploaded and leaves settling to the workflow", async () => {
  const { finishing, faults } = aFinishing({
    settle: async () => {
      throw new Error("The database is away.");
    },
  });
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  await sleep(0);
  expect([finishing.hasUploaded(executionId), await finishing.hasSettled(executionId)]).toEqual([true, false]);
  expect(faults).toEqual([new Error("The database is away.")]);
});

test("finishing, closed, has finished what was under way", async () => {
  const { finishing, settled } = aFinishing({ upload: () => sleep(20).then(() => ({ kind: "uploaded" })) });
  finishing.begin(createExecutionId(), ENDED);
  await finishing.close();
  expect(settled).toHaveLength(1);
});

test("finishing, asked with the program's end whether all is done, says so once it is, and remembers no more", async () => {
  const { finishing, settled } = aFinishing({ settle: async (bill) => void settled.push(await sleep(20, bill)) });
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  expect([await finishing.isFinished(executionId), settled.length]).toEqual([true, 1]);
  expect([finishing.hasUploaded(executionId), await finishing.isFinished(executionId)]).toEqual([false, false]);
});

test("finishing, whose last steps take longer than a second, leaves them to be asked for", async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { finishing } = aFinishing({ settle: () => held });
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  expect(await finishing.isFinished(executionId)).toBe(false);
  release();
  expect([finishing.hasUploaded(executionId), await finishing.hasSettled(executionId)]).toEqual([true, true]);
});

test("finishing, whose settling fails, is not finished", async () => {
  const { finishing } = aFinishing({
    settle: async () => {
      throw new Error("The database is away.");
    },
  });
  const executionId = createExecutionId();
  finishing.begin(executionId, ENDED);
  expect(await finishing.isFinished(executionId)).toBe(false);
});
