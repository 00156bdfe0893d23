import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { readSecret, SettingsError } from "../config.ts";
import type { ReadyFile } from "../start/ready-file.ts";
import type { CliIo } from "./io.ts";
import { findLogin, type Login } from "./kept-login.ts";
import { Refusal } from "./refusal.ts";
import { toBaseUrl } from "./service-url.ts";

/** How to reach a service: its address without `/api`, who we are to it, and what to trust besides the roots of the system. */
export interface ServiceAddress {
  readonly url: string;
  /** Undefined: nobody that it knows. */
  readonly token: string | undefined;
  /** Where it is called, when that is not its `url`, and the name that its certificate has to have there. */
  readonly local: { readonly url: string; readonly serverName: string | null } | undefined;
  /** PEM texts. Undefined: what Node trusts by itself. */
  readonly authorities: readonly string[] | undefined;
}

const HOW_TO_START = 'Start it with "npm start", or name another one by TREADLE_URL and TREADLE_TOKEN.';

/**
 * Finds the service. `--data-dir` comes first, then TREADLE_URL with TREADLE_TOKEN (or its file). After them come the data folder of
 * TREADLE_DATA_DIR or `./.treadle`, where a service runs on it, and the one of `login`. A login to that very service is used instead
 * of the operator's token.
 */
export async function findService(io: CliIo, dataDir: string | undefined): Promise<ServiceAddress> {
  const { TREADLE_URL: url } = io.env;
  if (dataDir === undefined && url) return findNamedService(io, toBaseUrl(url, "TREADLE_URL"));
  const folder = resolveDataDir(io, dataDir);
  const login = dataDir === undefined ? await findLogin(io) : undefined;
  if (login === undefined) return findLocalService(io, folder);
  const local = await findPlace(io, folder);
  if (local === undefined) return toAddress(io, login);
  return local.url === login.url ? { ...local, token: login.token } : findLocalService(io, folder);
}

/**
 * Finds a service to log in to, as nobody: the one at `url`, or else the one that commands would use. `caFile` is there where it is
 * the service of the data folder.
 */
export async function findStrangeService(
  io: CliIo,
  { url, dataDir }: { url: string | undefined; dataDir: string | undefined },
): Promise<ServiceAddress & Pick<Login, "caFile">> {
  const given = url ?? (dataDir === undefined ? io.env["TREADLE_URL"] : undefined);
  const name = given ? toBaseUrl(given, url === undefined ? "TREADLE_URL" : "The address") : undefined;
  const local = await findPlace(io, resolveDataDir(io, dataDir));
  if (local !== undefined && (name === undefined || name === local.url)) return { ...local, token: undefined };
  const known = await findLogin(io);
  if (known !== undefined && (name === undefined || name === known.url))
    return { ...(await toAddress(io, known)), ...known, token: undefined };
  if (name !== undefined) return { url: name, token: undefined, local: undefined, authorities: undefined };
  throw new Refusal("No such service", "Name the service: treadle login https://HOST.");
}

/** The service that was logged in to; a file of its authority that is gone is not asked for. */
async function toAddress(io: CliIo, { url, token, caFile }: Login): Promise<ServiceAddress> {
  return { url, token, local: undefined, authorities: await readAuthorities(io, caFile) };
}

async function findNamedService(io: CliIo, url: string): Promise<ServiceAddress> {
  const token = readToken(io.env);
  if (token !== undefined) return { url, token, local: undefined, authorities: undefined };
  const login = await findLogin(io);
  if (login?.url === url) return toAddress(io, login);
  throw new Refusal(
    "No access token",
    "TREADLE_URL is set, but TREADLE_TOKEN is not. Set it to a personal access token, or TREADLE_TOKEN_FILE to a file that has one. Or log in with treadle login.",
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

/** Where the service of a data folder is called; undefined where none runs on it. */
async function findPlace(
  io: CliIo,
  dataDir: string,
): Promise<(Pick<ServiceAddress, "url" | "local" | "authorities"> & Pick<Login, "caFile">) | undefined> {
  const ready = await readIfThere(join(dataDir, "ready.json"));
  if (ready === undefined) return undefined;
  const { url, local, ...rest } = JSON.parse(ready) as Partial<ReadyFile> & { url: string };
  const own = rest.caFile === undefined ? undefined : resolve(dataDir, rest.caFile);
  const authorities = await readAuthorities(io, own);
  return { url: url.replace(/\/+$/, ""), local, authorities, ...(own === undefined ? {} : { caFile: own }) };
}

/** What to trust besides the roots of the system, where the service has an authority of its own. */
async function readAuthorities(io: CliIo, caFile: string | undefined): Promise<readonly string[] | undefined> {
  const own = caFile === undefined ? undefined : await readIfThere(caFile);
  if (own === undefined) return undefined;
  const extra = io.env["NODE_EXTRA_CA_CERTS"];
  const others = extra ? await readIfThere(resolve(io.cwd, extra)) : undefined;
  return [own, ...(others === undefined ? [] : [others])];
}

/** On its own machine a service is called where it listens: what stands before it may be away, or have another certificate. */
async function findLocalService(io: CliIo, dataDir: string): Promise<ServiceAddress> {
  const place = await findPlace(io, dataDir);
  if (place === undefined) {
    throw new Refusal(
      "Service not running",
      `No service is running on ${dataDir} (it has no ready.json). ${HOW_TO_START}`,
    );
  }
  const token = await readIfThere(join(dataDir, "keys", "operator-token"));
  if (token === undefined) {
    throw new Refusal(
      "No access token",
      `${join(dataDir, "keys", "operator-token")} is missing. Restart the service: it writes it again.`,
    );
  }
  return { ...place, token: token.trim() };
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
