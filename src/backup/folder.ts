import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ignoreMissing } from "../../system/ignore-missing.ts";
import { syncFolder } from "../../system/whole-file.ts";
import { BackupRefused, DESCRIPTION_FILE, SUMS_FILE } from "./description.ts";

/** It holds secrets: nobody else may look into it. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

export interface Written {
  readonly bytes: number;
  readonly sha256: string;
}

/** A backup that is being written. It has another name until it is complete. */
export interface BackupDraft {
  /** Writes a file of these relative path segments; resolves when it is on the disk. Several may be under way. */
  add(path: string, content: AsyncIterable<Buffer>): Promise<Written>;
  /** Writes the list of sums, then the description that `describe` makes of its own sum, and gives the folder its name. */
  finish(describe: (sums: string) => object): Promise<void>;
  /** Removes what was written. */
  abandon(): Promise<void>;
}

/**
 * Begins a backup that will be the folder `target`, which must not exist. What an earlier, interrupted one to the same target
 * left is removed: the caller sees to it that there is one at a time.
 */
export async function createBackupDraft(target: string): Promise<BackupDraft> {
  if ((await lstat(target).catch(ignoreMissing)) !== undefined)
    throw new BackupRefused(
      `${target} exists already. Name a folder that does not exist yet; a backup is never changed.`,
    );
  const parent = dirname(target);
  await mkdir(parent, { recursive: true });
  const prefix = `${basename(target)}.partial-`;
  for (const name of await readdir(parent))
    if (name.startsWith(prefix)) await rm(join(parent, name), { recursive: true, force: true });

  const draft = join(parent, `${prefix}${randomBytes(6).toString("hex")}`);
  await mkdir(draft, { mode: FOLDER_MODE });
  const sums = await open(join(draft, SUMS_FILE), "wx", FILE_MODE);
  const sumOfSums = createHash("sha256");
  const folders = new Set<string>();

  /** Lines stand in the list in the order in which their sum was taken: one after the other. */
  let listed = Promise.resolve();
  async function list(line: string): Promise<void> {
    sumOfSums.update(line);
    await sums.appendFile(line);
  }

  async function add(path: string, content: AsyncIterable<Buffer>): Promise<Written> {
    const folder = dirname(path);
    if (!folders.has(folder)) await mkdir(join(draft, folder), { recursive: true, mode: FOLDER_MODE });
    folders.add(folder);
    const written = await writeFile(join(draft, path), content);
    listed = listed.then(() => list(`${written.sha256}  ${path}\n`));
    await listed;
    return written;
  }

  return {
    add,
    async finish(describe) {
      await sums.sync();
      await sums.close();
      const description = `${JSON.stringify(describe(sumOfSums.digest("hex")), undefined, 2)}\n`;
      await writeFile(join(draft, DESCRIPTION_FILE), [Buffer.from(description)]);
      for (const folder of folders) await syncFolder(join(draft, folder));
      await syncFolder(draft);
      await rename(draft, target);
      await syncFolder(parent);
    },
    async abandon() {
      await sums.close().catch(() => undefined); // closed already when it was the rename that failed
      await rm(draft, { recursive: true, force: true });
    },
  };
}

async function writeFile(path: string, content: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<Written> {
  const handle: FileHandle = await open(path, "wx", FILE_MODE);
  const hash = createHash("sha256");
  let bytes = 0;
  try {
    for await (const chunk of content) {
      hash.update(chunk);
      bytes += chunk.length;
      await handle.appendFile(chunk);
    }
    await handle.datasync();
  } finally {
    await handle.close();
  }
  return { bytes, sha256: hash.digest("hex") };
}
