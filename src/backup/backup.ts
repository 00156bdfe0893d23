import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { createGzip, constants as zlib } from "node:zlib";
import type { Db } from "../../db/connect.ts";
import { readSnapshot, type Snapshot } from "../../db/dump/snapshot.ts";
import { listMigrations } from "../../db/migrate.ts";
import { NoSuchObjectError, type Storage } from "../../storage/storage.ts";
import { forEachAtOnce } from "../../system/at-once.ts";
import { DATA_VERSION } from "../setup/data-dir.ts";
import { BackupRefused, DATA_PREFIX, type Description, FORMAT, STORAGE_PREFIX, tableFile } from "./description.ts";
import { type BackupDraft, createBackupDraft } from "./folder.ts";

const OBJECTS_AT_ONCE = 4;
/** What a data folder has that cannot be made anew: keys, the certificate callers trust, and whose spool it is. */
const DATA_FOLDERS = ["keys", "tls"];
const DATA_FILES = ["host-id", "examples.json"];
const MASTER_KEY = "keys/master";

export interface BackupInput {
  readonly db: Db;
  readonly storage: Storage;
  readonly dataDir: string;
  /** Where the master key is when it is not in the data folder. */
  readonly masterKeyFile: string | undefined;
  /** The folder to be; it must not exist. */
  readonly target: string;
  /** False where the storage has a backup of its own. */
  readonly withFiles: boolean;
}

/**
 * Makes a backup of one moment: database, stored files, keys and certificate, in a folder that appears when it is complete and
 * on the disk. The service may run meanwhile. Answers what it is made of. Throws `BackupRefused`.
 */
export async function makeBackup(input: BackupInput): Promise<Description> {
  const made = await readSnapshot(input.db, async (snapshot) => {
    const known = listMigrations();
    const unknown = snapshot.migrations.find((name) => !known.includes(name));
    if (unknown !== undefined)
      throw new BackupRefused(
        `A newer version of Treadle changed the database: it has the migration ${unknown}, which this version lacks. Make the backup with the newer version.`,
      );
    const draft = await createBackupDraft(input.target);
    try {
      return await fill(draft, snapshot, input);
    } catch (error) {
      await draft.abandon();
      throw error;
    }
  });
  if (made === "busy")
    throw new BackupRefused("Another backup of this installation is being made. Wait until it is done.");
  return made;
}

async function fill(draft: BackupDraft, snapshot: Snapshot, input: BackupInput): Promise<Description> {
  for (const table of snapshot.tables) {
    const rows = await snapshot.readTable(table);
    await draft.add(tableFile(table.name), compress(rows));
  }
  for await (const { path, from } of listDataFiles(input)) await draft.add(DATA_PREFIX + path, createReadStream(from));
  const storage = input.withFiles ? await copyObjects(draft, snapshot, input.storage) : null;
  let description: Description | undefined;
  await draft.finish((sums) => {
    description = {
      format: FORMAT,
      takenAt: snapshot.takenAt.toISOString(),
      dataVersion: DATA_VERSION,
      postgres: snapshot.server,
      migrations: [...snapshot.migrations],
      tables: snapshot.tables.map(({ name, columns }) => ({ name, columns: [...columns] })),
      sequences: [...snapshot.sequences],
      open: snapshot.open,
      storage,
      sums,
    };
    return description;
  });
  return description as unknown as Description;
}

function compress(content: Readable): AsyncIterable<Buffer> {
  const compressed = createGzip({ level: zlib.Z_BEST_SPEED });
  content.once("error", (error) => compressed.destroy(error));
  return content.pipe(compressed);
}

async function* listDataFiles(input: BackupInput): AsyncGenerator<{ path: string; from: string }> {
  const { dataDir, masterKeyFile } = input;
  if (masterKeyFile !== undefined) yield { path: MASTER_KEY, from: masterKeyFile };
  for (const folder of DATA_FOLDERS) {
    for (const entry of await readdir(join(dataDir, folder), { withFileTypes: true }).catch(noneIfMissing)) {
      const path = `${folder}/${entry.name}`;
      // What is being written now is not there yet.
      if (!entry.isFile() || entry.name.endsWith(".tmp")) continue;
      if (path !== MASTER_KEY || masterKeyFile === undefined) yield { path, from: join(dataDir, path) };
    }
  }
  const top = await readdir(dataDir);
  for (const path of DATA_FILES) if (top.includes(path)) yield { path, from: join(dataDir, path) };
}

/** Every object that the moment promises. One that storage does not have, or not as it was, keeps nobody from a backup of the rest. */
async function copyObjects(
  draft: BackupDraft,
  snapshot: Snapshot,
  storage: Storage,
): Promise<NonNullable<Description["storage"]>> {
  const counts = { objects: 0, bytes: 0, missing: 0, damaged: 0 };
  const copy = async (line: string): Promise<void> => {
    const [key = "", sha256 = ""] = line.split("\t");
    const content = await storage.get(key).catch((error: unknown) => {
      if (!(error instanceof NoSuchObjectError)) throw error;
      return undefined;
    });
    if (content === undefined) {
      counts.missing += 1;
      return;
    }
    const written = await draft.add(STORAGE_PREFIX + key, content);
    counts.objects += 1;
    counts.bytes += written.bytes;
    if (sha256 !== "" && sha256 !== written.sha256) counts.damaged += 1;
  };
  await forEachAtOnce(splitLines(await snapshot.readObjects()), OBJECTS_AT_ONCE, copy);
  return counts;
}

async function* splitLines(content: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  let rest = "";
  for await (const chunk of content) {
    const lines = (rest + chunk.toString("latin1")).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

function noneIfMissing(error: NodeJS.ErrnoException): [] {
  if (error.code !== "ENOENT") throw error;
  return [];
}
