import { access, constants, stat } from "node:fs/promises";
import { delimiter, join } from "node:path";

/**
 * The programs of this name in the folders of a PATH, in order. Relative folders are left out: they would run any
 * program of the current one.
 */
export async function listPrograms(name: string, path: string | undefined): Promise<string[]> {
  const found: string[] = [];
  for (const folder of new Set((path ?? "").split(delimiter))) {
    const candidate = join(folder, name);
    if (folder.startsWith("/") && (await isProgram(candidate))) found.push(candidate);
  }
  return found;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false; // not there, or not for us: the next folder
  }
}
