import { totalmem } from "node:os";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { PythonOutcome } from "../../domain/execution.ts";
import { runInLane } from "../sandbox/lane-runs.ts";
import { type Bench, openBench, openWarmBench } from "./harness.ts";

const MB = 1_000_000;
const HELD = 100 * MB;
/** More than the interpreter needs, with all that it has loaded. */
const BESIDE = 60 * MB;
/** A second of a processor takes a while beside others: programs have the smaller share of it. */
const TIMEOUT_SECONDS = 180;

let cold: Bench;
let warm: Bench;
beforeAll(async () => {
  [cold, warm] = await Promise.all([openBench(), openWarmBench()]);
});
afterAll(() => Promise.all([cold.close(), warm.close()]));

/** What the program used, run cold and in a lane. */
async function runBoth(code: string): Promise<PythonOutcome[]> {
  const given = { limits: { timeoutSeconds: TIMEOUT_SECONDS } };
  const runs = [await cold.run({ code, ...given }), await runInLane(warm.commit({ code }), given)];
  return runs.map(({ outcome }) => outcome);
}

function expectHeld({ peakMemoryBytes = 0 }: PythonOutcome): void {
  expect(peakMemoryBytes).toBeGreaterThan(HELD);
  expect(peakMemoryBytes).toBeLessThan(HELD + BESIDE);
}

test("outcomes, of programs that hold memory for a moment and compute, tell how much of both", async () => {
  const code = `
import time
def main():
    held = bytearray(b"x") * ${HELD}
    del held
    while time.process_time() < 0.3:
        pass
`;
  for (const outcome of await runBoth(code)) {
    expect(outcome.status).toBe("success");
    expectHeld(outcome);
    expect(outcome.usedProcessorSeconds).toBeGreaterThan(0.29);
    expect(outcome.usedProcessorSeconds).toBeLessThan(2);
  }
});

test("outcomes, of programs that are ended by force, tell what was seen of them before", async () => {
  const code = `
import os, signal, time
def main():
    held = bytearray(b"x") * ${HELD}
    while time.process_time() < 1:
        pass
    os.kill(os.getpid(), signal.SIGKILL)
`;
  for (const outcome of await runBoth(code)) {
    expect(outcome.status).toBe("failed");
    expectHeld(outcome);
    expect(outcome.usedProcessorSeconds).toBeGreaterThan(0.4);
  }
});

test("outcomes, of programs that say that they used more than there is, say no more than the machine has", async () => {
  const code = `
import sys
def main():
    sys._treadle_control[1]("end", code=0, kind="exit", message="", at=0.0, memory=1e300, processor=1e300)
`;
  for (const { peakMemoryBytes, usedProcessorSeconds } of await runBoth(code)) {
    expect(peakMemoryBytes).toBe(totalmem());
    expect(usedProcessorSeconds).toBeLessThan(1_000);
  }
});

test("outcomes, of programs whose memory was used up, say that they used all of it", async () => {
  const { outcome } = await cold.run({ code: `held = bytearray(b"x") * ${3 * HELD}`, limits: { memoryBytes: HELD } });
  expect(outcome).toMatchObject({ status: "out_of_memory", peakMemoryBytes: HELD });
});
