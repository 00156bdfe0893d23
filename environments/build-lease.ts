import { randomBytes } from "node:crypto";
import { chmod, link, mkdir, readdir, readFile, readlink, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { processExists } from "../system/process-exists.ts";
import { type RemoveTree, removeTree } from "../system/trees/remove-tree.ts";

/** A quarter of `SILENT_MS`: an owner may miss three beats before others take it for gone. */
const HEARTBEAT_MS = 5_000;
/** After this silence an owner that we cannot look up counts as gone: another machine, another container, before a reboot. */
const SILENT_MS = 20_000;
/** Builds take seconds, so this adds little to the wait. */
const LOOK_AGAIN_MS = 200;
const OWNER_FILE = "owner.json";
/** Fields of /proc/<pid>/stat behind the process's name; see proc(5). */
const STATE_FIELD = 0;
const START_TIME_FIELD = 19;

interface Owner {
  /** Boot id and pid namespace: within one, a pid and its start time name a process for ever. */
  readonly system: string;
  readonly pid: number;
  readonly startedAt: string;
}

/** A folder to work in that is ours alone, and that the next start removes when we die. */
export interface WorkFolder {
  readonly path: string;
  readonly ownerPath: string;
  remove(): Promise<void>;
}

/** Makes a new folder in `buildingDir` and keeps saying that its owner lives. */
export async function createWorkFolder(
  buildingDir: string,
  name: string,
  remove: RemoveTree = removeTree,
): Promise<WorkFolder> {
  const path = join(buildingDir, `${name}.${randomBytes(6).toString("hex")}`);
  const ownerPath = join(path, OWNER_FILE);
  await mkdir(path);
  await chmod(path, 0o755); // with any umask
  await writeFile(ownerPath, JSON.stringify(await identify(process.pid)), { mode: 0o644 });
  const beating = setInterval(() => {
    const now = new Date();
    utimes(ownerPath, now, now).catch(() => {}); // a missed beat matters only after four of them
  }, HEARTBEAT_MS);
  beating.unref();
  return {
    path,
    ownerPath,
    remove: async () => {
      clearInterval(beating);
      await remove(path);
    },
  };
}

/**
 * Takes the lock of `name` for a work folder, waiting while a living process has it. Undefined: `isDone` came true
 * before. The lock is a second name of the folder's owner file. So it appears with its content in one act, and its
 * heartbeat is the folder's. The lock of a process that was killed counts for nothing.
 */
export async function waitForLease(
  buildingDir: string,
  name: string,
  work: WorkFolder,
  isDone: () => Promise<boolean>,
): Promise<(() => Promise<void>) | undefined> {
  const lockPath = join(buildingDir, `${name}.lock`);
  for (;;) {
    if (await isDone()) return undefined;
    if (await isLinked(work.ownerPath, lockPath)) break;
    if (!(await isAbandoned(lockPath)) || !(await removeAbandoned(lockPath, work))) await sleep(LOOK_AGAIN_MS);
  }
  const release = async (): Promise<void> => {
    // Ours, unless others took us for dead: a machine that slept, in another container than theirs.
    if (await isSameFile(lockPath, work.ownerPath)) await rm(lockPath, { force: true });
  };
  if (!(await isDone())) return release;
  await release();
  return undefined;
}

/** Removes what builders left behind that were killed. What belongs to a living process, in any container, stays. */
export async function removeLeftovers(buildingDir: string, remove: RemoveTree = removeTree): Promise<void> {
  const work = await createWorkFolder(buildingDir, "cleaning", remove);
  try {
    for (const name of await readdir(buildingDir)) {
      const path = join(buildingDir, name);
      if (name.startsWith("removed.")) await remove(path);
      else if (name.endsWith(".lock")) {
        if (await isAbandoned(path)) await removeAbandoned(path, work);
      } else if (await isAbandoned(join(path, OWNER_FILE), path)) await remove(path);
    }
  } finally {
    await work.remove();
  }
}

async function isLinked(from: string, to: string): Promise<boolean> {
  return link(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "EEXIST") return false;
      throw error;
    },
  );
}

/** Whether the owner that an owner file names is gone. `folder` speaks for a file that is not (or not yet) there. */
async function isAbandoned(ownerPath: string, folder = ownerPath): Promise<boolean> {
  const owner = await readOwner(ownerPath);
  if (owner !== undefined) {
    const now = await identify(owner.pid);
    const isKnown = owner.system === now.system;
    if (isKnown && owner.startedAt !== now.startedAt) return true;
    if (isKnown && owner.startedAt !== "") return false;
  }
  const stats = await stat(owner === undefined ? folder : ownerPath).catch(() => undefined);
  return stats !== undefined && Date.now() - stats.mtimeMs > SILENT_MS;
}

async function readOwner(path: string): Promise<Owner | undefined> {
  try {
    const { system, pid, startedAt } = JSON.parse(await readFile(path, "utf8")) as Partial<Owner>;
    return typeof system === "string" && typeof pid === "number" && typeof startedAt === "string"
      ? { system, pid, startedAt }
      : undefined;
  } catch {
    return undefined; // gone in between, or not written yet
  }
}

/**
 * Removes a dead owner's lock. Returns false when another process is about to. Looking and removing are two acts, and
 * between them another process may do both and take the lock. So the process that removes holds a lock on that, for
 * milliseconds.
 */
async function removeAbandoned(lockPath: string, work: WorkFolder): Promise<boolean> {
  const removingPath = lockPath.replace(/(?:\.removing)?\.lock$/, ".removing.lock");
  if (!(await isLinked(work.ownerPath, removingPath))) {
    if (await isAbandoned(removingPath)) await rm(removingPath, { force: true }); // killed within those milliseconds
    return false;
  }
  try {
    if (lockPath !== removingPath && (await isAbandoned(lockPath))) await rm(lockPath, { force: true });
    return true;
  } finally {
    await rm(removingPath, { force: true });
  }
}

async function isSameFile(path: string, other: string): Promise<boolean> {
  const [one, two] = await Promise.all([path, other].map((each) => stat(each).catch(() => undefined)));
  return one !== undefined && one.ino === two?.ino;
}

/** Who a process is. `startedAt` is `gone` for one that has ended, also when nobody has taken note of its end yet. */
async function identify(pid: number): Promise<Owner> {
  const [bootId, namespace, line] = await Promise.all([
    readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => ""),
    readlink("/proc/self/ns/pid").catch(() => ""),
    readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined),
  ]);
  const system = `${bootId.trim()} ${namespace}`;
  const fields = line?.slice(line.lastIndexOf(")") + 2).split(" ");
  if (fields === undefined) return { system, pid, startedAt: bootId === "" && processExists(pid) ? "" : "gone" };
  return { system, pid, startedAt: /[ZX]/.test(fields[STATE_FIELD] ?? "") ? "gone" : (fields[START_TIME_FIELD] ?? "") };
}
