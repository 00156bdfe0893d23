import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { makeFolder } from "./folders.ts";
import { openWarmBench, RUNNER_SOURCE } from "./harness.ts";
import { listZygotes } from "./zygotes.ts";

/** As a lane sees it, in the folder of its commit. */
const STALL = "/commit/stall";

test.each([
  ["keeps its capabilities", "check(libc.capset(", "False and check(libc.capset(", "CapEff"],
  [
    "lacks the filter",
    "check(libc.prctl(PR_SET_SECCOMP",
    "False and check(libc.prctl(PR_SET_SECCOMP",
    "Seccomp_filters",
  ],
  [
    "sees the lane's folder",
    'mount(b"tmpfs", request["laneDir"]',
    'False and mount(b"tmpfs", request["laneDir"]',
    "the lane's folder",
  ],
])("lanes, whose fork %s, take no work and say so", async (_name, defence, without, problem) => {
  const sourceDir = makeFolder("weak-runner");
  cpSync(RUNNER_SOURCE, sourceDir, { recursive: true });
  const program = join(sourceDir, "_treadle_fork.py");
  const text = readFileSync(program, "utf8");
  expect(text).toContain(defence);
  writeFileSync(program, text.replace(defence, without));
  const weak = await openWarmBench({}, {}, sourceDir);
  try {
    const commit = weak.commit({ code: "def main():\n    return 1\n" });
    expect(await commit.warm()).toEqual({ warm: false, reason: expect.stringContaining(problem) });
    expect(weak.laneProblem()).toContain(problem);
    const ran = await commit.run();
    expect([ran.path, ran.outcome.status]).toEqual(["cold", "success"]);
  } finally {
    await weak.close();
    rmSync(sourceDir, { recursive: true });
  }
});

test("a commit, whose fork the host could not look at in time, has a lane again later", async () => {
  const sourceDir = makeFolder("slow-runner");
  cpSync(RUNNER_SOURCE, sourceDir, { recursive: true });
  const program = join(sourceDir, "_treadle_fork.py");
  const text = readFileSync(program, "utf8");
  const closing = "        posix.close(outer)\n";
  expect(text).toContain(closing);
  // As when the machine stands still just there: what was inherited stays open for longer than anybody looks.
  const stall = `        posix.access("${STALL}", 0) and __import__("time").sleep(5)\n`;
  writeFileSync(program, text.replace(closing, stall + closing));
  const bench = await openWarmBench({}, { retryAfterMs: 200 }, sourceDir);
  try {
    const commit = bench.commit({ code: "def main():\n    return 1\n", commit: { stall: "" } });
    expect(await commit.warm()).toEqual({ warm: false, reason: expect.stringContaining("passes files or sockets") });
    expect((await commit.run()).path).toBe("cold");
    rmSync(join(commit.commitDir, "stall"));
    await waitUntilEqual(async () => (await commit.run()).path, "lane");
    expect(bench.laneProblem()).toBeUndefined();
  } finally {
    await bench.close();
    rmSync(sourceDir, { recursive: true });
  }
});

test("a commit, run before it has a lane, starts cold, and has one soon after", async () => {
  const bench = await openWarmBench();
  try {
    const commit = bench.commit({ code: "def main():\n    return 1\n" });
    expect((await commit.run()).path).toBe("cold");
    await waitUntilEqual(async () => (await commit.run()).path, "lane");
  } finally {
    await bench.close();
  }
});

test("lanes, more codes than there may be, close the one that was used least recently", async () => {
  const small = await openWarmBench({}, { lanesMax: 2 });
  try {
    const commits = [1, 2, 3].map((value) => small.commit({ code: `def main():\n    return ${value}\n` }));
    for (const commit of commits) expect(await commit.warm()).toEqual({ warm: true });
    expect(readdirSync(join(small.root, "lanes"))).toHaveLength(2);
    expect((await commits[2]?.run())?.path).toBe("lane");
    expect((await commits[0]?.run())?.path).toBe("cold");
  } finally {
    await small.close();
  }
});

test("a lane, whose folder goes while its packages are imported, as when the service stops, is given up", async () => {
  const bench = await openWarmBench();
  try {
    const environmentDir = bench.environment({ "slow.py": "import time; time.sleep(1.2)\n" });
    const before = new Set(listZygotes());
    const warming = bench.commit({ code: "import slow\ndef main():\n    return 1\n", environmentDir }).warm();
    const lanes = join(bench.root, "lanes");
    while (listZygotes().every((pid) => before.has(pid))) await sleep(5);
    await sleep(300); // It has its request, and imports.
    rmSync(join(lanes, String(readdirSync(lanes)[0]), "outputs"), { recursive: true, force: true });
    expect(await warming).toMatchObject({ warm: false, reason: expect.any(String) });
  } finally {
    await bench.close();
  }
});

test("a lane, without work for its idle time, is closed", async () => {
  const idle = await openWarmBench({}, { idleMs: 300, lookEveryMs: 50 });
  try {
    expect(await idle.commit({ code: "def main():\n    return 1\n" }).warm()).toEqual({ warm: true });
    expect(readdirSync(join(idle.root, "lanes"))).toHaveLength(1);
    await waitUntilEqual(() => readdirSync(join(idle.root, "lanes")).length, 0);
  } finally {
    await idle.close();
  }
});

test("a lane, whose start takes longer than its idle time, is closed as well", async () => {
  const idle = await openWarmBench({}, { idleMs: 1, lookEveryMs: 5 });
  try {
    await idle.commit({ code: "def main():\n    return 1\n" }).warm();
    await waitUntilEqual(() => readdirSync(join(idle.root, "lanes")).length, 0);
  } finally {
    await idle.close();
  }
});

test("a lane, soon used up, has a successor by then, so that no execution starts cold", async () => {
  // With a second lane, one would stand in for the other.
  const bench = await openWarmBench({}, { executionsMax: 20, lanesMax: 1 });
  try {
    const before = new Set(listZygotes());
    const commit = bench.commit({ code: "def main():\n    return 1\n" });
    expect(await commit.warm()).toEqual({ warm: true });
    const paths = new Set<string>();
    const seen = new Set<number>();
    // Two callers ask for a second lane, for which there is no room.
    const call = async () => {
      while (seen.size < 4) {
        paths.add((await commit.run()).path);
        for (const pid of listZygotes().filter((each) => !before.has(each))) seen.add(pid);
      }
    };
    await Promise.all([call(), call()]);
    expect(paths).toEqual(new Set(["lane"]));
    await waitUntilEqual(() => readdirSync(join(bench.root, "lanes")).length, 1);
  } finally {
    await bench.close();
  }
});

test("lanes, holding more memory than they may, lose the one that was used least recently", async () => {
  const large = "x = bytearray(40 << 20)\nx[::4096] = bytes(len(x[::4096])).replace(b'\\0', b'1')\n";
  const tight = await openWarmBench({}, { idleBytesMax: 90 << 20, lookEveryMs: 50 });
  try {
    const environmentDir = tight.environment({ "large.py": large });
    const code = (value: number) => `import large\ndef main():\n    return ${value}\n`;
    const commits = [1, 2, 3].map((value) => tight.commit({ code: code(value), environmentDir }));
    for (const commit of commits) expect(await commit.warm()).toEqual({ warm: true });
    await waitUntilEqual(() => readdirSync(join(tight.root, "lanes")).length, 1);
    expect((await commits[2]?.run())?.path).toBe("lane");
  } finally {
    await tight.close();
  }
});

async function waitUntilEqual(read: () => unknown, wanted: unknown): Promise<void> {
  for (let waited = 0; waited < 10_000 && (await read()) !== wanted; waited += 20) await sleep(20);
  expect(await read()).toBe(wanted);
}

test("a bench with lanes, closed, leaves no process", async () => {
  const own = await openWarmBench();
  const before = new Set(listZygotes());
  await own.commit({ code: "def main():\n    return 1\n" }).warm();
  expect(listZygotes().length).toBe(before.size + 1);
  await own.close();
  expect(new Set(listZygotes())).toEqual(before);
});
