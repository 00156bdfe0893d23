import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 250;
const START_TIME_FIELD = 22; // of /proc/<pid>/stat, see proc(5)

/**
 * Does `work` while no other process sets up this checkout; waits for one that does, and says so once. The lock names
 * its holder by pid and start time: that of a process which was killed counts for nothing.
 */
export async function withCheckoutLock({ checkout, report }, work) {
  const folder = join(checkout, ".setup");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, ".gitignore"), "*\n");
  const path = join(folder, "lock");
  await takeLock(path, report);
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function takeLock(path, report) {
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  await writeFile(draft, `${process.pid} ${await readStartTime(process.pid)}`);
  try {
    // A link appears with its content in one act, and fails when somebody was quicker.
    for (let told = false; ; ) {
      if (await succeeds(link(draft, path), "EEXIST")) return;
      const owner = await readFile(path, "utf8").catch(() => "");
      if (!(await isAlive(owner))) {
        await setAside(path, owner);
        continue;
      }
      if (!told) report(`Another start (process ${owner.split(" ")[0]}) is setting up this checkout; waiting for it …`);
      told = true;
      await sleep(POLL_MS);
    }
  } finally {
    await rm(draft, { force: true });
  }
}

/** Removes a dead holder's lock; puts back the lock of a process that took it over in between. */
async function setAside(path, dead) {
  const aside = `${path}.${randomBytes(6).toString("hex")}`;
  if (!(await succeeds(rename(path, aside), "ENOENT"))) return;
  if ((await readFile(aside, "utf8").catch(() => dead)) !== dead) await succeeds(link(aside, path), "EEXIST");
  await rm(aside, { force: true });
}

async function isAlive(owner) {
  const [pid, startTime] = owner.split(" ");
  if (!(Number(pid) > 0)) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    if (error.code === "ESRCH") return false;
  }
  return (await readStartTime(Number(pid))) === startTime;
}

/** When the process began, in the kernel's words; empty where there is no /proc, and for a process that is gone. */
async function readStartTime(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[START_TIME_FIELD - 3] ?? "";
}

async function succeeds(act, expected) {
  try {
    await act;
    return true;
  } catch (error) {
    if (error.code === expected) return false;
    throw error;
  }
}
