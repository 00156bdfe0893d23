import { execFile } from "node:child_process";
import { chmod, mkdir, open, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const DISK_BYTES = 2 * 1024 ** 3;
const CHUNK_BYTES = 1024 * 1024;

const run = promisify(execFile);

/** Where the data of a run are. */
export interface Disk {
  readonly dataDir: string;
  /** Undefined when this disk can be filled up; else why not. */
  readonly notFillable: string | undefined;
  /** Takes all the space that is left. */
  fill(): Promise<void>;
  empty(): Promise<void>;
  /** Storage can be neither read nor written. Answers how that is done. */
  refuse(servicePid: number): Promise<string>;
  accept(): Promise<void>;
  remove(): Promise<void>;
}

/** A disk of its own for root: a bounded tmpfs below `folder`. For others a folder there, which nobody fills. */
export async function openDisk(folder: string): Promise<Disk> {
  const mounted = process.getuid?.() === 0 && process.platform === "linux";
  const disk = join(folder, "disk");
  await mkdir(disk, { mode: 0o755 });
  if (mounted) await run("mount", ["-t", "tmpfs", "-o", `size=${DISK_BYTES},mode=755`, "treadle-chaos", disk]);
  const dataDir = join(disk, "data");
  const ballast = join(disk, "ballast");
  const objects = join(dataDir, "storage/objects");
  let restore: (() => Promise<unknown>) | undefined;

  const self: Disk = {
    dataDir,
    notFillable: mounted ? undefined : "only root can make a disk to fill",
    async fill() {
      const zeros = Buffer.alloc(CHUNK_BYTES);
      const file = await open(ballast, "w");
      try {
        for (;;) await file.write(zeros);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      } finally {
        await file.close();
      }
    },
    empty: () => rm(ballast, { force: true }),
    async refuse(servicePid) {
      const { uid } = await stat(`/proc/${servicePid}`);
      if (uid !== 0) {
        const { mode } = await stat(objects);
        await chmod(objects, 0);
        restore = () => chmod(objects, mode & 0o7777);
        return "no permissions";
      }
      // Permissions do not keep root out, a mount that cannot be written does.
      await run("mount", ["--bind", objects, objects]);
      restore = () => run("umount", ["-l", objects]);
      await run("mount", ["-o", "remount,bind,ro", objects]);
      return "mounted read-only";
    },
    async accept() {
      await restore?.();
      restore = undefined;
    },
    async remove() {
      await self.accept();
      if (mounted) await run("umount", ["-l", disk]);
      await rm(disk, { recursive: true, force: true });
    },
  };
  return self;
}
