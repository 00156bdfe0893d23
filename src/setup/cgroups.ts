import { access, chown, mkdir, readdir, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findCgroupFolders } from "../../sandbox/cgroup-folders.ts";
import type { RunAs } from "./servers/child.ts";

const PREFIX = "treadle-host-";
/** By this name `findCgroupFolders` knows that it must look one folder up. */
const SERVICE_LEAF = "treadle-service";
/** What the owner of a cgroup needs beside the folder, to move its own processes about in it. Version 1 has fewer. */
const FILES = ["cgroup.procs", "cgroup.threads", "cgroup.subtree_control", "tasks"];

/**
 * Moves this process, still root, into cgroups of its own that belong to `user`. So the kernel can limit memory,
 * processes and time of each program when the service has become that user. Where cgroups cannot be had, also not by
 * root, nothing happens: sandboxes then watch over their programs themselves.
 */
export async function delegateCgroups(user: RunAs): Promise<void> {
  const folders = findCgroupFolders();
  if (folders === undefined) return;
  for (const parent of new Set([folders.memory, folders.pids, folders.cpu])) {
    if (parent === undefined) continue;
    await removeAbandoned(parent);
    const own = join(parent, `${PREFIX}${process.pid}`);
    await mkdir(own);
    await give(own, user);
    // In version 2 a cgroup that has processes itself cannot limit its children.
    const place = folders.version === 2 ? join(own, SERVICE_LEAF) : own;
    await mkdir(place, { recursive: true });
    await give(place, user);
    await writeFile(join(place, "cgroup.procs"), String(process.pid));
  }
}

async function give(folder: string, { uid, gid }: RunAs): Promise<void> {
  await chown(folder, uid, gid);
  for (const name of FILES) {
    await chown(join(folder, name), uid, gid).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  }
}

/** What services before this one left; the kernel keeps a cgroup that still has processes. */
async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(PREFIX) || (await exists(`/proc/${name.slice(PREFIX.length)}`))) continue;
    const abandoned = join(parent, name);
    // Two services that start at once clear the same ones: whichever is quicker.
    const entries = await readdir(abandoned, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      return [];
    });
    for (const entry of entries) {
      if (entry.isDirectory()) await rmdir(join(abandoned, entry.name)).catch(() => {}); // a program's last moments
    }
    await rmdir(abandoned).catch(() => {});
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
