import { createHash, randomUUID } from "node:crypto";
import {
  chmod,
  copyFile,
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  opendir,
  readdir,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
} from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { type Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { syncEarly } from "../system/early-sync.ts";
import { createThreads } from "../system/threads/threads.ts";
import { syncFolder } from "../system/whole-file.ts";
import { WRITE_BATCH } from "./disk-batch.ts";
import { FOLDER_MODE, OBJECT_MODE, PLACE_ATTEMPTS_MAX } from "./disk-layout.ts";
import { type FinishedFile, openFinished } from "./finished-file.ts";
import { requireKey, requirePrefix, requireRange } from "./keys.ts";
import { type Meter, meter } from "./meter.ts";
import { createPartStorage } from "./parts.ts";
import { probeStorage } from "./probe.ts";
import { NoSuchObjectError, type ObjectStore, type PartStorage, type PutResult, StorageFullError } from "./storage.ts";

/** No upload takes longer between two writes: a file in `incoming` that is older was left by a killed process. */
const ABANDONED_MS = 24 * 60 * 60 * 1_000;

/** A finished file is read in pieces of so many bytes. Pieces of Node.js' own 64 KiB take longer to ask for than to read. */
const READ_BYTES = 1024 * 1024;
/** So much of it may wait to be written. */
const WRITE_BYTES = 1024 * 1024;

/** Of one batch of small objects. Less than the 30 seconds after which PostgreSQL ends the transaction that waits for it. */
const BATCH_MS_MAX = 20_000;

/**
 * Storage in a folder of this machine: `objects/` as the keys say, and `incoming/` for what is still being written.
 * An object has its name only when all its bytes are on the disk. One key cannot be the folder of another.
 */
export async function createDiskStorage(settings: { dir: string }): Promise<ObjectStore> {
  const folders = { objects: join(settings.dir, "objects"), incoming: join(settings.dir, "incoming") };
  await mkdir(folders.objects, { recursive: true, mode: FOLDER_MODE });
  await mkdir(folders.incoming, { recursive: true, mode: 0o700 });
  await chmod(folders.objects, FOLDER_MODE); // The process may have a umask that says less.
  await removeAbandoned(folders.incoming);

  const pathOf = (key: string): string => join(folders.objects, requireKey(key));
  const threads = createThreads({ threadsMax: 1 });
  const storage: ObjectStore = {
    get parts(): PartStorage {
      return parts;
    },
    async put(key, content, options) {
      const metered = meter(content, options);
      try {
        return await receive(folders, pathOf(key), metered);
      } catch (error) {
        content.destroy();
        throw explained(error, settings.dir);
      }
    },
    async putAll(objects) {
      const files = objects.map(({ key, content }) => ({ path: pathOf(key), content }));
      const budget = { owner: "storage", timeoutMs: BATCH_MS_MAX };
      return threads.run(WRITE_BATCH, { incoming: folders.incoming, files }, budget);
    },
    async putFile(key, path) {
      const target = pathOf(key);
      const file = await openFinished(path);
      try {
        return await takeOver(folders, { target, path, file });
      } catch (error) {
        throw explained(error, settings.dir);
      } finally {
        await file.handle.close();
      }
    },
    async get(key, range) {
      return openObject(key, pathOf(key), range);
    },
    async head(key) {
      const info = await stat(pathOf(key)).catch(absentAs(() => undefined));
      return info?.isFile() ? { bytes: info.size, modifiedAt: info.mtime } : undefined;
    },
    async delete(key) {
      const path = pathOf(key);
      await unlink(path).catch(absentAs(() => undefined));
      await removeEmptied(folders.objects, dirname(path));
    },
    async *list(prefix) {
      const start = requirePrefix(prefix).slice(0, prefix.lastIndexOf("/") + 1);
      for await (const path of filesUnder(join(folders.objects, start))) {
        const key = relative(folders.objects, path);
        if (key.startsWith(prefix)) yield key;
      }
    },
    async localFile(key) {
      if ((await storage.head(key)) === undefined) noSuchObject(key);
      return pathOf(key);
    },
    async copy(from, to) {
      await duplicate(folders, pathOf(from), pathOf(to)).catch((error: unknown) => {
        absentAs(() => noSuchObject(from))(explained(error, settings.dir));
      });
    },
    sweep: () => removeAbandoned(folders.incoming),
    async check() {
      await probeStorage(storage, `The storage folder ${settings.dir}`);
    },
  };
  const parts = createPartStorage(storage);
  return storage;
}

interface Folders {
  readonly objects: string;
  readonly incoming: string;
}

async function openObject(key: string, path: string, range?: { start: number; end: number }): Promise<Readable> {
  if (range !== undefined) requireRange(range);
  const handle = await open(path, "r").catch(absentAs(() => noSuchObject(key)));
  try {
    const info = await handle.stat();
    if (!info.isFile()) noSuchObject(key);
    if (range !== undefined && range.start >= info.size)
      throw new RangeError(`The object ${key} has only ${info.size} bytes.`);
    return handle.createReadStream(range);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Writes content beside the objects, then gives it its name. After any error, the written file goes too. */
async function receive(folders: Folders, target: string, metered: Meter): Promise<PutResult> {
  const written = join(folders.incoming, randomUUID());
  try {
    const handle = await open(written, "wx", OBJECT_MODE);
    try {
      await handle.chmod(OBJECT_MODE);
      await writeContent(handle, metered.chunks());
    } finally {
      await handle.close();
    }
    await place(folders.objects, written, target);
    return metered.result();
  } catch (error) {
    await rm(written, { force: true });
    throw error;
  }
}

/**
 * Writes content to a file, and resolves when it is on the disk. What arrives while a write is under way is written with the next
 * one: content of a connection comes in pieces of 16 KiB.
 */
async function writeContent(file: FileHandle, chunks: AsyncIterable<Buffer>): Promise<void> {
  const sync = syncEarly(file);
  const write = (bytes: Buffer, done: (error?: Error) => void): void => {
    const written = (): void => {
      sync.note(bytes.length);
      done();
    };
    file.writeFile(bytes).then(written, done);
  };
  // A stream of the file's own would have to close it.
  const sink = new Writable({
    highWaterMark: WRITE_BYTES,
    write: (chunk: Buffer, _encoding, done) => write(chunk, done),
    writev: (chunks, done) => write(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)), done),
  });
  await pipeline(chunks, sink);
  await sync.settle();
  await file.datasync();
}

/** Renames a finished file to its place. Copies it when it is on another filesystem, or has a second name by which it could still be changed. */
async function takeOver(
  folders: Folders,
  move: { target: string; path: string; file: FinishedFile },
): Promise<PutResult> {
  const { handle, info } = move.file;
  if (info.nlink === 1) {
    const uid = process.getuid?.();
    // A sandbox that runs as another user wrote it; it must not own an object.
    if (uid === 0 && info.uid !== uid) await handle.chown(uid, process.getgid?.() ?? 0);
    await handle.chmod(OBJECT_MODE);
    // Nobody changes it any more, so that the disk writes it while it is read.
    const [result] = await Promise.all([hashWhole(handle), handle.datasync()]);
    try {
      await place(folders.objects, move.path, move.target);
      return result;
    } catch (error) {
      if (codeOf(error) !== "EXDEV") throw error;
    }
  }
  const copied = await receive(folders, move.target, meter(readWhole(handle)));
  await unlink(move.path);
  return copied;
}

function readWhole(handle: FinishedFile["handle"]): Readable {
  return handle.createReadStream({ autoClose: false, start: 0, highWaterMark: READ_BYTES });
}

/** Reads a file for its checksum, into one buffer. A new one for each piece would leave as much garbage as the file has bytes. */
async function hashWhole(handle: FinishedFile["handle"]): Promise<PutResult> {
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  for (let bytes = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, 0, READ_BYTES, bytes);
    if (bytesRead === 0) return { bytes, sha256: hash.digest("hex") };
    hash.update(buffer.subarray(0, bytesRead));
    bytes += bytesRead;
  }
}

/** Gives an object a second name, or copies it where the filesystem has no such names. Objects are replaced and never changed. */
async function duplicate(folders: Folders, source: string, target: string): Promise<void> {
  const written = join(folders.incoming, randomUUID());
  try {
    await link(source, written).catch(async (error: unknown) => {
      if (!["EPERM", "EMLINK", "ENOTSUP", "EXDEV"].includes(codeOf(error) ?? "")) throw error;
      await copyFile(source, written);
    });
    await place(folders.objects, written, target);
  } finally {
    // Renaming one name of a file over another name of it does nothing, and leaves both.
    await rm(written, { force: true });
  }
}

/** Gives a written file its name, and resolves when the name is on the disk too. */
async function place(root: string, written: string, target: string): Promise<void> {
  const made: string[] = [];
  for (let attempt = 1; ; attempt += 1) {
    try {
      await makeFolder(root, dirname(target), made);
      await rename(written, target);
      break;
    } catch (error) {
      // A delete of the last object in the folder removes the folder too, perhaps just now.
      if (codeOf(error) !== "ENOENT" || attempt === PLACE_ATTEMPTS_MAX) throw error;
    }
  }
  // The deepest first: on a journaling filesystem that already persists the others.
  for (const folder of [dirname(target), ...made.reverse().map(dirname)])
    await syncFolder(folder).catch(absentAs(() => undefined)); // a folder that was deleted again meanwhile
}

async function makeFolder(root: string, folder: string, made: string[]): Promise<void> {
  try {
    await mkdir(folder, FOLDER_MODE);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    if (codeOf(error) !== "ENOENT" || folder === root) throw error;
    await makeFolder(root, dirname(folder), made);
    return makeFolder(root, folder, made);
  }
  await chmod(folder, FOLDER_MODE);
  made.push(folder);
}

/** Removes a folder and those above it as long as they are empty, so that a million deleted executions leave no folders. */
async function removeEmptied(root: string, folder: string): Promise<void> {
  for (let current = folder; current !== root; current = dirname(current)) {
    try {
      await rmdir(current);
    } catch (error) {
      if (["ENOTEMPTY", "EEXIST", "EBUSY"].includes(codeOf(error) ?? "")) return;
      absentAs(() => undefined)(error);
    }
  }
}

async function* filesUnder(folder: string): AsyncGenerator<string> {
  const entries = await opendir(folder).catch(absentAs(() => []));
  for await (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesUnder(path);
    else if (entry.isFile()) yield path;
  }
}

async function removeAbandoned(incoming: string): Promise<number> {
  let removed = 0;
  for (const name of await readdir(incoming)) {
    const path = join(incoming, name);
    const info = await lstat(path).catch(absentAs(() => undefined));
    if (info === undefined || Date.now() - info.mtimeMs <= ABANDONED_MS) continue;
    await rm(path, { recursive: true, force: true });
    removed += 1;
  }
  return removed;
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** For `catch`: nothing at that path, or something that is no object, is answered by `otherwise`; any other failure is thrown on. */
function absentAs<T>(otherwise: () => T): (error: unknown) => T {
  return (error) => {
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(codeOf(error) ?? "")) return otherwise();
    throw error;
  };
}

function noSuchObject(key: string): never {
  throw new NoSuchObjectError(`There is no object ${key}.`);
}

function explained(error: unknown, dir: string): unknown {
  if (!["ENOSPC", "EDQUOT"].includes(codeOf(error) ?? "")) return error;
  return new StorageFullError(
    `There is no room left for files under ${dir}. Free some space there, or give the service a larger disk.`,
    {
      cause: error,
    },
  );
}
