import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { access, mkdir, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Command } from "commander";
import { type Act, addCommand, type Context } from "./command.ts";
import type { Answer } from "./io.ts";
import { Refusal } from "./refusal.ts";
import { resolveDataDir } from "./service.ts";

const run = promisify(execFile);

/** Below the home folder: where Chrome and Chromium look, and the folders in which Firefox has one for each profile. */
const SHARED_STORES = [".pki/nssdb", "snap/chromium/current/.pki/nssdb"];
const PROFILE_FOLDERS = [
  ".mozilla/firefox",
  "snap/firefox/common/.mozilla/firefox",
  ".var/app/org.mozilla.firefox/.mozilla/firefox",
];
/** It signs servers' certificates, and neither mail nor programs. */
const FOR_SERVERS = "C,,";
const HOW_TO_GET =
  "Install it (Debian and Ubuntu: libnss3-tools, Fedora: nss-tools), or import the certificate in your browser's settings:";

/** `trust [--remove]`: lets the user's browsers trust the service's own certificate, or no more. Nothing outside of the home folder is touched. */
export function addTrustCommand(program: Command, act: Act): void {
  addCommand(program, "trust", "let your browsers trust the certificate of the service on this machine")
    .option("--remove", "take it back")
    .action(act<{ remove?: boolean }>(changeTrust));
}

async function changeTrust(
  context: Context,
  _args: readonly string[],
  { remove = false }: { remove?: boolean },
): Promise<Answer> {
  const { io, dataDir } = context;
  const home = io.env["HOME"];
  if (!home) throw new Refusal("No home folder", "HOME is not set, so it is not known whose browsers are meant.");
  const file = join(resolveDataDir(io, dataDir), "tls", "ca.pem");
  const pem = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new Refusal(
      "No certificate",
      `${file} cannot be read (${error.code}). "npm start" makes it, unless the service has a certificate of yours.`,
      { cause: error },
    );
  });
  const name = `Treadle ${new X509Certificate(pem).fingerprint256.replaceAll(":", "").slice(0, 16)}`;
  const stores =
    process.platform === "darwin"
      ? await changeKeychain(home, file, remove)
      : await changeStores(io.env, home, { name, file, remove });
  const done = remove ? "No longer trusted in" : "Trusted in";
  const lines = stores.length === 0 ? ["It was trusted nowhere."] : stores.map((store) => `${done} ${store}`);
  if (!remove)
    lines.push(
      "Close your browser and open it again.",
      `Anyone who can read ${join(dirname(file), "ca-key.pem")} can now sign for any site that these browsers open. "trust --remove" ends that.`,
    );
  return { document: { trusted: !remove, certificate: file, stores }, lines };
}

interface Change {
  readonly name: string;
  readonly file: string;
  readonly remove: boolean;
}

async function changeStores(
  env: Context["io"]["env"],
  home: string,
  { name, file, remove }: Change,
): Promise<string[]> {
  const changed: string[] = [];
  for (const store of await findStores(home)) {
    const database = ["-d", `sql:${store}`];
    const isThere = await exists(join(store, "cert9.db"));
    if (!isThere && remove) continue;
    if (!isThere) {
      await mkdir(store, { recursive: true, mode: 0o700 });
      await certutil(env, ["-N", ...database, "--empty-password"], file);
    }
    const isKnown = await certutil(env, ["-L", ...database, "-n", name], file).then(
      () => true,
      (error: unknown) => {
        if (error instanceof Refusal && error.error === "No certutil") throw error;
        return false;
      },
    );
    if (remove && !isKnown) continue;
    if (isKnown) await certutil(env, ["-D", ...database, "-n", name], file);
    if (!remove) await certutil(env, ["-A", ...database, "-n", name, "-t", FOR_SERVERS, "-i", file], file);
    changed.push(store);
  }
  return changed;
}

async function findStores(home: string): Promise<string[]> {
  const [first = "", ...others] = SHARED_STORES.map((path) => join(home, path));
  const found = [first];
  for (const path of others) if (await exists(path)) found.push(path);
  for (const folder of PROFILE_FOLDERS.map((path) => join(home, path)))
    for (const profile of await readdir(folder).catch(() => []))
      if (await exists(join(folder, profile, "cert9.db"))) found.push(join(folder, profile));
  return found;
}

async function certutil(env: Context["io"]["env"], args: readonly string[], file: string): Promise<void> {
  try {
    await run("certutil", args, { env: { PATH: env["PATH"], HOME: env["HOME"] } });
  } catch (error) {
    const { code, stderr = "" } = error as NodeJS.ErrnoException & { stderr?: string };
    if (code === "ENOENT") throw new Refusal("No certutil", `There is no program certutil. ${HOW_TO_GET} ${file}`);
    throw new Refusal("Not changed", `certutil could not do it: ${stderr.trim()}`, { cause: error });
  }
}

async function changeKeychain(home: string, file: string, remove: boolean): Promise<string[]> {
  const keychain = join(home, "Library/Keychains/login.keychain-db");
  const args = remove ? ["remove-trusted-cert", file] : ["add-trusted-cert", "-r", "trustRoot", "-k", keychain, file];
  await run("security", args).catch((error: { stderr?: string }) => {
    throw new Refusal("Not changed", `security could not do it: ${(error.stderr ?? "").trim()}`, { cause: error });
  });
  return [keychain];
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
