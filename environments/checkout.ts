import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { chmod, mkdir, open, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { CommitId, WorkflowId } from "../domain/ids.ts";
import { processExists } from "../system/process-exists.ts";
import { type RemoveTree, removeTree } from "../system/trees/remove-tree.ts";
import {
  CHECKED_OUT,
  type PruneOptions,
  pruneFolders,
  publishFolder,
  READ_ONLY,
  sealFolder,
  touchFolder,
} from "./sealed-folder.ts";

/** `NAME_MAX` of Linux file systems: a longer name cannot be made. */
const SEGMENT_BYTES_MAX = 255;
/** A quarter of Linux' `PATH_MAX`, so that the data folder's own path fits in front. */
const PATH_BYTES_MAX = 1024;
/** The limits of a commit, with room: they were checked when it was published, and disks must not depend on that. */
const FILES_MAX = 2_000;
const BYTES_MAX = 64 * 1024 * 1024;
/**
 * Writing 20 MB never takes this long. A process that died has left a folder this old, though another one may have its
 * id.
 */
const LEFTOVER_AFTER_MS = 10 * 60_000;
const NAME = /^[0-9a-f]{64}$/;

export interface CommittedFile {
  readonly path: string;
  readonly content: Buffer;
  readonly executable: boolean;
}

export interface CheckoutsSettings {
  /** Belongs to the service; the user of the sandboxes must be able to pass through it, and through its parents. */
  readonly dir: string;
  /** Whom sandboxes run as. The files are never theirs: they can read them, as everybody on this machine can. */
  readonly runAs: { readonly uid: number; readonly gid: number } | undefined;
  /** Sandboxes see the files through read-only mounts. Without sandboxes only the modes of files keep programs of our own user from changing them. */
  readonly isolation: "bubblewrap" | "none";
  readonly readFiles: (workflowId: WorkflowId, commitId: CommitId) => AsyncIterable<CommittedFile>;
  /** How half-written and old folders are removed; `removeTree` unless given. */
  readonly removeTree?: RemoveTree | undefined;
}

export interface CheckoutId {
  readonly workflowId: WorkflowId;
  readonly commitId: CommitId;
}

export interface Checkouts {
  /** The folder with the files of a commit: complete, ours, written once. Safe to call at any rate. */
  ensure(workflowId: WorkflowId, commitId: CommitId): Promise<string>;
  /** Removes folders that nobody used for long, or least recently when all are too large; answers how many. */
  prune(options: Omit<PruneOptions, "inUse"> & { readonly inUse: readonly CheckoutId[] }): Promise<number>;
}

/** Commits as files on this machine; any number of processes may share the folder. */
export function createCheckouts(settings: CheckoutsSettings): Checkouts {
  const { dir, runAs, isolation, readFiles, removeTree: remove = removeTree } = settings;
  const isWritable = isolation === "none" && (runAs === undefined || runAs.uid === process.geteuid?.());
  const modes = isWritable ? READ_ONLY : CHECKED_OUT;
  const writingDir = join(dir, ".writing");
  const bootId = readBootId();
  const running = new Map<string, Promise<string>>();
  let prepared: Promise<void> | undefined;

  function prepare(): Promise<void> {
    prepared ??= prepareFolders(dir, writingDir, remove).catch((error: unknown) => {
      prepared = undefined; // the next call tries again
      throw error;
    });
    return prepared;
  }

  /**
   * A folder's name is a hash of both ids and of the machine's start. Of both ids, because git's hashes can be made to
   * collide and one customer's commit must never stand in for another's. Of the start, because a power cut leaves files
   * empty that were not flushed. Flushing costs a first execution more than writing again after a restart. Of the
   * modes, because a folder may be there that has others. A hash, because a sandbox can see the host's name of what it
   * has mounted.
   */
  const nameOf = ({ workflowId, commitId }: CheckoutId): string =>
    createHash("sha256").update(`${bootId}\n${modes.file}\n${workflowId}\n${commitId}`).digest("hex");

  async function write(name: string, id: CheckoutId): Promise<string> {
    await prepare();
    const draft = join(writingDir, `${name}.${process.pid}.${randomBytes(6).toString("hex")}`);
    try {
      await mkdir(draft);
      await writeFiles(draft, id, readFiles(id.workflowId, id.commitId));
      sealFolder(draft, new Set(), modes);
      await publishFolder(draft, join(dir, name), { remove, mode: modes.folder });
    } finally {
      await remove(draft);
    }
    return join(dir, name);
  }

  return {
    async ensure(workflowId, commitId) {
      const name = nameOf({ workflowId, commitId });
      const path = join(dir, name);
      if (await touchFolder(path)) return path;
      const known = running.get(name);
      if (known !== undefined) return known;
      const writing = write(name, { workflowId, commitId }).finally(() => running.delete(name));
      running.set(name, writing);
      return writing;
    },

    async prune(options) {
      await prepare();
      const inUse = new Set([...options.inUse.map(nameOf), ...running.keys()]);
      return (await pruneFolders(dir, writingDir, NAME, { remove, ...options, inUse })).length;
    },
  };
}

/** Different after every start of the machine; empty on systems that do not say. */
function readBootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return "";
  }
}

/** Makes the folders, and removes what processes left behind that died while they wrote. */
async function prepareFolders(dir: string, writingDir: string, remove: RemoveTree): Promise<void> {
  for (const path of [dir, writingDir]) {
    await mkdir(path, { recursive: true });
    await chmod(path, 0o755); // with any umask
  }
  for (const name of await readdir(writingDir)) {
    const path = join(writingDir, name);
    const stats = await stat(path).catch(() => undefined);
    if (stats !== undefined && (!hasWriter(name) || Date.now() - stats.mtimeMs > LEFTOVER_AFTER_MS)) await remove(path);
  }
}

/** Returns whether the process that began a draft of this name may still be there. */
function hasWriter(draft: string): boolean {
  const pid = Number(draft.split(".")[1]);
  return pid > 0 && processExists(pid);
}

/** Writes every file. No links are ever made and existing files never opened, so no path leads out. */
async function writeFiles(folder: string, id: CheckoutId, files: AsyncIterable<CommittedFile>): Promise<void> {
  let count = 0;
  let bytes = 0;
  for await (const { path, content, executable } of files) {
    count += 1;
    bytes += content.length;
    if (!isSafePath(path)) throw damaged(id, `it has a file with the path ${JSON.stringify(path.slice(0, 200))}`);
    if (count > FILES_MAX || bytes > BYTES_MAX) throw damaged(id, "it is larger than a commit can be");
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true });
    const file = await open(target, "wx", executable ? 0o755 : 0o644);
    try {
      await file.writeFile(content);
      await file.chmod(executable ? 0o755 : 0o644);
    } finally {
      await file.close();
    }
  }
}

/** Whether a path stays inside of a folder, however it is read: relative, no empty, `.` or `..` parts, no control characters. */
function isSafePath(path: string): boolean {
  if (path.includes("\0") || path.includes("\\") || Buffer.byteLength(path) > PATH_BYTES_MAX) return false;
  return path
    .split("/")
    .every((part) => part !== "" && part !== "." && part !== ".." && Buffer.byteLength(part) <= SEGMENT_BYTES_MAX);
}

function damaged(id: CheckoutId, what: string): Error {
  return new Error(`Commit ${id.commitId} of ${id.workflowId} cannot be written to disk: ${what}.`);
}
