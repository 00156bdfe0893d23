import { type FileHandle, mkdir, open, readdir, readFile, realpath, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { type Dump, type Loaded, loadDump } from "../../db/dump/load.ts";
import { openStorage } from "../../storage/open.ts";
import type { Storage } from "../../storage/storage.ts";
import { forEachAtOnce } from "../../system/at-once.ts";
import { writeWhole } from "../../system/whole-file.ts";
import { type Environment, type Settings, storageOf } from "../config.ts";
import { DATA_VERSION, prepareDataDir, RESTORE_FILE, VERSION_FILE } from "../setup/data-dir.ts";
import { claimInstance } from "../setup/instance-lock.ts";
import type { RunAs } from "../setup/servers/child.ts";
import { runCommand } from "../setup/servers/command.ts";
import { endLeftoverServer } from "../setup/servers/postgres-data.ts";
import { prepareServiceUser } from "../setup/user.ts";
import { BackupRefused, DATA_PREFIX, type Description, STORAGE_PREFIX, tableFile } from "./description.ts";
import { type OpenedBackup, openBackup } from "./opened.ts";
import { openExternal, startDatabase } from "./place.ts";

const OBJECTS_AT_ONCE = 4;
/** Everybody may read the certificate; the rest is the service's alone. */
const PUBLIC_FILES = ["tls/ca.pem"];
/** What an empty disk has by itself. */
const NOBODYS_FILES = ["lost+found", ".gitkeep", ".gitignore", ".DS_Store", "belongs-to.txt"];

export interface RestoreInput {
  readonly env: Environment;
  readonly settings: Settings;
  /** The folder of the backup. */
  readonly source: string;
  /** Does not exist yet, or is empty. */
  readonly dataDir: string;
  /**
   * What becomes of executions that were under way. `release` ends them uncharged, because they may have ended since,
   * and their programs must not run twice. `continue` lets the service continue them, which is right only when no
   * service has run since.
   */
  readonly open: "release" | "continue";
  readonly report: (line: string) => void;
}

export interface Restored extends Loaded {
  readonly dataDir: string;
  readonly description: Description;
  readonly objects: number;
}

/**
 * Makes a data folder, with the database and storage that the settings name, of a backup: all of it or nothing.
 * Everything is verified first. A folder, a database or a bucket that is not empty is refused. A folder in which a
 * restore was killed is emptied first. The data count as there when everything is: until then the folder has no
 * `data-version`, and no service starts on it.
 */
export async function restoreBackup(input: RestoreInput): Promise<Restored> {
  const { env, settings, report } = input;
  const backup = await openBackup(input.source);
  const isUnfinished = await hasUnfinishedRestore(input.dataDir);
  const wasThere = isUnfinished || (await requireEmpty(input.dataDir));
  await requireMasterKey(backup, settings.TREADLE_MASTER_KEY_FILE);
  if (isUnfinished) await removeUnfinished(input.dataDir, report);
  const user = await prepareServiceUser({ isRoot: process.getuid?.() === 0, report, run: runCommand });
  const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const dataDir = await prepareDataDir({ wanted: input.dataDir, traveller: user, owner, report });
  const release = await claimInstance(dataDir);
  try {
    await writeFile(join(dataDir, RESTORE_FILE), [Buffer.from(`${input.source}\n`)]);
    const restored = await fill({ backup, env, settings, dataDir, open: input.open, runAs: user, report });
    await writeWhole(join(dataDir, VERSION_FILE), `${DATA_VERSION}\n`);
    await rm(join(dataDir, RESTORE_FILE));
    return { ...restored, dataDir, description: backup.description };
  } catch (error) {
    await removeContent(dataDir);
    if (!wasThere) await removeFolder(input.dataDir, dataDir);
    throw error;
  } finally {
    await release();
  }
}

async function hasUnfinishedRestore(dataDir: string): Promise<boolean> {
  const names = await readdir(dataDir).catch((): string[] => []);
  return names.includes(RESTORE_FILE) && !names.includes(VERSION_FILE);
}

/** Empties a folder in which a restore was killed; rejects when that one is still under way. */
async function removeUnfinished(wanted: string, report: (line: string) => void): Promise<void> {
  const dataDir = await realpath(wanted);
  const release = await claimInstance(dataDir);
  try {
    report(`A restore into ${wanted} was interrupted. What it left is removed first.`);
    const postgres = await realpath(join(dataDir, "postgres")).catch(() => undefined);
    if (postgres !== undefined) await endLeftoverServer(join(postgres, "data"), report);
    await removeContent(dataDir);
  } finally {
    await release();
  }
}

/** Returns whether it exists. */
async function requireEmpty(dataDir: string): Promise<boolean> {
  const names = await readdir(dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return undefined;
  });
  if ((names ?? []).every((name) => NOBODYS_FILES.includes(name))) return names !== undefined;
  throw new BackupRefused(
    `${dataDir} is not empty. A backup is restored into a folder that is empty or does not exist: name one with --data-dir, or move this one away. Nothing was changed.`,
  );
}

/** With a key of its own the installation could open none of the restored secrets. */
async function requireMasterKey(backup: OpenedBackup, file: string | undefined): Promise<void> {
  if (file === undefined) return;
  const given = await readFile(file).catch(() => undefined);
  const kept = await collect(backup.read(`${DATA_PREFIX}keys/master`));
  if (given?.equals(kept) === true) return;
  throw new BackupRefused(
    `TREADLE_MASTER_KEY_FILE names ${file}, which is not the master key of the backup. Put ${DATA_PREFIX}keys/master of the backup there (mode 0600), or unset it: then the key is kept in the data folder. Nothing was changed.`,
  );
}

interface Filling {
  readonly backup: OpenedBackup;
  readonly env: Environment;
  readonly settings: Settings;
  readonly dataDir: string;
  readonly open: "release" | "continue";
  readonly runAs: RunAs | undefined;
  readonly report: (line: string) => void;
}

async function fill(filling: Filling): Promise<Loaded & { objects: number }> {
  const { backup, settings, dataDir } = filling;
  for await (const path of backup.list(DATA_PREFIX)) {
    const target = join(dataDir, path.slice(DATA_PREFIX.length));
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    const isPublic = PUBLIC_FILES.includes(path.slice(DATA_PREFIX.length));
    await writeFile(target, backup.read(path), isPublic ? 0o644 : 0o600);
  }
  const stored: string[] = [];
  const dir = join(dataDir, "storage");
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const storage = await openStorage({ ...storageOf(settings), dir });
  try {
    if (backup.description.storage !== null) await putObjects(backup, storage, stored);
    return { ...(await fillDatabase(filling)), objects: stored.length };
  } catch (error) {
    // Those in the data folder go with it.
    if (settings.TREADLE_STORAGE_URL !== undefined) for (const key of stored) await storage.delete(key);
    throw error;
  }
}

async function putObjects(backup: OpenedBackup, storage: Storage, stored: string[]): Promise<void> {
  for await (const _ of storage.list("executions/"))
    throw new BackupRefused(
      "The storage of TREADLE_STORAGE_URL has files already. Name an empty bucket or another prefix; a restore that was killed leaves files, too.",
    );
  await forEachAtOnce(backup.list(STORAGE_PREFIX), OBJECTS_AT_ONCE, async (path) => {
    const key = path.slice(STORAGE_PREFIX.length);
    stored.push(key);
    await storage.put(key, Readable.from(backup.read(path)));
  });
}

async function fillDatabase({ backup, env, settings, dataDir, open, runAs, report }: Filling): Promise<Loaded> {
  const { migrations, tables, sequences, takenAt } = backup.description;
  const dump: Dump = {
    migrations,
    tables,
    sequences,
    readTable: ({ name }) => decompress(backup.read(tableFile(name))),
  };
  const endOpen =
    open === "continue"
      ? undefined
      : `The service was restored from a backup of ${takenAt}, made while this execution was under way. Nothing was charged. Execute the workflow again if need be.`;
  const { DATABASE_URL: url } = settings;
  const { db, close } =
    url === undefined
      ? await startDatabase({ env, dataDir, runAs, report, release: async () => undefined })
      : await openExternal(url);
  try {
    const loaded = await loadDump(db, dump, { endOpen });
    if (loaded === "not_empty")
      throw new BackupRefused(
        "The database of DATABASE_URL is not empty. Name one without tables. Nothing was changed.",
      );
    return loaded;
  } finally {
    await close();
  }
}

async function* decompress(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const plain = createGunzip();
  const flow = pipeline(Readable.from(content), plain);
  // The reader gets the error. Without this line, an error that nobody awaits would end the process.
  flow.catch(() => undefined);
  yield* plain as AsyncIterable<Buffer>;
  await flow;
}

async function collect(content: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function writeFile(path: string, content: AsyncIterable<Buffer> | Iterable<Buffer>, mode = 0o644): Promise<void> {
  const handle: FileHandle = await open(path, "w", mode);
  try {
    for await (const chunk of content) await handle.appendFile(chunk);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** All but the lock, which is released at the end. The folder of the database may be a link to where its user can reach it. */
async function removeContent(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if ([...NOBODYS_FILES, "instance.lock", RESTORE_FILE].includes(name)) continue;
    const path = join(dataDir, name);
    const real = await realpath(path);
    if (real !== path && name === "postgres") await rm(real, { recursive: true, force: true });
    await rm(path, { recursive: true, force: true });
  }
  // The last: as long as anything is left, it is known what that is.
  await rm(join(dataDir, RESTORE_FILE), { force: true });
}

/** The folder that was made for this; where it lies outside, `wanted` is the link to it. */
async function removeFolder(wanted: string, dataDir: string): Promise<void> {
  await rm(join(dataDir, "belongs-to.txt"), { force: true });
  await rm(join(dataDir, "instance.lock"), { force: true });
  await rmdir(dataDir);
  if (dataDir !== wanted) await rm(wanted, { force: true });
}
