import { join } from "node:path";
import type { Environment, Settings } from "../config.ts";
import { type Rotated, RotationHeldUp, rotateMasterKey } from "../keys/rotation.ts";
import { BackupRefused } from "./description.ts";
import { findDataDir, openDatabase } from "./place.ts";

/** Replaces the master key of the installation on a data folder, whether its service runs or not; see `rotateMasterKey`. */
export async function rotateInstallationKey(input: {
  env: Environment;
  settings: Settings;
  dataDir: string;
  report: (line: string) => void;
}): Promise<Rotated> {
  const { env, settings, report } = input;
  const dataDir = await findDataDir(input.dataDir);
  const { db, close } = await openDatabase({ env, settings, dataDir, report });
  try {
    const file = settings.TREADLE_MASTER_KEY_FILE ?? join(dataDir, "keys/master");
    return await rotateMasterKey({ db, file, report });
  } catch (error) {
    throw error instanceof RotationHeldUp ? new BackupRefused(error.message, { cause: error }) : error;
  } finally {
    await close();
  }
}
