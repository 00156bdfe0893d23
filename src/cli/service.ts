import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { readSecret, SettingsError } from "../config.ts";
import type { ReadyFile } from "../start/ready-file.ts";
import type { CliIo } from "./io.ts";
import { findLogin } from "./kept-login.ts";
import { Refusal } from "./refusal.ts";
import { toBaseUrl } from "./service-url.ts";

/** How to reach a service: its address without `/api`, who we are to it, and what to trust besides the roots of the system. */
export interface ServiceAddress {
  readonly url: string;
  readonly token: string;
  /** Where it is called, when that is not its `url`, and the name that its certificate has to have there. */
  readonly local: { readonly url: string; readonly serverName: string | null } | undefined;
  /** PEM texts. Undefined: what Node trusts by itself. */
  readonly authorities: readonly string[] | undefined;
}

const HOW_TO_START = 'Start it with "npm start", or name another one by TREADLE_URL and TREADLE_TOKEN.';

/**
 * Finds the service. `--data-dir` comes first, then TREADLE_URL with TREADLE_TOKEN (or its file). After them come the data folder of
 * TREADLE_DATA_DIR or `./.treadle`, where a service runs on it, and the one of `login`.
 */
export async function findService(io: CliIo, dataDir: string | undefined): Promise<ServiceAddress> {
  const { TREADLE_URL: url } = io.env;
  if (dataDir === undefined && url)
    return { url: toBaseUrl(url, "TREADLE_URL"), token: findToken(io), local: undefined, authorities: undefined };
  const folder = resolveDataDir(io, dataDir);
  const login = dataDir === undefined && !(await isReady(folder)) ? await findLogin(io) : undefined;
  if (login !== undefined) return { url: login.url, token: login.token, local: undefined, authorities: undefined };
  return findLocalService(io, folder);
}

function findToken({ env }: CliIo): string {
  const token = readToken(env);
  if (token !== undefined) return token;
  throw new Refusal(
    "No access token",
    "TREADLE_URL is set, but TREADLE_TOKEN is not. Set it to a personal access token, or TREADLE_TOKEN_FILE to a file that has one.",
  );
}

function readToken(env: CliIo["env"]): string | undefined {
  try {
    return readSecret(env, "TREADLE_TOKEN");
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new Refusal("No access token", `${error.message}.`, { cause: error });
  }
}

export function resolveDataDir(io: CliIo, dataDir: string | undefined): string {
  return resolve(io.cwd, dataDir ?? (io.env["TREADLE_DATA_DIR"] || ".treadle"));
}

async function isReady(dataDir: string): Promise<boolean> {
  return (await readIfThere(join(dataDir, "ready.json"))) !== undefined;
}

/** On its own machine a service is called where it listens: what stands before it may be away, or have another certificate. */
async function findLocalService(io: CliIo, dataDir: string): Promise<ServiceAddress> {
  const ready = await readIfThere(join(dataDir, "ready.json"));
  if (ready === undefined) {
    throw new Refusal(
      "Service not running",
      `No service is running on ${dataDir} (it has no ready.json). ${HOW_TO_START}`,
    );
  }
  const { url, local, caFile } = JSON.parse(ready) as Partial<ReadyFile> & { url: string };
  const token = await readIfThere(join(dataDir, "keys", "operator-token"));
  if (token === undefined) {
    throw new Refusal(
      "No access token",
      `${join(dataDir, "keys", "operator-token")} is missing. Restart the service: it writes it again.`,
    );
  }
  const own = caFile === undefined ? undefined : await readIfThere(resolve(dataDir, caFile));
  const extra = io.env["NODE_EXTRA_CA_CERTS"];
  const others = extra ? await readIfThere(resolve(io.cwd, extra)) : undefined;
  const authorities = own === undefined ? undefined : [own, ...(others === undefined ? [] : [others])];
  return { url: url.replace(/\/+$/, ""), token: token.trim(), local, authorities };
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
