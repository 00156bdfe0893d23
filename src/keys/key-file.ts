import { randomBytes } from "node:crypto";
import { link, open, readFile, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "../../system/whole-file.ts";

const KEY_BYTES = 32;

/**
 * The 32 bytes in the file at `path`, made at first use with mode 0600. Processes that start together agree on one key:
 * the file appears whole under its name, once. Refuses a file of another length, and one that others can read. A file of
 * root's may be open to its group: Kubernetes mounts a Secret so for a pod that is not root. Without its key an
 * installation's secrets are lost, and with it they are open.
 */
export async function loadOrCreateKey(path: string): Promise<Buffer> {
  return (await readKey(path)) ?? (await createKey(path));
}

/** Returns the key in a file; undefined where there is no file. Refuses what `loadOrCreateKey` refuses. */
export async function readKey(path: string): Promise<Buffer | undefined> {
  let key: Buffer;
  try {
    key = await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return undefined;
  }
  if (key.length !== KEY_BYTES) {
    throw new Error(
      `The key file ${path} has ${key.length} bytes instead of ${KEY_BYTES}. Restore it from a backup; secrets sealed with it cannot be read without it.`,
    );
  }
  const { mode, uid } = await stat(path);
  const closed = uid === 0 && process.getuid?.() !== 0 ? 0o037 : 0o077;
  if ((mode & closed) !== 0)
    throw new Error(`The key file ${path} can be read by other users. Close it: chmod 600 ${path}`);
  return key;
}

async function createKey(path: string): Promise<Buffer> {
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  const handle = await open(draft, "wx", 0o600);
  try {
    await handle.writeFile(randomBytes(KEY_BYTES));
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    // A link, unlike a rename, never replaces the key of a process that was quicker.
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
  await syncFolder(dirname(path));
  const key = await readKey(path);
  if (key === undefined) throw new Error(`The key file ${path} disappeared while it was being made.`);
  return key;
}
