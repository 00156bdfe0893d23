import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeWhole } from "../../system/whole-file.ts";
import { createHostId } from "../ids.ts";

/**
 * The name of this data folder for ever, made at first use. The process that has the folder uploads outputs that wait
 * in its spool, also after a restart. So the name belongs to the folder and not to the machine.
 */
export async function loadHostId(dataDir: string): Promise<string> {
  const path = join(dataDir, "host-id");
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const hostId = createHostId();
  await writeWhole(path, `${hostId}\n`);
  return hostId;
}
