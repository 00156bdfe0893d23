import { statfsSync } from "node:fs";
import type { Environment, Settings } from "../config.ts";

/** Of a disk that storage is on, so that one account does not fill it for all. */
const SHARE_MAX = 1 / 2;

/**
 * Returns the settings with the bytes that an account may keep: at most half of the disk that `storageDir` is on. What the
 * operator has set stays as it is, and so does the default where a store has the files.
 */
export function boundAccounts(
  settings: Settings,
  { env, storageDir }: { readonly env: Environment; readonly storageDir: string },
): Settings {
  const { TREADLE_ACCOUNT_STORAGE_BYTES_MAX: usual, TREADLE_STORAGE_URL: store } = settings;
  // An empty one counts as none, as it does for every setting.
  if ((env.TREADLE_ACCOUNT_STORAGE_BYTES_MAX ?? "") !== "" || store !== undefined) return settings;
  const { blocks, bsize } = statfsSync(storageDir);
  const most = Math.floor(blocks * bsize * SHARE_MAX);
  return { ...settings, TREADLE_ACCOUNT_STORAGE_BYTES_MAX: Math.min(usual, most) };
}
