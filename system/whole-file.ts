import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Writes a file that has all of its content under its name, or replaces the file there in one step. Resolves when the
 * content and the name are on the disk. Without the two syncs a power cut can leave an empty file under the name.
 * Without a mode the file has what the umask leaves of 0666.
 */
export async function writeWhole(path: string, content: string | Uint8Array, mode?: number): Promise<void> {
  const draft = `${path}.tmp`;
  try {
    const handle = await open(draft, "w", mode);
    try {
      // A draft that a kill has left keeps its mode, and the umask takes from that of a new one.
      if (mode !== undefined) await handle.chmod(mode);
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined); // on a read-only disk; the write has failed for that
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Makes the names that were given or taken in a folder last. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
