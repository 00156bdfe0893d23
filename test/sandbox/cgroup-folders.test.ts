import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createCgroup, sweepCgroups } from "../../sandbox/cgroup.ts";
import { findCgroupFolders } from "../../sandbox/cgroup-folders.ts";

const LIMITS = { memoryBytes: 512, processes: 8, cpu: 0.5 };
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "treadle-cgroup-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Plain folders in place of the kernel's, which need rights and controllers that a test may not have. */
function makeGroup(path: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(join(root, path), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, path, name), text);
}

const version2 = () => `30 23 0:26 / ${root} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n`;
const version1 = (...controllers: string[]) =>
  controllers.map((name) => `31 23 0:27 / ${join(root, name)} rw - cgroup cgroup rw,${name}\n`).join("");

test("version 2, with controllers handed down to children, is used where the service is", () => {
  makeGroup("unit", {
    "cgroup.controllers": "cpu memory pids\n",
    "cgroup.subtree_control": "cpu memory pids\n",
    "cgroup.procs": "",
  });
  const folder = join(root, "unit");
  expect(findCgroupFolders({ mountInfo: version2(), ownCgroups: "0::/unit\n", isRoot: false, ownPid: 7 })).toEqual({
    version: 2,
    memory: folder,
    pids: folder,
    cpu: folder,
  });
});

test("version 2, shared with processes that are not ours, is left alone", () => {
  makeGroup("session", {
    "cgroup.controllers": "cpu memory pids\n",
    "cgroup.subtree_control": "",
    "cgroup.procs": "1\n7\n",
  });
  // A plain file takes what is written to it, so the check is that nobody was moved and nothing found.
  writeFileSync(join(root, "session", "cgroup.subtree_control"), "", { mode: 0o444 });
  const found = findCgroupFolders({ mountInfo: version2(), ownCgroups: "0::/session\n", isRoot: false, ownPid: 7 });
  expect(found).toBeUndefined();
  expect(readdirSync(join(root, "session")).includes("treadle-service")).toBe(false);
});

test("version 2, with this process and what it has started alone in it, moves them into a leaf", async () => {
  const child = spawn("sleep", ["600"]);
  try {
    makeGroup("unit", {
      "cgroup.controllers": "cpu memory pids\n",
      "cgroup.subtree_control": "",
      "cgroup.procs": `${process.pid}\n${child.pid}\n`,
    });
    findCgroupFolders({ mountInfo: version2(), ownCgroups: "0::/unit\n", isRoot: false, ownPid: process.pid });
    // A plain file keeps the last of what is written to it, where the kernel would have added each.
    expect(readFileSync(join(root, "unit/treadle-service/cgroup.procs"), "utf8")).toBe(String(child.pid));
    expect(readFileSync(join(root, "unit/cgroup.subtree_control"), "utf8")).toBe("+memory +pids +cpu");
  } finally {
    child.kill("SIGKILL");
  }
});

test("version 2, without a memory controller, gives way to version 1", () => {
  makeGroup("", { "cgroup.controllers": "hugetlb\n" });
  for (const controller of ["memory", "pids"]) makeGroup(`${controller}/box`, {});
  const found = findCgroupFolders({
    mountInfo: version2() + version1("memory", "pids"),
    ownCgroups: "4:memory:/box\n8:pids:/box\n0::/\n",
    isRoot: true,
    ownPid: 7,
  });
  expect(found).toEqual({ version: 1, memory: join(root, "memory/box"), pids: join(root, "pids/box"), cpu: undefined });
});

test("no hierarchy at all, finds nothing", () => {
  expect(findCgroupFolders({ mountInfo: "", ownCgroups: "0::/\n", isRoot: true, ownPid: 7 })).toBeUndefined();
});

test("limits, in version 2, go to the one folder in the kernel's units", async () => {
  const folders = { version: 2, memory: root, pids: root, cpu: root } as const;
  const cgroup = createCgroup(folders, "treadle-1-1");
  for (const name of [
    "memory.max",
    "memory.swap.max",
    "pids.max",
    "cpu.max",
    "cpu.weight",
    "cgroup.procs",
    "cgroup.kill",
  ])
    writeFileSync(join(root, "treadle-1-1", name), "");
  writeFileSync(join(root, "treadle-1-1", "memory.events"), "low 0\noom 3\noom_kill 2\n");
  cgroup.limit(LIMITS, "long");
  await cgroup.attach(42);
  const read = (name: string) => readFileSync(join(root, "treadle-1-1", name), "utf8");
  expect(["memory.max", "memory.swap.max", "pids.max", "cpu.max", "cpu.weight"].map(read)).toEqual([
    "512",
    "0",
    "11",
    "50000 100000",
    "12",
  ]);
  cgroup.setShare("new");
  expect(read("cpu.weight")).toBe("25");
  cgroup.setShare("long");
  expect(read("cpu.weight")).toBe("12");
  expect([cgroup.holds(42), cgroup.holds(4), cgroup.countOomKills()]).toEqual([true, false, 2]);
  cgroup.kill();
  expect(read("cgroup.kill")).toBe("1");
});

test("kill, by a kernel without cgroup.kill, ends the processes one by one", async () => {
  const child = spawn("sleep", ["600"]);
  const ended = once(child, "exit");
  const cgroup = createCgroup({ version: 2, memory: root, pids: root, cpu: root }, "treadle-1-1");
  writeFileSync(join(root, "treadle-1-1", "cgroup.procs"), `${child.pid}\n`);
  cgroup.kill();
  expect(await ended).toEqual([null, "SIGKILL"]);
});

test("sweep, of folders left by a service that is gone, keeps those of one that is alive", () => {
  for (const name of [`treadle-${process.pid}-1`, "treadle-4194303-1", "treadle-4194303-u2", "other"])
    mkdirSync(join(root, name));
  sweepCgroups({ version: 2, memory: root, pids: root, cpu: root });
  expect(readdirSync(root).toSorted()).toEqual(["other", `treadle-${process.pid}-1`]);
});
