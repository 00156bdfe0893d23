import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { CliIo } from "./io.ts";
import { Refusal } from "./refusal.ts";

/** How to reach a service: its address without `/api`, who we are to it, and the certificate to trust when it has its own. */
export interface ServiceAddress {
  readonly url: string;
  readonly token: string;
  readonly ca: string | undefined;
}

const HOW_TO_START = 'Start it with "npm start", or name another one by TREADLE_URL and TREADLE_TOKEN.';

/**
 * Finds the service: the data folder named by `--data-dir`, else TREADLE_URL with TREADLE_TOKEN, else the data
 * folder of TREADLE_DATA_DIR or `./.treadle`. Only HTTPS: over plain HTTP the token would be readable on the way.
 */
export async function findService(io: CliIo, dataDir: string | undefined): Promise<ServiceAddress> {
  const { TREADLE_URL: url, TREADLE_TOKEN: token } = io.env;
  if (dataDir === undefined && url) {
    if (!token)
      throw new Refusal(
        "No access token",
        "TREADLE_URL is set, but TREADLE_TOKEN is not. Set it to a personal access token.",
      );
    return { url: toBaseUrl(url), token, ca: undefined };
  }
  return findLocalService(resolveDataDir(io, dataDir));
}

export function resolveDataDir(io: CliIo, dataDir: string | undefined): string {
  return resolve(io.cwd, dataDir ?? (io.env["TREADLE_DATA_DIR"] || ".treadle"));
}

function toBaseUrl(text: string): string {
  if (!URL.canParse(text) || new URL(text).protocol !== "https:") {
    throw new Refusal("No such service", "TREADLE_URL must be an address that begins with https://.");
  }
  return text.replace(/\/+$/, "").replace(/\/api$/, "");
}

async function findLocalService(dataDir: string): Promise<ServiceAddress> {
  const ready = await readIfThere(join(dataDir, "ready.json"));
  if (ready === undefined) {
    throw new Refusal(
      "Service not running",
      `No service is running on ${dataDir} (it has no ready.json). ${HOW_TO_START}`,
    );
  }
  const { url, caFile } = JSON.parse(ready) as { url: string; caFile?: string };
  const token = await readIfThere(join(dataDir, "keys", "operator-token"));
  if (token === undefined) {
    throw new Refusal(
      "No access token",
      `${join(dataDir, "keys", "operator-token")} is missing. Restart the service: it writes it again.`,
    );
  }
  const ca = caFile === undefined ? undefined : await readIfThere(resolve(dataDir, caFile));
  return { url: url.replace(/\/+$/, ""), token: token.trim(), ca };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code !== "EACCES") throw error;
    throw new Refusal(
      "Not allowed",
      `${path} may only be read by the user the service was started as. Run the command as that user.`,
      { cause: error },
    );
  }
}
