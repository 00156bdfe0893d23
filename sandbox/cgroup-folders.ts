import { accessSync, constants, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { listTree } from "./process-tree.ts";

const SERVICE_LEAF = "treadle-service";
/** A program that is starting may start another one while they are moved. */
const MOVE_ATTEMPTS = 5;

/** Existing cgroups below which we may make our own, one for each resource. */
export interface CgroupFolders {
  readonly version: 1 | 2;
  readonly memory: string;
  readonly pids: string | undefined;
  readonly cpu: string | undefined;
}

/** What the kernel says of this process: `/proc/self/mountinfo`, `/proc/self/cgroup`. */
export interface CgroupFacts {
  readonly mountInfo: string;
  readonly ownCgroups: string;
  readonly isRoot: boolean;
  readonly ownPid: number;
}

/**
 * Finds where memory can be limited by cgroup. That is version 2 where the memory controller is delegated to us, else
 * version 1 where we may write (root). Undefined when neither is: then memory is watched from outside.
 */
export function findCgroupFolders(facts: CgroupFacts = readFacts()): CgroupFolders | undefined {
  return findVersion2(facts) ?? findVersion1(facts);
}

function readFacts(): CgroupFacts {
  return {
    mountInfo: readOrNothing("/proc/self/mountinfo"),
    ownCgroups: readOrNothing("/proc/self/cgroup"),
    isRoot: process.getuid?.() === 0,
    ownPid: process.pid,
  };
}

interface CgroupMount {
  readonly type: string;
  readonly root: string;
  readonly path: string;
  readonly controllers: readonly string[];
}

function listMounts(mountInfo: string): CgroupMount[] {
  return mountInfo.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const [type = "", , options = ""] = after.split(" ");
    const [, , , root = "/", path = ""] = before.split(" ");
    return type === "cgroup" || type === "cgroup2" ? [{ type, root, path, controllers: options.split(",") }] : [];
  });
}

/** Where this process is inside a mounted hierarchy. */
function ownFolder(mount: CgroupMount, ownCgroups: string): string | undefined {
  for (const line of ownCgroups.split("\n")) {
    const [id = "", controllers = "", ...path] = line.split(":");
    const matches =
      mount.type === "cgroup2"
        ? id === "0"
        : controllers.split(",").some((name) => name !== "" && mount.controllers.includes(name));
    if (!matches || path.length === 0) continue;
    const inside = relative(mount.root, path.join(":"));
    return inside.startsWith("..") ? undefined : join(mount.path, inside);
  }
  return undefined;
}

function findVersion1({ mountInfo, ownCgroups }: CgroupFacts): CgroupFolders | undefined {
  const mounts = listMounts(mountInfo).filter((mount) => mount.type === "cgroup");
  const folderOf = (controller: string) => {
    const mount = mounts.find((candidate) => candidate.controllers.includes(controller));
    const folder = mount && ownFolder(mount, ownCgroups);
    return folder !== undefined && canMakeFolder(folder) ? folder : undefined;
  };
  const memory = folderOf("memory");
  return memory === undefined ? undefined : { version: 1, memory, pids: folderOf("pids"), cpu: folderOf("cpu") };
}

function findVersion2(facts: CgroupFacts): CgroupFolders | undefined {
  const mount = listMounts(facts.mountInfo).find((candidate) => candidate.type === "cgroup2");
  const found = mount && ownFolder(mount, facts.ownCgroups);
  if (mount === undefined || found === undefined) return undefined;
  const own = basename(found) === SERVICE_LEAF ? dirname(found) : found; // We moved there ourselves, earlier.
  if (!readOrNothing(join(own, "cgroup.controllers")).split(/\s/).includes("memory")) return undefined;
  const folder = [own, ...(facts.isRoot ? [mount.path] : [])].find((candidate) =>
    hasControllers(candidate, facts.ownPid),
  );
  return folder === undefined ? undefined : { version: 2, memory: folder, pids: folder, cpu: folder };
}

/**
 * Whether children of the folder can have limits. A cgroup with processes of its own cannot hand controllers down. So
 * when only this process and what it has started are in it, they move into a leaf of it first.
 */
function hasControllers(folder: string, ownPid: number): boolean {
  if (!canMakeFolder(folder)) return false;
  const control = join(folder, "cgroup.subtree_control");
  const handsDown = () => ["memory", "pids", "cpu"].every((name) => readOrNothing(control).split(/\s/).includes(name));
  const enable = () => tryWrite(control, "+memory +pids +cpu") && handsDown();
  if (handsDown() || enable()) return true;
  const leaf = join(folder, SERVICE_LEAF);
  for (let attempt = 0; attempt < MOVE_ATTEMPTS; attempt++) {
    const pids = readOrNothing(join(folder, "cgroup.procs")).split("\n").filter(Boolean).map(Number);
    const ours = listTree(ownPid);
    if (pids.some((pid) => !ours.includes(pid)) || !tryMakeFolder(leaf)) return false;
    for (const pid of pids) tryWrite(join(leaf, "cgroup.procs"), String(pid)); // One that has ended meanwhile needs none.
    if (enable()) return true;
  }
  return false;
}

function canMakeFolder(parent: string): boolean {
  try {
    accessSync(parent, constants.W_OK);
    const trial = join(parent, `treadle-trial-${process.pid}`);
    mkdirSync(trial);
    rmdirSync(trial);
    return true;
  } catch {
    return false;
  }
}

function tryMakeFolder(path: string): boolean {
  try {
    mkdirSync(path, { recursive: true });
    return true;
  } catch {
    return false;
  }
}

function tryWrite(path: string, text: string): boolean {
  try {
    writeFileSync(path, text);
    return true;
  } catch {
    return false;
  }
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
