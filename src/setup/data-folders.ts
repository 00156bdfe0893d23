import { execFile } from "node:child_process";
import { chmod, lchown, lstat, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { removeTree } from "../../system/trees/remove-tree.ts";
import { writeWhole } from "../../system/whole-file.ts";
import { DATA_VERSION, VERSION_FILE } from "./data-dir.ts";
import type { RunAs } from "./servers/child.ts";
import { SYSTEM_PATH } from "./user.ts";

/** Twice what a path of a commit or an output may have: what lies deeper, a killed program left, and nobody wants it. */
const PATH_LENGTH_MAX = 2_048;

/**
 * What is in a data folder. All of it belongs to the service's user. A mode with others' `x` lets the unprivileged user
 * pass, by exact name, to what it owns or may read in there. 0700 keeps secrets and stored files from it.
 */
const FOLDERS = {
  /** Master key, sign-in, operator token. */
  keys: 0o700,
  /** Certificate, and its key with mode 0600. */
  tls: 0o755,
  /** Stored inputs and outputs. */
  storage: 0o700,
  /** Outputs that wait for storage; the programs' own folders in it. */
  spool: 0o711,
  /** What executions of warm code write and read, until the spool has it. */
  lanes: 0o711,
  /** The files of commits, as sandboxes see them. */
  commits: 0o711,
  /** Python environments. */
  environments: 0o711,
  /** What is made anew at every start, or copied to where the unprivileged user can execute it. */
  runtime: 0o711,
  logs: 0o700,
  /** What could not be removed at once, out of everybody's way. */
  trash: 0o700,
} as const;

/** What programs of a killed service have left in these may belong to the users of their sandboxes. */
const LEFT_BY_PROGRAMS = ["spool", "lanes", "trash"];

/** Made by their servers, which own what is in them: only the folder itself follows the service's user. */
const SERVER_FOLDERS = ["postgres", "temporal"];

export type DataPaths = Readonly<Record<keyof typeof FOLDERS | "runner", string>>;

/**
 * Makes the folders of a data folder that `prepareDataDir` has found, and gives them their owner and modes. When the
 * service was another user at the last start (only root can change that), everything of its own is handed over.
 */
export async function layOutDataDir(dir: string, owner: RunAs): Promise<DataPaths> {
  const isRoot = process.getuid?.() === 0;
  await writeWhole(join(dir, VERSION_FILE), `${DATA_VERSION}\n`);
  for (const [name, mode] of Object.entries(FOLDERS)) {
    const path = join(dir, name);
    await mkdir(path, { recursive: true, mode });
    if (isRoot && (await lstat(path)).uid !== owner.uid) await handOver(path, owner);
    await chmod(path, mode);
  }
  if (isRoot) {
    await handOverLeft(dir, owner);
    for (const name of SERVER_FOLDERS) await handOverTop(join(dir, name), owner);
    await handOverFiles(dir, owner);
  }
  const names = Object.keys(FOLDERS) as (keyof typeof FOLDERS)[];
  const paths = Object.fromEntries(names.map((name) => [name, join(dir, name)])) as Record<
    keyof typeof FOLDERS,
    string
  >;
  return { ...paths, runner: join(paths.runtime, "runner") };
}

/**
 * Gives a folder and all that is in it to the service's user. What is in it comes first, so one with its owner is done.
 * Links are handed over themselves, never what they point to. What lies deeper than any path of ours is removed: no path
 * reaches its end.
 */
export async function handOver(
  path: string | Buffer,
  owner: RunAs,
  lengthMax = path.length + PATH_LENGTH_MAX,
): Promise<void> {
  if (path.length > lengthMax) return removeTree(path);
  const names = (await lstat(path)).isDirectory() ? await readdir(path, { encoding: "buffer" }) : [];
  for (const name of names) {
    const inside = Buffer.concat([Buffer.from(path), Buffer.from("/"), name]); // Names that a program chose may be no text.
    await handOver(inside, owner, lengthMax);
  }
  await lchown(path, owner.uid, owner.gid);
}

/**
 * Gives what root has made in a folder of the service's user to that user. What has its owner is passed by with all that
 * is in it: of 800 files of a runner that took a start 0.2 s.
 */
export async function handOverNew(folder: string, owner: RunAs): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if ((await lstat(path)).uid !== owner.uid) await handOver(path, owner);
  }
}

/**
 * By `chown`, which goes from folder to folder by descriptors: a program that is still dying cannot lead it elsewhere
 * by a link. What it cannot take over, such as a file that the program has just deleted, does not stop the start. Its
 * removal says what is left.
 */
async function handOverLeft(dir: string, { uid, gid }: RunAs): Promise<void> {
  const paths = LEFT_BY_PROGRAMS.map((name) => join(dir, name));
  const args = ["-fhR", "--", `${uid}:${gid}`, ...paths];
  await promisify(execFile)("chown", args, { env: { PATH: SYSTEM_PATH } }).catch(() => undefined);
}

async function handOverTop(folder: string, owner: RunAs): Promise<void> {
  const found = await lstat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return undefined;
  });
  if (found === undefined || !found.isDirectory() || found.uid === owner.uid) return;
  await lchown(folder, owner.uid, owner.gid);
  await handOverFiles(folder, owner);
}

async function handOverFiles(folder: string, owner: RunAs): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isFile()) await lchown(join(folder, entry.name), owner.uid, owner.gid);
  }
}
