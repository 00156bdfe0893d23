import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import { listTree } from "../../sandbox/process-tree.ts";
import { createProcessorMeter } from "../../sandbox/processor-meter.ts";

const LOOK_EVERY_MS = 30;
const CHILDREN = 6;
const CHILD_SECONDS = 0.3;
/** Steps of the kernel, and what a process that nobody waits for used after it was last looked at, on a busy machine. */
const SEEN_SHARE = 0.6;
const children: ChildProcess[] = [];

/** One child after the other works for as long, on its own processor time; then it says so and waits. */
const work = (before: string, wait: string) => `
import os, signal, time
${before}
for _ in range(${CHILDREN}):
    pid = os.fork()
    if pid == 0:
        while time.process_time() < ${CHILD_SECONDS}: pass
        os._exit(0)
    ${wait}
print("worked", flush=True)
input()
`;

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

async function measure(code: string): Promise<number> {
  const child = spawn("/usr/bin/python3", ["-I", "-c", `input()\n${code}`]);
  children.push(child);
  const pid = child.pid ?? 0;
  const meter = createProcessorMeter(listTree(pid));
  let hasWorked = false;
  child.stdin.write("\n");
  void once(child.stdout, "data").then(() => (hasWorked = true));
  while (!hasWorked) {
    meter.look(listTree(pid));
    await sleep(LOOK_EVERY_MS);
  }
  return meter.look(listTree(pid)) / 1000;
}

test("meter, of processes that are waited for, counts all of their time once", async () => {
  const seconds = await measure(work("", "os.waitpid(pid, 0)"));
  expect(seconds).toBeGreaterThan(CHILDREN * CHILD_SECONDS * 0.95);
  expect(seconds).toBeLessThan(CHILDREN * CHILD_SECONDS + 1);
});

test("meter, of processes whose end is ignored, counts the time they were seen with", async () => {
  const ignoring = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)";
  const seconds = await measure(work(ignoring, "\n    try: os.waitpid(pid, 0)\n    except ChildProcessError: pass"));
  expect(seconds).toBeGreaterThan(CHILDREN * CHILD_SECONDS * SEEN_SHARE);
  expect(seconds).toBeLessThan(CHILDREN * CHILD_SECONDS + 1);
});
