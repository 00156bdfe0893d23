import { constants } from "node:fs";
import { chmod, open } from "node:fs/promises";

/** A descriptor that names a folder and needs no right to read it: `O_PATH` of Linux, which Node has no constant for. */
const O_PATH = 0o10000000;
const FOLDER_ITSELF = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** A folder by descriptor: `base` names it for as long as it is open, wherever it is moved to. */
export interface OpenFolder {
  readonly base: string;
  close(): Promise<void>;
}

/**
 * Opens the folder itself, not what a link in its place leads to. Takes the right to read and write it if it is ours.
 */
export async function openFolder(path: string | Buffer): Promise<OpenFolder> {
  if (process.platform !== "linux") {
    await chmod(path, 0o700).catch(ignoreForeign);
    return { base: path.toString(), close: async () => undefined };
  }
  const folder = await open(path as string, FOLDER_ITSELF);
  const base = `/proc/self/fd/${folder.fd}`;
  const close = () => folder.close();
  try {
    await chmod(base, 0o700).catch(ignoreForeign);
    return { base, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The folder of another user: its mode says what may be done with it. */
function ignoreForeign(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPERM") throw error;
}
