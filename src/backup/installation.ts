import { join } from "node:path";
import { createSmallObjects } from "../../db/executions/small-objects.ts";
import { openStorage } from "../../storage/open.ts";
import { withSmallObjects } from "../../storage/small-objects.ts";
import { type Environment, type Settings, storageOf } from "../config.ts";
import { makeBackup } from "./backup.ts";
import type { Description } from "./description.ts";
import { findDataDir, openDatabase } from "./place.ts";

/** Makes a backup of the installation on a data folder, with the database and storage that the settings name; see `makeBackup`. */
export async function backUpInstallation(input: {
  env: Environment;
  settings: Settings;
  dataDir: string;
  target: string;
  withFiles: boolean;
  report: (line: string) => void;
}): Promise<Description> {
  const { settings, target, withFiles } = input;
  const dataDir = await findDataDir(input.dataDir);
  const storage = await openStorage({ ...storageOf(settings), dir: join(dataDir, "storage") });
  const database = await openDatabase({ ...input, dataDir });
  try {
    return await makeBackup({
      db: database.db,
      storage: withSmallObjects(storage, createSmallObjects(database.db)),
      dataDir,
      target,
      withFiles,
      masterKeyFile: settings.TREADLE_MASTER_KEY_FILE,
    });
  } finally {
    await database.close();
  }
}
