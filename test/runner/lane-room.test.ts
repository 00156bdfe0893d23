import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import type { AccountId } from "../../domain/ids.ts";
import { noteStart } from "../../sandbox/lanes/effort.ts";
import { takeGroup } from "../../sandbox/lanes/group.ts";
import { measureLane } from "../../sandbox/lanes/lane-meter.ts";
import { measureMemoryBytes } from "../../sandbox/process-tree.ts";
import { type Bench, LIMITS, openWarmBench } from "./harness.ts";
import { listZygotes } from "./zygotes.ts";

const MIB = 1024 * 1024;
const HELD = 40 * MIB;
/** Not faster than it is measured: what a package can take between two looks is not what is tested. */
const KEEP = `import time
kept = []
for _ in range(20):
    kept.append(b"1" * ${HELD / 20})
    time.sleep(0.06)
`;
const SAMPLE_MS = 5;
/** A bare zygote, and what one that is being ended still holds. */
const SLACK = 2 * HELD;

const codeOf = (value: number) => `import package\ndef main():\n    return ${value}\n`;
const listLanes = (bench: Bench) => readdirSync(join(bench.root, "lanes"));

/** The most that all zygotes of this process held at a time while `act` was under way. */
async function peakDuring(act: () => Promise<unknown>): Promise<number> {
  let peak = 0;
  const sampling = setInterval(() => (peak = Math.max(peak, measureMemoryBytes(listZygotes()))), SAMPLE_MS);
  await act();
  clearInterval(sampling);
  return peak;
}

async function waitUntil(isTrue: () => boolean): Promise<void> {
  for (let waited = 0; waited < 10_000 && !isTrue(); waited += 20) await sleep(20);
  expect(isTrue()).toBe(true);
}

test.each(["one after the other", "all at once"])(
  "lanes of large packages, started %s, never hold more than lanes may",
  async (way) => {
    const bound = 2.5 * HELD;
    const bench = await openWarmBench({}, { idleBytesMax: bound });
    try {
      const environmentDir = bench.environment({ "package.py": KEEP });
      const commits = [1, 2, 3, 4, 5, 6, 7].map((value) => bench.commit({ code: codeOf(value), environmentDir }));
      const peak = await peakDuring(async () => {
        if (way === "all at once") await Promise.all(commits.map((commit) => commit.warm()));
        else for (const commit of commits) expect(await commit.warm()).toEqual({ warm: true });
      });
      expect(peak).toBeGreaterThan(HELD);
      expect(peak).toBeLessThan(bound + SLACK);
      expect(listLanes(bench).length).toBeGreaterThan(0);
    } finally {
      await bench.close();
    }
  },
);

test("a lane, larger than all lanes may be, is not kept and leaves the others alone", async () => {
  const bench = await openWarmBench({}, { idleBytesMax: 2 * HELD });
  try {
    const small = bench.commit({ code: codeOf(1), environmentDir: bench.environment({ "package.py": "" }) });
    expect(await small.warm()).toEqual({ warm: true });
    const environmentDir = bench.environment({ "package.py": KEEP.replace("range(20)", "range(80)") });
    const large = bench.commit({ code: codeOf(2), environmentDir });
    expect(await large.warm()).toEqual({ warm: false, reason: expect.stringContaining("more memory than the 80 MiB") });
    const ran = await large.run();
    expect([ran.path, ran.outcome.status]).toEqual(["cold", "success"]);
  } finally {
    await bench.close();
  }
});

test("a lane, measured without a cgroup, counts the copy of the commit that its fork has", async () => {
  const bench = await openWarmBench();
  const measure = async (data: string) => {
    const before = new Set(listZygotes());
    expect(await bench.commit({ code: codeOf(1), commit: { "data/rates": data } }).warm()).toEqual({ warm: true });
    return measureLane(listZygotes().find((pid) => !before.has(pid)) ?? 0, undefined).bytes;
  };
  try {
    const small = await measure("");
    expect((await measure("x".repeat(16 * MIB))) - small).toBeGreaterThan(12 * MIB);
  } finally {
    await bench.close();
  }
});

test("a lane, whose fork takes memory while it waits, is closed", async () => {
  const bench = await openWarmBench({}, { idleBytesMax: 2 * HELD, lookEveryMs: 20 });
  try {
    const environmentDir = bench.environment({ "package.py": inWaitingFork(`kept.append(b"1" * ${3 * HELD})`) });
    expect(await bench.commit({ code: codeOf(1), environmentDir }).warm()).toEqual({ warm: true });
    await waitUntil(() => listLanes(bench).length === 0);
  } finally {
    await bench.close();
  }
});

test("a lane, whose fork works while it waits, is closed and the code starts cold from then on", async () => {
  const bench = await openWarmBench({}, { lookEveryMs: 20 });
  try {
    const environmentDir = bench.environment({ "package.py": inWaitingFork("while True: pass") });
    const commit = bench.commit({ code: codeOf(1), environmentDir });
    expect(await commit.warm()).toEqual({ warm: true });
    await waitUntil(() => listLanes(bench).length === 0);
    expect(await commit.warm()).toEqual({ warm: false, reason: "A package works while no execution is asked for." });
  } finally {
    await bench.close();
  }
});

test("a package, that works whenever it is forked, has no lane", async () => {
  const bench = await openWarmBench();
  try {
    const work =
      "import os, time\nos.register_at_fork(after_in_child=lambda: [0 for _ in iter(lambda: time.process_time() < 0.6, False)])\n";
    const commit = bench.commit({ code: codeOf(1), environmentDir: bench.environment({ "package.py": work }) });
    expect(await commit.warm()).toEqual({
      warm: false,
      reason: expect.stringContaining("works for more than a second"),
    });
  } finally {
    await bench.close();
  }
});

test("a code, whose lanes take long to start, is not given another until that time is made up for", async () => {
  const bench = await openWarmBench({}, { startBurstSeconds: 1, idleMs: 1, lookEveryMs: 5 });
  try {
    const environmentDir = bench.environment({ "package.py": "import time; time.sleep(1.2)\n" });
    const commit = bench.commit({ code: codeOf(1), environmentDir });
    await commit.warm();
    await waitUntil(() => listLanes(bench).length === 0);
    expect(await commit.warm()).toEqual({ warm: false, reason: "Its lanes took long to start, and rest for now." });
    expect((await commit.run()).path).toBe("cold");
  } finally {
    await bench.close();
  }
});

test("an account, whose lanes ahead of calls took long to start, gets another by a call alone; others get theirs", async () => {
  const bench = await openWarmBench({}, { startBurstSeconds: 1 });
  try {
    const environmentDir = bench.environment({ "package.py": "import time; time.sleep(1.2)\n" });
    const [own, others] = ["ac_1" as AccountId, "ac_2" as AccountId];
    expect(await bench.commit({ code: codeOf(1), environmentDir, accountId: own }).warm()).toEqual({ warm: true });
    const next = bench.commit({ code: "def main():\n    return 2\n", accountId: own });
    const reason = "Lanes ahead of calls took the account long, and rest for now.";
    expect(await next.warm()).toEqual({ warm: false, reason });
    const other = bench.commit({ code: "def main():\n    return 3\n", accountId: others });
    expect(await other.warm()).toEqual({ warm: true });
    let path = "";
    for (let tries = 0; tries < 200 && path !== "lane"; tries++) {
      ({ path } = await next.run());
      await sleep(20);
    }
    expect(path).toBe("lane");
  } finally {
    await bench.close();
  }
});

test("a code, whose lanes took two seconds more than they may to start, rests for ten times as long", () => {
  const request = { commitDir: "/c", environmentDir: null, entrypoint: "main.py", kinds: {}, limits: LIMITS };
  const group = takeGroup(new Map(), request);
  const startedAt = Date.now();
  noteStart(group, startedAt - 1_000, 1);
  expect(group.restUntil).toBeLessThanOrEqual(Date.now());
  noteStart(group, startedAt - 2_000, 1);
  expect(group.restUntil - startedAt).toBeGreaterThan(19_000);
  expect(group.restUntil - startedAt).toBeLessThan(40_000);
});

/** Replaces how the fork waits for its request, of which it reads a megabyte; that it has been sealed takes milliseconds. */
function inWaitingFork(act: string): string {
  return `
import posix, time
kept = []
def wait(descriptor, size, read=posix.read):
    if descriptor == 4 and size == 1 << 20 and not kept:
        kept.append(b"")
        time.sleep(0.3)
        ${act}
    return read(descriptor, size)
posix.read = wait
`;
}
