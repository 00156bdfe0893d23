import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { findHostProblem } from "../../activities/program.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import { loadSettings } from "../../src/config.ts";
import { createScratchDisks } from "../../src/executions/scratch-disks.ts";
import { createLog } from "../../src/log.ts";
import { createReadiness, readyOnceOpen } from "../../src/metrics/readiness.ts";
import type { Machine } from "../../src/setup/machine.ts";
import { openHost } from "../../src/start/host-programs.ts";
import { writeFolder } from "../runner/folders.ts";
import { findInterpreter, LIMITS, UNPRIVILEGED } from "../runner/harness.ts";
import { aFolder, afterwards, aProgram, IS_ROOT, until } from "./servers/surroundings.ts";

/** What programs run in on a machine like this one, with that `runsc`, or with what else is wrong with it. */
async function aHost(change: Partial<Machine>, env: Record<string, string> = {}) {
  const folder = aFolder();
  const path = (name: string) => {
    mkdirSync(join(folder, name));
    return join(folder, name);
  };
  const interpreter = findInterpreter();
  const machine = {
    env: {},
    paths: { runner: join(folder, "runner"), lanes: path("lanes"), trash: path("trash") },
    python: interpreter,
    bwrapPath: "/usr/bin/bwrap",
    gvisor: undefined,
    problems: [],
    runAs: IS_ROOT ? UNPRIVILEGED : undefined,
    sandboxUsers: { users: undefined, message: "" },
    runDisks: Promise.resolve({ problem: "not asked for", close: () => Promise.resolve() }),
    network: undefined,
    ...change,
  } as unknown as Machine;
  const host = await openHost({
    settings: loadSettings(env),
    machine,
    log: createLog({ level: "error", terminal: false }),
  });
  afterwards(host.close);
  const run = () =>
    host.sandbox.run({
      executionId: "ex_1",
      environmentDir: null,
      entrypoint: "main.py",
      inputs: {},
      kinds: {},
      files: [],
      commitDir: writeFolder(join(folder, "commit"), { "main.py": "print(1)" }),
      spoolDir: path("spool"),
      declaredOutputs: null,
      limits: LIMITS,
    });
  return { ...host, run };
}

/** The sandboxes that this process has started and that are still there. */
function listSandboxes(): string[] {
  const isOurs = (pid: string): boolean => {
    const [, name, , parent] = /^\d+ \((.*)\) (\S) (\d+) /.exec(readStat(pid)) ?? [];
    return name === "bwrap" && Number(parent) === process.pid;
  };
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isOurs(name));
}

function readStat(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return ""; // It has just ended.
  }
}

test("openHost, of a process that only answers callers, keeps no sandbox started; of another, two", async () => {
  await aHost({}, { TREADLE_ROLE: "api" });
  const before = listSandboxes();
  await aHost({});
  const isNew = (pid: string): boolean => !before.includes(pid);
  await until("two sandboxes are started ahead", () => listSandboxes().filter(isNew).length === 2, 20_000);
  expect(before).toEqual([]);
  expect(listSandboxes().length).toBe(2);
});

test("openHost, where sandboxes hold, runs programs", async () => {
  const host = await aHost({});
  expect(host.isolationProblems).toEqual([]);
  expect((await host.run()).outcome.status).toBe("success");
});

test("openHost, where what a setting asks for is missing, runs no program and says why", async () => {
  const host = await aHost({ problems: ["There is no runsc."] });
  const reason = "Programs are not run on this host: There is no runsc.";
  await expect(host.run()).rejects.toThrow(reason);
  expect(await host.sandbox.warm({} as never)).toEqual({ warm: false, reason });
});

test("openHost, where runsc does not start, runs no program and says what it said", async () => {
  const runscPath = aProgram(join(aFolder(), "runsc"), "echo no platform >&2; exit 3");
  const host = await aHost({ gvisor: { runscPath } });
  expect(host.isolationProblems).toEqual([expect.stringContaining("no platform")]);
  await expect(host.run()).rejects.toThrow(/^Programs are not run on this host: .*no platform/);
});

test.each([
  [
    "no isolation",
    { isolationProblems: ["There is no runsc."] },
    "Programs are not run on this host: There is no runsc.",
  ],
  ["no network", { networkProblem: () => "No tun." }, expect.stringMatching(/limits\.network.*: No tun\.$/)],
  ["no disks for scratch", { scratchProblem: String }, expect.stringMatching(/limits\.scratch.*: 2000000000$/)],
  ["all of it", {}, undefined],
])("findHostProblem, of a host with %s, says so in words for a caller", (_, lacking, problem) => {
  const host = { isolationProblems: [], networkProblem: () => undefined, scratchProblem: () => undefined, ...lacking };
  const modest = { limits: { network: false, memoryBytes: 1e9, scratchBytes: 1e9 } } as Manifest;
  const manifest = { limits: { network: true, memoryBytes: 1e9, scratchBytes: 2e9 } } as Manifest;
  expect(findHostProblem(host, manifest)).toEqual(problem);
  if (!("isolationProblems" in lacking)) expect(findHostProblem(host, modest)).toBeUndefined();
});

test.each([
  [
    "whose service is an ordinary user's",
    "the service is not started as root",
    false,
    /not started as root\. They need .*root/,
  ],
  [
    "in a container without loop devices",
    "there are no loop devices",
    false,
    /no loop devices\. They need .*loop devices/,
  ],
  [
    "that runs programs in gVisor",
    undefined,
    true,
    /gVisor have none\. They need .*without TREADLE_SANDBOX_RUNTIME=runsc/,
  ],
])(
  "createScratchDisks, on a host %s, gives none of any size and says what they need",
  (_, disksProblem, isInGvisor, says) => {
    const given = { room: { scratchRoom: () => 1e12 }, disksProblem, isInGvisor };
    const disks = createScratchDisks({ ...given, scratchBytesMax: 1e9 });
    expect([disks.problem, disks.problemOf(1), disks.ceiling]).toEqual([disks.problem, disks.problem, 1e9]);
    expect(disks.problem).toMatch(says);
    // Where nobody may have any, nothing is missing.
    expect(createScratchDisks({ ...given, scratchBytesMax: 1e6 }).problem).toBeUndefined();
  },
);

function look(
  isolationProblems: readonly string[],
  commitProblems: Parameters<typeof createReadiness>[0]["commitProblems"] = () => [],
  isStopping = false,
  diskWaiting = 0,
) {
  return createReadiness({
    db: { raw: () => Promise.resolve() } as never,
    storage: { check: () => Promise.resolve() } as never,
    temporalClient: { check: () => Promise.resolve() } as never,
    isolation: "sandbox",
    isInGvisor: true,
    isolationProblems,
    laneProblem: () => "gVisor starts a kernel for each program.",
    sandboxUsers: { users: undefined, message: "shared" },

    runDisksProblem: undefined,
    cgroups: undefined,
    networkProblem: () => "None in gVisor.",
    diskProblem: () => undefined,
    diskWaiting: () => diskWaiting,
    commitProblems,
    temporal: {},
    isStopping: () => isStopping,
    dataDir: "/nowhere",
    descriptors: { ok: true, message: "" },
  })();
}

test("readiness, where commits cannot run, is ready, and counts them without a name", async () => {
  const problem = { workflowId: "wf_1", commitId: "c1", reason: "It asks for Python 3.10." };
  const commitsOf = async (...isBeingMade: boolean[]) =>
    (await look([], () => isBeingMade.map((each) => ({ ...problem, isBeingMade: each })))).checks["commits"];
  expect(await commitsOf()).toEqual({ ok: true, message: "Every workflow has its Python and its packages." });
  expect(await commitsOf(false, true, false)).toEqual({
    ok: false,
    message:
      "Of the workflows, 2 cannot run: this host lacks their Python or their packages. 1 cannot run yet: packages are being made for this host's Python. bin/treadle doctor names them.",
  });
  expect((await look([], () => [{ ...problem, isBeingMade: false }])).ready).toBe(true);
});

test("readiness, while executions wait for each other's room on the disk, is ready and counts them", async () => {
  expect((await look([])).checks["disk"]).toEqual({ ok: true, message: "There is room for outputs." });
  const { ready, checks } = await look([], undefined, false, 3);
  expect([ready, checks["disk"]]).toEqual([
    true,
    {
      ok: true,
      message: expect.stringMatching(
        /^Executions that wait until others give up room on the disk: 3\. Largest in the data folder: /,
      ),
    },
  ]);
});

test("readiness, in gVisor, says so; with problems, and from a request to stop on, it is not ready and says why", async () => {
  const well = await look([]);
  expect(well.ready).toBe(true);
  expect(well.checks).toMatchObject({
    isolation: { ok: true, message: "Each execution has a sandbox of its own with gVisor in it; it tested itself." },
    lanes: { ok: false, message: "Every execution starts cold: gVisor starts a kernel for each program." },
    network: { ok: false, message: "Workflows with limits.network are refused: None in gVisor." },
  });
  const bad = await look(["no runsc"]);
  expect(bad).toMatchObject({
    ready: false,
    checks: { isolation: { ok: false, message: "Programs are not run: no runsc" } },
  });
  expect(await look([], undefined, true)).toMatchObject({
    ready: false,
    checks: { isolation: { ok: true }, stopping: { ok: false } },
  });
});

test("readiness, on a port that is open before that for callers, is not ready until both are", async () => {
  const state = { ready: true, checks: { database: { ok: true, message: "" } } };
  let isOpen = false;
  const look = readyOnceOpen(
    async () => state,
    () => isOpen,
  );
  expect(await look()).toMatchObject({
    ready: false,
    checks: { database: { ok: true }, callers: { ok: false, message: "The port for callers is not open yet." } },
  });
  isOpen = true;
  expect(await look()).toEqual(state);
});
