import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CliIo } from "./io.ts";

/** A service and an access token to it, as `login` keeps them. */
export interface Login {
  readonly url: string;
  readonly token: string;
}

/** The service that was logged in to; undefined without a login, or with one that cannot be read. */
export async function findLogin(io: Pick<CliIo, "env">): Promise<Login | undefined> {
  const path = findLoginPlace(io);
  if (path === undefined) return undefined;
  try {
    const { url, token } = JSON.parse(await readFile(path, "utf8")) as Partial<Login>;
    return typeof url === "string" && typeof token === "string" ? { url, token } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns where a login is kept; undefined where there is no home folder. */
export function findLoginPlace({ env }: Pick<CliIo, "env">): string | undefined {
  const folder = env["XDG_CONFIG_HOME"] || (env["HOME"] && join(env["HOME"], ".config"));
  return folder ? join(folder, "treadle", "login.json") : undefined;
}
