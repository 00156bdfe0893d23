import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { createFinishing, type EndedProgram, type FinishingDeps } from "../../activities/finishing.ts";
import { createExecutionId } from "../../src/ids.ts";

const ENDED: EndedProgram = { kind: "ended", status: "success", secondsUsed: 1.5, hostQueue: "host-a" };
const LATE_MS = 50;
const LONG_AFTER_MS = 300;

function aFinishing(given: Partial<FinishingDeps> = {}) {
  const settled: unknown[] = [];
  const faults: unknown[] = [];
  const finishing = createFinishing({
    upload: async () => ({ kind: "uploaded" }),
    settle: async (bill) => void settled.push(bill),
    onFault: (_, error) => faults.push(error),
    lateMs: LATE_MS,
    ...given,
  });
  return { finishing, settled, faults };
}

test("finishing, when the workflow does not come, uploads and settles once", async () => {
  const { finishing, settled } = aFinishing();
  const executionId = createExecutionId();
  finishing.expect(executionId, ENDED);
  finishing.expect(executionId, ENDED);
  await sleep(LONG_AFTER_MS);
  expect(settled).toEqual([{ executionId, status: "success", secondsUsed: 1.5 }]);
});

test("finishing, when the workflow comes in time, does nothing", async () => {
  const { finishing, settled } = aFinishing();
  const executionId = createExecutionId();
  finishing.expect(executionId, ENDED);
  finishing.forget(executionId);
  await sleep(LONG_AFTER_MS);
  expect(settled).toEqual([]);
});

test("finishing, of outputs that are on another host, does not settle", async () => {
  const { finishing, settled, faults } = aFinishing({ upload: async () => ({ kind: "deferred" }) });
  finishing.expect(createExecutionId(), ENDED);
  await sleep(LONG_AFTER_MS);
  expect([settled, faults]).toEqual([[], []]);
});

test("finishing, whose upload fails, says so and leaves the rest to the workflow", async () => {
  const { finishing, settled, faults } = aFinishing({
    upload: async () => {
      throw new Error("The storage is away.");
    },
  });
  finishing.expect(createExecutionId(), ENDED);
  await sleep(LONG_AFTER_MS);
  expect([settled, faults]).toEqual([[], [new Error("The storage is away.")]]);
});

test("finishing, closed, finishes nothing more", async () => {
  const { finishing, settled } = aFinishing();
  finishing.expect(createExecutionId(), ENDED);
  finishing.close();
  await sleep(LONG_AFTER_MS);
  expect(settled).toEqual([]);
});
