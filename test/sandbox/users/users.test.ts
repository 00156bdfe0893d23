import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { findProcess, isRunning, listTree } from "../../../sandbox/process-tree.ts";
import type { KernelUsers } from "../../../sandbox/users/kernel-users.ts";
import { createDirectReach } from "../../../sandbox/users/reach.ts";
import { removeTree } from "../../../system/trees/remove-tree.ts";
import { makeFolder, writeFolder } from "../../runner/folders.ts";
import { type Bench, LIMITS, openUsers, openWarmBench, SERVICE_USER, UNPRIVILEGED } from "../../runner/harness.ts";
import { buildService } from "../../runner/service.ts";
import { findByName } from "../attacks/scene.ts";
import { runInLane } from "../lane-runs.ts";

const isRoot = process.getuid?.() === 0;
/** An ordinary user without subordinate ids has no kernel users to give; what its service does without is tried elsewhere. */
const expectNone = async () => expect(await openUsers()).toBeUndefined();
let hasUsers = false;

let bench: Bench;
let users: KernelUsers;

beforeAll(async () => {
  bench = await openWarmBench();
  hasUsers = bench.settings.users !== undefined;
  users = bench.settings.users as KernelUsers;
});
afterAll(() => bench?.close());

const isOfSandboxes = (uid: number) => uid >= users.firstId && uid < users.firstId + users.count;

/** What a process of this name is for the kernel of the host. */
function uidOf(name: string): number {
  const [pid] = findByName(name);
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]);
}

const SHOW = `
import time
def main(name):
    with open("/proc/self/comm", "w") as file: file.write(name)
    print("up", flush=True)
    time.sleep(1.5)
`;

test("sandboxes, cold and in a lane, at the same time, are each a kernel user of their own", async () => {
  if (!hasUsers) return expectNone();
  const found: number[] = [];
  const commit = bench.commit({ code: SHOW, inputs: { name: "" } });
  expect(await commit.warm()).toEqual({ warm: true });
  const run = (start: Bench["run"], name: string) =>
    start({ code: SHOW, inputs: { name }, onLine: () => void found.push(uidOf(name)) });
  await Promise.all([
    run(bench.run, "treadle-user-a"),
    run(bench.run, "treadle-user-b"),
    run((program) => commit.run(program), "treadle-user-c"),
  ]);
  expect(found).toHaveLength(3);
  expect(found.every(isOfSandboxes)).toBe(true);
  expect(new Set(found).size).toBe(3);
});

const ODD_MODES = `
import os
os.makedirs("outputs/closed/below")
open("outputs/closed/below/inner.txt", "w").write("inner")
for number in range(48): open("outputs/%d.txt" % number, "w").write(str(number))
open("outputs/none.txt", "w").write("none")
os.chmod("outputs/none.txt", 0)
os.chmod("outputs/closed/below", 0o500)
os.chmod("outputs/closed", 0)
os.chmod("outputs", 0)
`;

test("outputs, of any mode, cold and in a lane, arrive unchanged and belong to the service", async () => {
  if (!hasUsers) return expectNone();
  const commit = bench.commit({ code: ODD_MODES });
  await commit.warm();
  const held = await runInLane(commit, { heldBytesMax: 65_536 });
  expect(held.outputs.map(({ content }) => content?.length)).toEqual(held.outputs.map(({ bytes }) => bytes));
  for (const ran of [await bench.run({ code: ODD_MODES }), await commit.run(), held]) {
    expect(ran.outcome.status).toBe("success");
    expect(ran.outputs).toHaveLength(50);
    expect(ran.texts).toMatchObject({ none: "none", "closed/below/inner.txt": "inner", "47": "47" });
    const files = ran.outputs.filter(({ content }) => content === undefined);
    expect(files.filter(({ path }) => isOfSandboxes(lstatSync(path).uid))).toEqual([]);
  }
});

test("outputs, too many in folders that the program has closed, are counted all the same", async () => {
  if (!hasUsers) return expectNone();
  const code = `
import os, time
os.makedirs("outputs/closed")
for number in range(200): open("outputs/closed/%d" % number, "w").close()
os.chmod("outputs/closed", 0)
time.sleep(10)
`;
  const { outcome } = await bench.run({ code });
  expect(outcome).toMatchObject({ status: "failed", message: expect.stringContaining("output files") });
});

test("a helper that is killed, is started again, and executions go on", async () => {
  if (!hasUsers) return expectNone();
  const before = listHelpers();
  for (const pid of before) process.kill(pid, "SIGKILL");
  const program = { code: "def main():\n    return 1\n" };
  await bench.run(program).catch(() => undefined); // It may have been on its way by the old one.
  expect((await bench.run(program)).outcome.status).toBe("success");
  expect(users.problem()).toBeUndefined();
  expect(listHelpers().filter((pid) => before.includes(pid))).toEqual([]);
});

function listHelpers(): number[] {
  return listTree(process.pid).filter((pid) => commandOf(pid).includes("stat_descriptors"));
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}

test("a hostile tree, deep and wide, is taken while others are answered at once", async () => {
  if (!hasUsers) return expectNone();
  const folder = makeFolder("tree");
  const own = await openUsers();
  try {
    const user = own?.take();
    if (own === undefined || user === undefined) throw new Error("There are no users.");
    mkdirSync(join(folder, "top"), { mode: 0o700 });
    await user.reach.own(join(folder, "top"));
    const grow = `
import os
os.chdir("${folder}/top")
for number in range(5_000): open(str(number), "w").close()
for _ in range(500):
    os.mkdir("d" * 200, 0o700); os.symlink("/etc/passwd", "link"); os.chdir("d" * 200)
`;
    const [command = "", ...args] = [...(await user.enter()), "/usr/bin/python3", "-c", grow];
    execFileSync(command, args, isRoot ? UNPRIVILEGED : {});
    // What a service that stays root has made is its own already, and closed to the helper.
    const roots = join(folder, "top", "roots");
    if (isRoot) mkdirSync(join(roots, "below"), { recursive: true, mode: 0o700 });
    const taking = own.takeBack(join(folder, "top"));
    const startedAt = performance.now();
    expect(await user.reach.listDescriptors([process.pid])).toHaveLength(1);
    expect(performance.now() - startedAt).toBeLessThan(500);
    await taking;
    expect(lstatSync(join(folder, "top")).uid).toBe(SERVICE_USER.uid);
    expect(lstatSync(join(folder, "top", "d".repeat(200), "link")).uid).toBe(SERVICE_USER.uid);
    expect(statSync("/etc/passwd").uid).toBe(0);
    if (isRoot) expect(lstatSync(roots).uid).toBe(0);
  } finally {
    await own?.close();
    execFileSync("rm", ["-rf", folder]);
  }
});

test("descriptors of processes, beyond as many as are looked at together, are not looked at", async () => {
  const own = await openUsers();
  const user = own?.take();
  const code = "import time; files = [open('/dev/null') for _ in range(20)]; print('up', flush=True); time.sleep(60)";
  const [command = "", ...args] = [...((await user?.enter()) ?? []), "/usr/bin/python3", "-c", code];
  const child = spawn(command, args, { ...(isRoot ? UNPRIVILEGED : {}), stdio: ["ignore", "pipe", "inherit"] });
  try {
    await once(child.stdout, "data");
    const pid = listTree(child.pid ?? 0).at(-1) ?? 0;
    const reaches = [createDirectReach(SERVICE_USER), ...(user === undefined ? [] : [user.reach])];
    for (const reach of isRoot || user === undefined ? reaches : reaches.slice(1)) {
      const found = await reach.statDescriptors([pid, pid, pid], 50);
      expect(found.map((each) => each?.length)).toEqual([expect.any(Number), expect.any(Number), undefined]);
      expect(found[0]?.length).toBeGreaterThan(20);
    }
  } finally {
    child.kill("SIGKILL");
    await own?.close();
  }
});

const LEAVES = `
import os, time
os.makedirs("outputs/a/b")
open("outputs/a/b/file", "w").close()
os.chmod("outputs/a", 0)
print("left", flush=True)
while True: time.sleep(0.05)
`;

async function killService(becomes: typeof UNPRIVILEGED | undefined): Promise<void> {
  if (!isRoot) return expect(process.getuid?.()).toBe(SERVICE_USER.uid); // Only root has more than one range to give.
  const folder = makeFolder("killed");
  const program = buildService(join(folder, "service"));
  const commitDir = writeFolder(join(folder, "commit"), { "main.py": LEAVES });
  mkdirSync(join(folder, "spool"));
  chmodSync(join(folder, "spool"), 0o777);
  const { firstId } = users;
  const given = { firstId: firstId + 1_000, count: 1_000, python: "/usr/bin/python3", nsenter: "/usr/bin/nsenter" };
  const settings = {
    ...bench.settings,
    lanes: undefined,
    users: undefined,
    runAs: becomes ? undefined : UNPRIVILEGED,
  };
  const request = {
    executionId: "ex_1",
    commitDir,
    environmentDir: null,
    entrypoint: "main.py",
    spoolDir: join(folder, "spool"),
    inputs: {},
    kinds: {},
    files: [],
    declaredOutputs: null,
    limits: LIMITS,
  };
  const child = spawn(process.execPath, [program, JSON.stringify({ settings, request, users: given, becomes })], {
    stdio: ["ignore", "pipe", "inherit"],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toContain("left");
  const tree = listTree(child.pid ?? 0).flatMap((pid) => findProcess(pid) ?? []);
  expect(tree.length).toBeGreaterThan(4);
  child.kill("SIGKILL");
  for (let waited = 0; waited < 5_000 && tree.some(isRunning); waited += 20) await sleep(20);
  expect(tree.filter(isRunning)).toEqual([]);
  const outputs = join(folder, "spool", "outputs");
  expect(lstatSync(outputs).uid).toBeGreaterThanOrEqual(given.firstId);
  await users.takeBack(outputs);
  expect(lstatSync(outputs).uid).toBe(UNPRIVILEGED.uid);
  chmodSync(join(outputs, "a"), 0o700);
  expect(lstatSync(join(outputs, "a/b/file")).uid).toBe(UNPRIVILEGED.uid);
  await removeTree(folder);
  expect(existsSync(folder)).toBe(false);
}

test("a service that stays root, killed by SIGKILL, leaves no process, and what its sandbox left is taken back", () =>
  killService(undefined));

test("a service that was root, killed by SIGKILL, leaves no process, and what its sandbox left is taken back", () =>
  killService(UNPRIVILEGED));

test("inputs, of a sandbox, are readable to it and to no other user of the machine", async () => {
  if (!hasUsers) return expectNone();
  const code = "def main(table):\n    print(table.read_text())\n    import time; time.sleep(0.5)\n";
  const folders: string[] = [];
  const ran = await bench.run({
    code,
    files: [{ input: "table", files: [{ fileName: "a.csv", content: "1,2" }] }],
    onLine: () => {
      for (const name of readdirSync(bench.root).filter((each) => each.startsWith("execution-"))) {
        const inputs = join(bench.root, name, "spool/inputs");
        if (existsSync(inputs)) folders.push((statSync(inputs).mode & 0o7).toString());
      }
    },
  });
  expect(ran.stdout).toBe("1,2");
  expect(new Set(folders)).toEqual(new Set(["0"]));
});
