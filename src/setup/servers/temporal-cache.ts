import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";

const READ_BYTES = 1 << 20;

/** What releases call this system, like "linux_amd64"; undefined where there is no release for it. */
export function releasePlatform(platform: string = process.platform, arch: string = process.arch): string | undefined {
  const system = { linux: "linux", darwin: "darwin" }[platform];
  const machine = { x64: "amd64", arm64: "arm64" }[arch];
  return system !== undefined && machine !== undefined ? `${system}_${machine}` : undefined;
}

/** The folder outside every checkout where downloaded and built servers are kept, so that the next clone finds them. */
export function findCacheDir(env: Readonly<Record<string, string | undefined>>): string {
  if (env.TREADLE_CACHE_DIR) return env.TREADLE_CACHE_DIR;
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache"), "treadle");
}

/** The file of one version, for one kind of system. Its checksum is in a file of the same name with `.sha256` after it. */
export function cachePath(cacheDir: string, version: string): string {
  return join(cacheDir, `temporal-${version}-${process.platform}-${process.arch}`);
}

/**
 * Whether the cache holds this version, whole: `damaged` means that it differed from its checksum (or had none) and has
 * been deleted. A file that has been compared is not read again while it is the same file, unchanged: every start asks.
 */
export async function findCached(cacheDir: string, version: string): Promise<"found" | "missing" | "damaged"> {
  const path = cachePath(cacheDir, version);
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found === undefined || !found.isFile()) return "missing";
  const [checksum = ""] = (await readFile(`${path}.sha256`, "utf8").catch(() => "")).split(" ");
  const compared = `${checksum} ${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}\n`;
  if ((await readFile(`${path}.compared`, "utf8").catch(() => "")) === compared) return "found";
  if (checksum === (await hashFile(path))) {
    await writeFile(`${path}.compared`, compared).catch(() => {}); // of another user's cache: compared each time
    return "found";
  }
  for (const file of [path, `${path}.sha256`, `${path}.compared`]) await rm(file, { force: true }).catch(() => {}); // not ours to delete: not used either
  return "damaged";
}

/** Moves a finished program into the cache, from a folder of the same disk. Readers see all of it or nothing. */
export async function keepInCache(program: string, cacheDir: string, version: string): Promise<string> {
  const path = cachePath(cacheDir, version);
  await mkdir(cacheDir, { recursive: true });
  await chmod(program, 0o755);
  const draft = `${path}.sha256.${randomBytes(6).toString("hex")}`;
  // In the form that `sha256sum -c` reads. First, so that a program in its place always has its checksum.
  await writeFile(draft, `${await hashFile(program)}  ${basename(path)}\n`);
  await rename(draft, `${path}.sha256`);
  await rename(program, path);
  return path;
}

/** SHA-256 of a file, lower-case hex. 140 MB take a third of a second. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: READ_BYTES }), hash);
  return hash.digest("hex");
}
