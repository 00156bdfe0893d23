import { closeSync, openSync, readdirSync, readFileSync, readSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { runInLane } from "../sandbox/lane-runs.ts";
import { type Bench, type Commit, jsonOf, openWarmBench, type Program, type Ran } from "./harness.ts";
import { listZygotes } from "./zygotes.ts";

let bench: Bench;

beforeAll(async () => {
  bench = await openWarmBench();
});

afterAll(async () => {
  await bench.close();
});

/** A commit with a lane. Fails with the reason where there is none. */
async function aWarmCommit(program: Program): Promise<Commit> {
  const commit = bench.commit(program);
  expect(await commit.warm()).toEqual({ warm: true });
  return commit;
}

function laneRan(ran: Ran): Ran {
  expect([ran.path, ran.outcome.status, ran.outcome.message]).toEqual(["lane", "success", ""]);
  return ran;
}

/** Waits until executions are served by a lane again. */
async function expectLane(commit: Commit, given: Parameters<Commit["run"]>[0] = {}): Promise<void> {
  expect((await runInLane(commit, given)).path).toBe("lane");
}

test("a lane, given inputs of several kinds, serves them as the cold path does", async () => {
  const program: Program = {
    code: `
import json
def main(name, when, data, upload, uploads):
    print("hello", name)
    return {"seen": [name, when.year, data, upload.read_text(), [each.name for each in uploads]], "copy": upload}
`,
    inputs: { name: "Ada", when: "2026-02-03", data: { a: [1, 2] } },
    kinds: { name: "string", when: "date", data: "json" },
    files: [
      { input: "upload", files: [{ content: "text", fileName: "a b.txt" }] },
      {
        input: "uploads",
        list: true,
        files: [
          { content: "1", fileName: "x.txt" },
          { content: "2", fileName: "y.txt" },
        ],
      },
    ],
  };
  const commit = await aWarmCommit(program);
  for (let round = 0; round < 3; round++) {
    const ran = laneRan(await runInLane(commit));
    expect(jsonOf(ran, "seen")).toEqual(["Ada", 2026, { a: [1, 2] }, "text", ["x.txt", "y.txt"]]);
    expect(ran.texts.copy).toBe("text");
    expect(ran.stdout).toBe("hello Ada");
  }
});

test("a lane, after an execution that changed all it could reach, shows none of it to the next", async () => {
  const commit = await aWarmCommit({
    code: `
import builtins, json, os, random, sys, tempfile, uuid
def main(plant):
    seen = {
        "module": getattr(json, "planted", None), "builtin": getattr(builtins, "planted", None),
        "path": "/planted" in sys.path, "variable": os.environ.get("PLANTED"),
        "files": [p for p in ("/tmp/planted", "/app/planted", "/dev/shm/planted", "/app/outputs/planted") if os.path.exists(p)],
        "processes": sorted(int(p) for p in os.listdir("/proc") if p.isdigit()), "pid": os.getpid(),
    }
    if plant:
        json.planted = builtins.planted = 1
        sys.path.append("/planted"); os.environ["PLANTED"] = "1"
        for path in ("/tmp/planted", "/app/planted", "/dev/shm/planted"):
            open(path, "w").close()
        if os.fork() == 0:
            os.setsid()
            import time; time.sleep(60)
    return {"seen": seen, "random": [random.random(), str(uuid.uuid4()), tempfile.mktemp()]}
`,
    kinds: { plant: "boolean" },
    inputs: { plant: true },
  });
  const fresh = {
    module: null,
    builtin: null,
    path: false,
    variable: null,
    files: [],
    processes: [1, 2],
    pid: 2,
  };
  const drawn: unknown[] = [];
  for (let round = 0; round < 4; round++) {
    const ran = laneRan(await runInLane(commit));
    expect(jsonOf(ran, "seen")).toEqual(fresh);
    drawn.push(...jsonOf<unknown[]>(ran, "random"));
  }
  expect(new Set(drawn).size).toBe(drawn.length);
});

test.each([
  ["an exception", "raise ValueError('bad')", "failed", "ValueError: bad"],
  ["an exit code", "import sys; sys.exit(3)", "failed", "The code exited with code 3."],
  ["os._exit", "import os; os._exit(7)", "failed", "The code exited with code 7."],
  [
    "a signal to itself",
    "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "failed",
    "The process was killed by SIGTERM.",
  ],
  ["a crash", "import ctypes; ctypes.string_at(1)", "failed", expect.stringContaining("SIGSEGV")],
])(
  "a lane, with code that ends by %s, tells it and serves the next execution",
  async (_name, line, status, message) => {
    const commit = await aWarmCommit({ code: `${line}\n` });
    for (let round = 0; round < 2; round++) {
      const ran = await runInLane(commit);
      expect([ran.path, ran.outcome.status, ran.outcome.message]).toEqual(["lane", status, message]);
    }
  },
);

test("a lane, whose execution is stopped by its time limit, is replaced", async () => {
  const commit = await aWarmCommit({
    code: "import time\ndef main(seconds):\n    time.sleep(seconds)\n    return 1\n",
    inputs: { seconds: 30 },
    limits: { timeoutSeconds: 1 },
  });
  const late = await commit.run();
  expect([late.path, late.outcome.status]).toEqual(["lane", "timed_out"]);
  expect((await commit.run({ inputs: { seconds: 0 } })).outcome.status).toBe("success");
  await expectLane(commit, { inputs: { seconds: 0 } });
});

test("a lane, cancelled while its code runs, ends at once", async () => {
  const commit = await aWarmCommit({ code: "import time\nprint('on', flush=True)\ntime.sleep(60)\n" });
  const controller = new AbortController();
  const ran = await commit.run({ signal: controller.signal, onLine: () => controller.abort() });
  expect([ran.path, ran.outcome.status]).toEqual(["lane", "cancelled"]);
  expect(ran.elapsedMs).toBeLessThan(15_000); // Of the minute that it wanted.
});

test.each([
  [
    "starts a thread",
    "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n",
    "threads",
  ],
  ["prints", "print('imported')\n", "prints"],
  ["keeps a random generator", "import random\nrng = random.Random(1)\n", "Random"],
  ["raises", "raise RuntimeError('no')\n", "RuntimeError"],
  ["ends the interpreter", "raise SystemExit\n", "ended"],
])("a commit, whose package %s when it is imported, runs cold", async (_name, source, reason) => {
  const environmentDir = bench.environment({ "odd.py": source });
  const commit = bench.commit({ code: "def main():\n    return 1\nimport odd\n", environmentDir });
  expect(await commit.warm()).toEqual({ warm: false, reason: expect.stringContaining(reason) });
  expect((await commit.run()).path).toBe("cold");
});

test("a commit, with a module named like one of the standard library, runs cold and finds its own", async () => {
  const commit = bench.commit({
    code: "import csv, tempfile\nimport random\ndef main():\n    return random.mine\n",
    commit: { "random.py": "mine = 'own'\nclass Random: pass\n" },
  });
  expect(await commit.warm()).toEqual({ warm: false, reason: expect.stringContaining("random") });
});

test("a package, imported ahead, is not imported again and its files are seen", async () => {
  const environmentDir = bench.environment({
    "slow.py": "import os\nopen('/tmp/cache', 'w').write('made at import')\nwho = os.getpid()\n",
  });
  const commit = await aWarmCommit({
    code: "import slow, os\ndef main():\n    return [slow.who == os.getpid(), open('/tmp/cache').read()]\n",
    environmentDir,
  });
  expect(jsonOf(laneRan(await commit.run()))).toEqual([false, "made at import"]);
});

test("a lane, whose zygote is killed, is replaced", async () => {
  const commit = await aWarmCommit({ code: "def main():\n    return 1\n" });
  const before = new Set(listZygotes());
  laneRan(await commit.run());
  for (const pid of before) process.kill(pid, "SIGKILL");
  // Whether or not the end has been noticed yet.
  expect((await commit.run()).outcome.status).toBe("success");
  await expectLane(commit);
});

test("a lane, killed under an execution, keeps what it counts and holds until that execution is over", async () => {
  const commit = bench.commit({ code: "print('on', flush=True)\nimport time\ntime.sleep(30)\n" });
  const ends: string[] = [];
  for (let round = 0; round < 12; round++) {
    expect(await commit.warm()).toEqual({ warm: true });
    const onLine = () => listZygotes().forEach((pid) => process.kill(pid, "SIGKILL"));
    ends.push(await commit.run({ onLine }).then(({ path, outcome }) => `${path} ${outcome.status}`, String));
  }
  expect(new Set(ends)).toEqual(new Set(["Error: The sandbox of an execution was ended from outside."]));
});

test("a lane, whose execution cannot be taken away, is given up, and the next has another", async () => {
  const commit = await aWarmCommit({ code: "def main():\n    return 1\n" });
  const lanesDir = join(bench.root, "lanes");
  const others = readdirSync(lanesDir);
  const robbed = await aWarmCommit({ code: "print('on', flush=True)\nimport time\ntime.sleep(0.5)\n" });
  const own = readdirSync(lanesDir).filter((name) => !others.includes(name));
  const onLine = () => own.forEach((name) => rmSync(join(lanesDir, name), { recursive: true, force: true }));
  await expect(robbed.run({ onLine })).rejects.toThrow("ENOENT");
  await expectLane(robbed);
  laneRan(await commit.run());
});

test("a zygote, while an execution of its lane runs, is stopped", async () => {
  const commit = await aWarmCommit({ code: "print('on', flush=True)\nimport time\ntime.sleep(3)\n" });
  const states: string[] = [];
  const readState = (pid: number) => /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? "";
  laneRan(await commit.run({ onLine: () => states.push(...listZygotes().map(readState)) }));
  expect(states.length).toBeGreaterThan(0);
  expect(new Set(states)).toEqual(new Set(["T"]));
});

test("the self-test, of a sandbox with lanes, starts no lane for its probe", async () => {
  const before = listZygotes();
  expect(await bench.selfTest()).toEqual([]);
  await sleep(300);
  expect(listZygotes()).toEqual(before);
  expect(bench.laneProblem()).toBeUndefined();
});

/** Looks for the other's secret in its environment, and in all of its memory that it may read. */
const SEARCH = `
import os
def main():
    # Never put together here: it would find itself.
    heads, tail = (b"first-value", b"second-value"), b"-of-another"
    own = os.environ.get("TOKEN", "none")[:5].encode()
    found = [own.decode()]
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb") as memory:
        for line in maps.read().splitlines():
            span, modes = line.split()[:2]
            if modes[0] != "r" or "[v" in line:
                continue
            start, end = (int(part, 16) for part in span.split("-"))
            try:
                memory.seek(start)
                content = memory.read(end - start)
            except (OSError, ValueError, OverflowError):
                continue
            at = content.find(tail)
            while at >= 0:
                found += [head.decode() for head in heads if content[at - len(head):at] == head and head[:5] != own]
                at = content.find(tail, at + 1)
    return found
`;

test("a fork, of a lane that has served another secret, finds neither that nor its place; the zygote has none", async () => {
  const perRun = { laneVariables: { fixed: { REGION: "eu" }, perRun: ["TOKEN"] } };
  const commit = await aWarmCommit({ code: SEARCH, ...perRun });
  const [first, second] = ["first-value-of-another", "second-value-of-another"];
  const given = (TOKEN: string) => ({ variables: { REGION: "eu", TOKEN }, secrets: [TOKEN] });
  expect(jsonOf(laneRan(await runInLane(commit, given(first))))).toEqual(["first"]);
  expect(jsonOf(laneRan(await runInLane(commit, given(second))))).toEqual(["secon"]);
  expect(jsonOf(laneRan(await runInLane(commit)))).toEqual(["none"]);
  const zygotes = listZygotes();
  expect(zygotes.length).toBeGreaterThan(0);
  for (const pid of zygotes) expect([holds(pid, first), holds(pid, second)]).toEqual([false, false]);
});

/** Whether a process has a text in its memory. */
function holds(pid: number, text: string): boolean {
  const memory = openSync(`/proc/${pid}/mem`, "r");
  try {
    return readFileSync(`/proc/${pid}/maps`, "utf8")
      .split("\n")
      .filter((line) => / r/.test(line) && !line.includes("[v"))
      .some((line) => {
        const [start = 0, end = 0] = (line.split(" ")[0] ?? "").split("-").map((part) => Number.parseInt(part, 16));
        const content = Buffer.alloc(end - start);
        try {
          readSync(memory, content, 0, content.length, start);
        } catch {
          return false; // Not every part can be read.
        }
        return content.includes(text);
      });
  } finally {
    closeSync(memory);
  }
}

test.each([
  ["asks for it", "import os\nVALUE = os.environ.get('TOKEN')"],
  ["asks whether it is there", "import os\nVALUE = 'TOKEN' in os.environ"],
  ["copies all there are", "import os\nVALUE = dict(os.environ)"],
])("a package, that %s when it is imported, starts cold; one that asks for a fixed one does not", async (_, code) => {
  const laneVariables = { fixed: { REGION: "eu" }, perRun: ["TOKEN"] };
  const variables = { REGION: "eu", TOKEN: "of-this-run" };
  const asking = bench.commit({
    code: "import eager\ndef main(): return str(eager.VALUE)",
    environmentDir: bench.environment({ "eager.py": code }),
    laneVariables,
    variables,
  });
  expect(await asking.warm()).toEqual({ warm: false, reason: "A package asks for TOKEN when it is imported." });
  const fixed = await aWarmCommit({
    code: "import calm\ndef main(): return calm.VALUE",
    environmentDir: bench.environment({ "calm.py": "import os\nVALUE = os.environ['REGION']" }),
    laneVariables,
    variables,
  });
  expect(laneRan(await runInLane(fixed)).texts).toEqual({ result: "eu" });
});
