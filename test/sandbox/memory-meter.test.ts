import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "@jest/globals";
import { createMemoryMeter } from "../../sandbox/memory-meter.ts";
import { measureMemoryBytes } from "../../sandbox/process-tree.ts";

const MIB = 1024 * 1024;
const children: ChildProcess[] = [];

/** A process that holds so much. */
async function aHolder(mib: number): Promise<number> {
  const child = spawn("/usr/bin/python3", [
    "-c",
    `kept = b"1" * (${mib} << 20); print(len(kept), flush=True); input()`,
  ]);
  children.push(child);
  await once(child.stdout, "data");
  return child.pid ?? 0;
}

function meter(rootPid: number, isFull: () => boolean) {
  return createMemoryMeter({ rootPid, hasOwnNetwork: false, bytesMax: 1024 * MIB }, isFull);
}

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

test("meters, on a machine without memory, end the sandbox that holds the most and then the next", async () => {
  const [small = 0, large = 0, tiny = 0] = await Promise.all([100, 200, 1].map(aHolder));
  const meters = [small, large, tiny].map((pid) => ({ pid, ...meter(pid, () => true) }));
  const look = () => meters.map(({ pid, findExcess }) => findExcess(0, measureMemoryBytes([pid])));
  look(); // Each knows the others from now on.
  expect(look()).toEqual([undefined, "machine_memory", undefined]);
  meters[1]?.stop();
  expect(look()[0]).toBe("machine_memory");
  for (const { stop } of meters) stop();
  expect(meters[2]?.findExcess(0, measureMemoryBytes([tiny]))).toBeUndefined();
  meters[2]?.stop();
});

test("meter, on a machine with memory, finds nothing but what its own sandbox may not hold", async () => {
  const pid = await aHolder(100);
  const one = meter(pid, () => false);
  expect(one.findExcess(0, measureMemoryBytes([pid]))).toBeUndefined();
  expect(one.findExcess(1000 * MIB, measureMemoryBytes([pid]))).toBe("memory");
  one.stop();
});
