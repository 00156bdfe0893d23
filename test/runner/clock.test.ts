import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { runInLane } from "../sandbox/lane-runs.ts";
import { type Bench, openBench, openWarmBench } from "./harness.ts";

const SECONDS = 1.5;
/** Named like the package, so that the cold path runs it before anything of the user's. */
const SLOW_START = { "slow.pth": `import time; time.sleep(${SECONDS})\n` };
/** Of what the runner calls in a fork between the request and the user's code. */
const inFork = (act: string) => ({
  "slow.py": `
import posix, time
def slow(first, last, close=posix.closerange):
    close(first, last)
    if first == 4:
        ${act}
posix.closerange = slow
`,
});
const CODE = "def main():\n    return 1\n";

let cold: Bench;
let warm: Bench;
beforeAll(async () => {
  [cold, warm] = await Promise.all([openBench(), openWarmBench()]);
});
afterAll(() => Promise.all([cold.close(), warm.close()]));

test("the clock, of an execution whose package sleeps in a .pth file, counts that time", async () => {
  const ran = await cold.run({ code: CODE, environmentDir: cold.environment(SLOW_START) });
  expect(ran.outcome.status).toBe("success");
  expect(ran.outcome.secondsUsed).toBeGreaterThan(SECONDS - 0.1);
});

test("the clock, of programs that sleep while this process is slow to hear of them, counts no less than the sleep", async () => {
  // Shorter than what counts as a stall, and again and again: a start is heard of late, and an end not.
  const blocking = setInterval(() => {
    for (const until = performance.now() + 200; performance.now() < until; );
  }, 1);
  try {
    const code = "import time\ndef main():\n    time.sleep(0.4)";
    const all = await Promise.all(Array.from({ length: 6 }, () => cold.run({ code })));
    expect(all.filter(({ outcome }) => outcome.secondsUsed < 0.4 || outcome.status !== "success")).toEqual([]);
  } finally {
    clearInterval(blocking);
  }
});

test("the time limit, met by a package's .pth file, ends the execution and is billed", async () => {
  const ran = await cold.run({
    code: CODE,
    environmentDir: cold.environment(SLOW_START),
    limits: { timeoutSeconds: 1 },
  });
  expect(ran.outcome).toMatchObject({ status: "timed_out", secondsUsed: 1 });
});

test("a package, whose .pth file ends the interpreter, ends the execution with that code", async () => {
  const environmentDir = cold.environment({ "end.pth": "import sys; sys.exit(3)\n" });
  const ran = await cold.run({ code: CODE, environmentDir });
  expect(ran.outcome).toMatchObject({ status: "failed", message: "The code exited with code 3." });
});

test("the clock, of an execution in a lane whose package sleeps before the user's code, counts that time", async () => {
  const environmentDir = warm.environment(inFork(`time.sleep(${SECONDS})`));
  const ran = await runInLane(warm.commit({ code: `import slow\n${CODE}`, environmentDir }));
  expect(ran.outcome.status).toBe("success");
  expect(ran.outcome.secondsUsed).toBeGreaterThan(SECONDS - 0.1);
});

test("the time limit, met in a lane before the user's code, ends the execution and is billed", async () => {
  const environmentDir = warm.environment(inFork("time.sleep(30)"));
  const commit = warm.commit({ code: `import slow\n${CODE}`, environmentDir, limits: { timeoutSeconds: 1 } });
  expect((await runInLane(commit)).outcome).toMatchObject({ status: "timed_out", secondsUsed: 1 });
});

test("the clock, of an execution whose package ends the lane's fork late, counts that time beside the second launch", async () => {
  const environmentDir = warm.environment(inFork(`time.sleep(${SECONDS}); posix._exit(0)`));
  const commit = warm.commit({ code: `import slow\n${CODE}`, environmentDir });
  expect(await commit.warm()).toEqual({ warm: true });
  const ran = await commit.run();
  expect([ran.path, ran.outcome.status]).toEqual(["cold", "success"]);
  expect(ran.outcome.secondsUsed).toBeGreaterThan(SECONDS - 0.1);
});

test("the time limit, met by a lane's fork and the second launch together, ends the execution", async () => {
  const environmentDir = warm.environment(inFork(`time.sleep(${SECONDS}); posix._exit(0)`));
  const limits = { timeoutSeconds: SECONDS + 0.5 };
  const commit = warm.commit({ code: `import slow, time\ntime.sleep(1)\n${CODE}`, environmentDir, limits });
  expect(await commit.warm()).toEqual({ warm: true });
  expect((await commit.run()).outcome).toMatchObject({ status: "timed_out", secondsUsed: limits.timeoutSeconds });
});
