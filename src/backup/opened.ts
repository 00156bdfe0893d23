import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { listMigrations } from "../../db/migrate.ts";
import { ignoreMissing } from "../../system/ignore-missing.ts";
import { DATA_VERSION } from "../setup/data-dir.ts";
import { BackupRefused, DESCRIPTION_FILE, Description, FORMAT, SUMS_FILE, tableFile } from "./description.ts";

const LINE = /^([0-9a-f]{64}) {2}((?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*[A-Za-z0-9_-][A-Za-z0-9._-]*)$/;

/** A backup that is complete and unchanged. */
export interface OpenedBackup {
  readonly description: Description;
  read(path: string): AsyncIterable<Buffer>;
  /** The paths of its files, below a prefix. */
  list(prefix: string): AsyncGenerator<string>;
}

/**
 * Opens the backup in a folder, after reading all of it. Refuses one that is not complete, of a newer version, or
 * changed since it was made. Every file's SHA-256 is compared, and there must be no other file.
 */
export async function openBackup(folder: string): Promise<OpenedBackup> {
  const description = await readDescription(folder);
  refuseNewer(description);
  const backup: OpenedBackup = {
    description,
    read: (path) => createReadStream(join(folder, path)),
    async *list(prefix) {
      for await (const { path } of readSums(folder)) if (path.startsWith(prefix)) yield path;
    },
  };
  if ((await hash(backup.read(SUMS_FILE)).catch(ignoreMissing)) !== description.sums) throw changed(SUMS_FILE);
  let files = 0;
  const tables = new Set(description.tables.map(({ name }) => tableFile(name)));
  for await (const { path, sha256 } of readSums(folder)) {
    files += 1;
    tables.delete(path);
    if ((await lstat(join(folder, path)).catch(ignoreMissing))?.isFile() !== true) throw changed(path);
    if ((await hash(backup.read(path))) !== sha256) throw changed(path);
  }
  for (const path of tables) throw changed(path);
  if ((await countFiles(folder)) !== files + 2)
    throw new BackupRefused(`${folder} has files that are not of the backup. Remove them; ${SUMS_FILE} lists its own.`);
  return backup;
}

async function readDescription(folder: string): Promise<Description> {
  const text = await readFile(join(folder, DESCRIPTION_FILE), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
    throw new BackupRefused(`${folder} is no backup: it has no ${DESCRIPTION_FILE}, which is written last.`);
  });
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw changed(DESCRIPTION_FILE);
  }
  const { format } = (typeof content === "object" && content !== null ? content : {}) as { format?: unknown };
  if (typeof format === "number" && format > FORMAT)
    throw newer(`its format is ${format}, and this version reads up to ${FORMAT}`);
  const parsed = Description.safeParse(content);
  if (!parsed.success) throw changed(DESCRIPTION_FILE);
  return parsed.data;
}

function refuseNewer({ dataVersion, migrations }: Description): void {
  if (dataVersion > DATA_VERSION)
    throw newer(`its data version is ${dataVersion}, and this version reads up to ${DATA_VERSION}`);
  const known = listMigrations();
  const unknown = migrations.find((name) => !known.includes(name));
  if (unknown !== undefined) throw newer(`its database has the migration ${unknown}, which this version lacks`);
}

function newer(why: string): BackupRefused {
  return new BackupRefused(
    `A newer version of Treadle made the backup: ${why}. Restore it with that version or a later one. Nothing was changed.`,
  );
}

function changed(path: string): BackupRefused {
  return new BackupRefused(
    `The backup is damaged: ${path} is not as it was written. Use another copy of it. Nothing was changed.`,
  );
}

async function* readSums(folder: string): AsyncGenerator<{ path: string; sha256: string }> {
  for await (const line of createInterface({ input: createReadStream(join(folder, SUMS_FILE)) })) {
    const [, sha256, path] = LINE.exec(line) ?? [];
    if (sha256 === undefined || path === undefined) throw changed(SUMS_FILE);
    yield { path, sha256 };
  }
}

async function hash(content: AsyncIterable<Buffer>): Promise<string> {
  const sum = createHash("sha256");
  for await (const chunk of content) sum.update(chunk);
  return sum.digest("hex");
}

async function countFiles(folder: string): Promise<number> {
  let count = 0;
  for (const entry of await readdir(folder, { withFileTypes: true }))
    count += entry.isDirectory() ? await countFiles(join(folder, entry.name)) : 1;
  return count;
}
