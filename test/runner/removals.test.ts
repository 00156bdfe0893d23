import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { createSandbox } from "../../sandbox/sandbox.ts";
import { makeDeep } from "../support/trees.ts";
import { type Bench, openBench, openWarmBench } from "./harness.ts";
import { listZygotes } from "./zygotes.ts";

const HELLO = { code: "def main():\n    return 1\n" };
/** Rejected promises that nobody handles fail a test on their own (jest-circus), once the event loop comes round. */
const UNHANDLED_MS = 200;

async function withBench(opening: Promise<Bench>, act: (bench: Bench) => Promise<void>): Promise<void> {
  const bench = await opening;
  try {
    await act(bench);
  } finally {
    await bench.close();
  }
}

async function waitForNames(folder: string, wanted: number): Promise<void> {
  for (let waited = 0; waited < 20_000 && readdirSync(folder).length !== wanted; waited += 20) await sleep(20);
  expect(readdirSync(folder)).toHaveLength(wanted);
}

test("lanes, where a killed service left folders longer than any path, start, take work and remove them", () =>
  withBench(openWarmBench(), async ({ root, settings }) => {
    const lanesDir = join(root, "lanes");
    const left = join(lanesDir, `treadle-${process.pid}-l1`);
    mkdirSync(left);
    const deep = makeDeep(join(root, "deep"), 60, "d".repeat(250));
    renameSync(deep, join(left, "2-outputs"));
    const sandbox = createSandbox(settings);
    await waitForNames(lanesDir, 0);
    await sandbox.close();
  }));

const DEEP_IN_LANE = `
import os
def deepen(folder, levels=40):
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d" * 250, dir_fd=here)
        there = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = there
    os.close(here)

forks = 0
def fork():
    global forks
    forks += 1
    if forks == 2:
        deepen("/lane/2")
        os.open("/", os.O_RDONLY)
os.register_at_fork(before=fork, after_in_child=lambda: globals().update(forks=9))
`;

test("a lane, whose package makes a folder longer than any path and then spoils it, is closed and removed", () =>
  withBench(openWarmBench(), async (bench) => {
    const environmentDir = bench.environment({ "deep.py": DEEP_IN_LANE });
    const commit = bench.commit({ code: "import deep\ndef main():\n    return 1\n", environmentDir });
    expect(await commit.warm()).toEqual({ warm: true });
    expect((await commit.run()).path).toBe("lane");
    await waitForNames(join(bench.root, "lanes"), 0);
    await sleep(UNHANDLED_MS);
    expect((await commit.run()).outcome.status).toBe("success");
  }));

test("a package that writes to the folder of a lane's outputs, when the interpreter is forked, starts cold and leaves nothing", () =>
  withBench(openWarmBench(), async (bench) => {
    const planted = "import os\nos.register_at_fork(before=lambda: open('/lane/1/planted', 'w').close())\n";
    const environmentDir = bench.environment({ "planting.py": planted });
    const commit = bench.commit({ code: "import planting\ndef main():\n    return 1\n", environmentDir });
    const reason = "A package writes to the folder that outputs of its executions come to.";
    expect(await commit.warm()).toEqual({ warm: false, reason });
    const ran = await commit.run();
    expect([ran.path, ran.outcome.status, Object.keys(ran.names)]).toEqual(["cold", "success", ["result"]]);
    await waitForNames(join(bench.root, "lanes"), 0);
  }));

test("a sandbox, none of whose clean-ups succeeds, runs one execution after the other all the same", () =>
  withBench(
    openWarmBench({ removeTree: () => Promise.reject(new Error("Nothing can be removed today.")) }),
    async (bench) => {
      const before = listZygotes().length;
      const spoilt = bench.environment({
        "spoilt.py": "import os\nos.register_at_fork(before=lambda: os.open('/', 0))\n",
      });
      await bench.commit({ code: "import spoilt\ndef main():\n    return 1\n", environmentDir: spoilt }).warm();
      const commit = bench.commit(HELLO);
      expect(await commit.warm()).toEqual({ warm: true });
      for (let count = 0; count < 3; count++) expect((await commit.run()).outcome.status).toBe("success");
      // Ended while its code runs: its outputs are not kept, and so they are removed.
      const ended = bench.commit({ code: "import os\ndef main():\n    os.kill(os.getpid(), 9)\n" });
      await ended.warm();
      expect((await ended.run()).outcome.status).toBe("failed");
      await sleep(UNHANDLED_MS);
      expect((await commit.run()).outcome.status).toBe("success");
      await sleep(UNHANDLED_MS);
      expect(listZygotes().length).toBeGreaterThanOrEqual(before);
    },
  ));

test("a sandbox with inputs, whose clean-ups fail on the cold path, says so to the one who asked and goes on", () =>
  withBench(openBench({ removeTree: () => Promise.reject(new Error("no")) }), async (bench) => {
    const files = [{ input: "given", files: [{ content: "x", fileName: "x.txt" }] }];
    await expect(bench.run({ code: "def main(given):\n    return 1\n", files })).rejects.toThrow("no");
    await sleep(UNHANDLED_MS);
    expect((await bench.run(HELLO)).outcome.status).toBe("success");
  }));
