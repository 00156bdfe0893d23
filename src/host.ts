import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createHostId } from "./ids.ts";

/**
 * The name of this data folder for ever, made at first use. Outputs that wait in its spool are uploaded by whoever
 * has the folder, also after a restart; so the name belongs to the folder and not to the machine.
 */
export async function loadHostId(dataDir: string): Promise<string> {
  const path = join(dataDir, "host-id");
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const hostId = createHostId();
  await writeFile(`${path}.tmp`, `${hostId}\n`);
  await rename(`${path}.tmp`, path);
  return hostId;
}
