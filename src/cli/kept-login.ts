import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CliIo } from "./io.ts";

/** A service and an access token to it, as `login` keeps them. */
export interface Login {
  readonly url: string;
  readonly token: string;
  /** The authority that signed the service's certificate, where it is a file of this machine. */
  readonly caFile?: string;
}

/** The service that was logged in to; undefined without a login, or with one that cannot be read. */
export async function findLogin(io: Pick<CliIo, "env">): Promise<Login | undefined> {
  const path = findLoginPlace(io);
  if (path === undefined) return undefined;
  try {
    const { url, token, caFile } = JSON.parse(await readFile(path, "utf8")) as Partial<Login>;
    if (typeof url !== "string" || typeof token !== "string") return undefined;
    return { url, token, ...(typeof caFile === "string" ? { caFile } : {}) };
  } catch {
    return undefined;
  }
}

/** Returns where a login is kept; undefined where there is no home folder. */
export function findLoginPlace({ env }: Pick<CliIo, "env">): string | undefined {
  const folder = env["XDG_CONFIG_HOME"] || (env["HOME"] && join(env["HOME"], ".config"));
  return folder ? join(folder, "treadle", "login.json") : undefined;
}
