import { constants, type Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

export interface FinishedFile {
  readonly handle: FileHandle;
  readonly info: Stats;
}

/**
 * Opens a file that some program has finished writing. The program may have been hostile. So a link is not followed, a
 * named pipe does not block, and only a regular file is taken. The caller closes the handle.
 */
export async function openFinished(path: string): Promise<FinishedFile> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const info = await handle.stat();
    if (!info.isFile()) throw new Error(`${path} is not a regular file, so it cannot be stored.`);
    return { handle, info };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
