import { statfs } from "node:fs/promises";
import type { Db } from "../../db/connect.ts";
import { sumKeptBytes } from "../../db/executions/kept-bytes.ts";
import { DISK_RESERVE_BYTES } from "../../sandbox/disk-room.ts";
import type { Environment, Settings } from "../config.ts";

/** Of what a disk has for all accounts, so that one does not fill it for the others. */
const SHARE_MAX = 1 / 2;

/**
 * Returns the settings with the bytes that an account may keep: at most half of what the disk of `storageDir` has for all of
 * them. That is what they keep and what is free, without the reserve of the disk. What the operator has set stays as it
 * is, and so does the default where a store has the files.
 */
export async function boundAccounts(
  settings: Settings,
  { db, env, storageDir }: { readonly db: Db; readonly env: Environment; readonly storageDir: string },
): Promise<Settings> {
  const { TREADLE_ACCOUNT_STORAGE_BYTES_MAX: usual, TREADLE_STORAGE_URL: store } = settings;
  // An empty one counts as none, as it does for every setting.
  if ((env.TREADLE_ACCOUNT_STORAGE_BYTES_MAX ?? "") !== "" || store !== undefined) return settings;
  const [{ bavail, bsize }, kept] = await Promise.all([statfs(storageDir), sumKeptBytes(db)]);
  // Never 0, which is no bound.
  const most = Math.max(1, Math.floor((kept + bavail * bsize - DISK_RESERVE_BYTES) * SHARE_MAX));
  return { ...settings, TREADLE_ACCOUNT_STORAGE_BYTES_MAX: Math.min(usual, most) };
}
