import { randomBytes } from "node:crypto";
import {
  access,
  chmod,
  constants,
  cp,
  lchown,
  lstat,
  mkdir,
  readdir,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RunAs } from "./child.ts";
import { runCommand } from "./command.ts";

/** Where data goes that the unprivileged user could not reach in the data dir. */
export const OUTSIDE_FOLDER = "/var/lib/treadle";

const ACCESS_MODES = { r: constants.R_OK, w: constants.W_OK, x: constants.X_OK } as const;
const PASS_THROUGH_FOR_ALL = 0o011;
const BUSY_MS_MAX = 3_000;
const BUSY_LOOK_MS = 200;

/**
 * Whether that user can read, write, or execute (for a folder: enter) this path, every folder above it included. Asked
 * of the system in that user's name, since modes alone do not know about access lists, mount options and namespaces.
 */
export async function canReach(path: string, mode: "r" | "w" | "x", runAs: RunAs | undefined): Promise<boolean> {
  if (runAs !== undefined && runAs.uid !== process.getuid?.()) {
    const { code } = await runCommand("/bin/sh", ["-c", `test -${mode} "$1"`, "test", path], { env: {}, runAs });
    return code === 0;
  }
  return access(path, ACCESS_MODES[mode]).then(
    () => true,
    () => false,
  );
}

/**
 * The folder `<data dir>/<name>` for one server: made if missing, ours, and within reach of the user that the server
 * runs as. That user owns folders in it (`makeOwnFolder`), never the folder itself. Root writes here, and must not do
 * so where another user could put a link in its way. A folder above the data dir may keep that user out, as a 0700 home
 * does. Then the data live under `outsideFolder`, and `<data dir>/<name>` is a link. So a data dir that is moved or
 * deleted takes its data, or their address, along. The permissions of folders above the data dir are never changed.
 */
export async function placeFolder(options: {
  dataDir: string;
  name: string;
  runAs: RunAs | undefined;
  outsideFolder: string;
  report: (line: string) => void;
}): Promise<string> {
  const { runAs, report } = options;
  const place = join(resolve(options.dataDir), options.name);
  await mkdir(resolve(options.dataDir), { recursive: true });
  const link = await readlink(place).catch(() => undefined);
  const existing = link ?? ((await exists(place)) ? place : undefined);
  if (existing !== undefined) {
    if (!(await exists(existing))) {
      throw new Error(
        `${place} points to ${existing}, which is gone. Put it back, or delete the link ${place} to start empty.`,
      );
    }
    if (link === undefined) await openDataDir(options.dataDir, runAs);
    if ((await canReach(existing, "x", runAs)) && (await canReach(existing, "w", undefined))) return existing;
    throw new Error(await explainUnreachable(existing, runAs));
  }

  await openDataDir(options.dataDir, runAs);
  if (await canReach(resolve(options.dataDir), "x", runAs)) {
    await mkdir(place, { recursive: true, mode: folderMode(runAs) });
    return place;
  }
  await mkdir(options.outsideFolder, { recursive: true, mode: 0o755 });
  const outside = join(options.outsideFolder, `${options.name}-${randomBytes(6).toString("hex")}`);
  await mkdir(outside, { mode: folderMode(runAs) });
  if (!(await canReach(outside, "x", runAs))) throw new Error(await explainUnreachable(outside, runAs));
  await writeFile(join(outside, "belongs-to.txt"), `${place}\n`);
  await symlink(outside, place);
  report(
    `User ${runAs?.uid} cannot enter ${resolve(options.dataDir)}; the data of ${options.name} are kept in ${outside}.`,
  );
  return outside;
}

/**
 * A path of `source` (a program, or a folder of them) that this user can execute. It is the path itself when `works`
 * says so, else a copy in `folder`, made once. `name` says which version it is: a copy of that name is taken as it is,
 * and is whole, since it gets its name last.
 */
export async function copyIntoReach(options: {
  source: string;
  folder: string;
  name: string;
  works: (path: string) => Promise<boolean>;
  /** Puts the finishing touch to a copy before it gets its name. */
  complete?: (copy: string) => Promise<void>;
  report: (line: string) => void;
}): Promise<string | undefined> {
  if (await options.works(options.source)) return options.source;
  const copy = join(options.folder, options.name);
  if (!(await exists(copy))) {
    const draft = `${copy}.${randomBytes(6).toString("hex")}`;
    try {
      // Links as they are: otherwise they are rewritten to point into the place that cannot be reached.
      await cp(options.source, draft, { recursive: true, verbatimSymlinks: true });
      await openToAll(draft);
      await options.complete?.(draft);
      await rename(draft, copy);
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
    options.report(`Copied ${basename(options.source)} to ${copy}, where the user that runs it can execute it.`);
  }
  // A child that was forked while the copy was written has it open until it becomes its own program: "Text file busy".
  for (const until = Date.now() + BUSY_MS_MAX; ; await sleep(BUSY_LOOK_MS)) {
    if (await options.works(copy)) return copy;
    if (Date.now() > until) return undefined;
  }
}

function folderMode(runAs: RunAs | undefined): number {
  return runAs === undefined ? 0o700 : 0o711;
}

/** Makes a folder of mode 0700 that belongs to this user, inside one of ours. One that exists stays as it is. */
export async function makeOwnFolder(path: string, runAs: RunAs | undefined): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return;
    throw error;
  }
  if (runAs !== undefined) await lchown(path, runAs.uid, runAs.gid);
}

/** Packages unpacked under a strict umask are closed to others, and so would be their copy. */
async function openToAll(path: string): Promise<void> {
  const { mode } = await lstat(path);
  const isFolder = (mode & constants.S_IFMT) === constants.S_IFDIR;
  if (isFolder) for (const name of await readdir(path)) await openToAll(join(path, name));
  if ((mode & constants.S_IFMT) === constants.S_IFLNK) return;
  await chmod(path, isFolder || (mode & constants.S_IXUSR) !== 0 ? 0o755 : 0o644);
}

/** The data dir is ours: a server's user may pass through it, though not list it. What is in it has modes of its own. */
async function openDataDir(dataDir: string, runAs: RunAs | undefined): Promise<void> {
  if (runAs === undefined) return;
  const { mode, uid } = await stat(dataDir);
  const isOpen = uid === runAs.uid || (mode & PASS_THROUGH_FOR_ALL) === PASS_THROUGH_FOR_ALL;
  if (!isOpen && uid === process.getuid?.()) await chmod(dataDir, (mode & 0o7777) | PASS_THROUGH_FOR_ALL);
}

async function explainUnreachable(path: string, runAs: RunAs | undefined): Promise<string> {
  const { uid } = await stat(path);
  const us = process.getuid?.();
  return uid === us
    ? `User ${runAs?.uid ?? us} cannot enter ${path}: a folder above it keeps that user out. Move the data dir (TREADLE_DATA_DIR) to where every user may pass, or open the folders above it (chmod o+x).`
    : `${path} belongs to user ${uid}, and Treadle now runs as user ${us}. Start it as the user that made this data dir, or choose another data dir (TREADLE_DATA_DIR).`;
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
