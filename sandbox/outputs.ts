import { chmodSync, type Dir, lstatSync, opendirSync, type Stats, statfsSync } from "node:fs";
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as pause } from "node:timers/promises";
import type { PythonOutcome } from "../domain/execution.ts";
import { openFolder } from "../system/trees/open-folder.ts";
import type { CollectedOutput } from "./request.ts";

/** Folders below `outputs/`, one in the other, and bytes of a path below it: a host's own path must stay within PATH_MAX (4,096). */
export const DEPTH_MAX = 16;
export const PATH_BYTES_MAX = 1024;
const NOTES_MAX = 20;
const SLASH = Buffer.from("/");
/** Errors of a path that a program has just changed, or does not let us read. */
const VANISHED = ["ENOENT", "EACCES", "ENOTDIR", "ELOOP"];
/** Between two pauses for the event loop: about a millisecond. */
const ENTRIES_AT_ONCE = 64;
/** With less than this, nobody's files can be written. */
const FREE_BYTES_MIN = 1024 * 1024;
/** A program that left more than this has filled the disk itself. */
const OWN_BYTES_MAX = 64 * 1024 * 1024;

export interface OutputLimits {
  readonly outputBytesMax: number;
  readonly outputFilesMax: number;
}

export interface CollectedOutputs {
  readonly outputs: readonly CollectedOutput[];
  /** For the log: what was left out, and why. */
  readonly notes: readonly string[];
  /** Set when a limit was met: what came after it is left out. */
  readonly exceeded: OutputExcess | undefined;
}

/** Too much in `outputs/`: bytes, files, folders in folders, or too long a path. */
export type OutputExcess = "output_bytes" | "output_files" | "output_depth" | "output_path";

interface FoundFile {
  readonly fileName: string;
  readonly path: string;
  readonly bytes: number;
}

/**
 * The files of the outputs folder, sorted by name. Only for a folder nobody writes to any more: every process of the
 * execution must be dead. Takes plain files with a single link, and never follows or opens anything.
 * `named` are the names the runner gave to some of the files; it is as untrusted as the files are.
 */
export async function collectOutputs(
  folder: string,
  limits: OutputLimits,
  named: ReadonlyMap<string, string>,
): Promise<CollectedOutputs> {
  const skipped: string[] = [];
  const found: FoundFile[] = [];
  let bytes = 0;
  let exceeded: CollectedOutputs["exceeded"];

  let looked = 0;
  // Without waiting for each call, as most folders hold a file or two; with pauses, as some hold very many.
  const visit = async (path: string, prefix: string, depth: number): Promise<void> => {
    chmodSync(path, 0o700);
    const entries = opendirSync(path, { encoding: "buffer" as BufferEncoding });
    try {
      for (let entry = entries.readSync(); entry !== null && exceeded === undefined; entry = entries.readSync()) {
        if (++looked % ENTRIES_AT_ONCE === 0) await pause();
        const name = decodeName(entry.name as unknown as Buffer);
        if (name === undefined) skipped.push("a file whose name is not UTF-8");
        else if (Buffer.byteLength(prefix + name) > PATH_BYTES_MAX)
          exceeded = "output_path"; // Nothing touches it: the host's path may be too long.
        else await take(join(path, name), prefix + name, depth);
      }
    } finally {
      entries.closeSync();
    }
  };
  const take = async (path: string, fileName: string, depth: number): Promise<void> => {
    const stats = lstatSync(path);
    if (stats.isDirectory()) {
      if (depth >= DEPTH_MAX) exceeded = "output_depth";
      else await visit(path, `${fileName}/`, depth + 1);
      return;
    }
    const reason = refuse(stats);
    if (reason !== undefined) return void skipped.push(`${fileName}: ${reason}`);
    if (found.length >= limits.outputFilesMax) exceeded = "output_files";
    else if (bytes + stats.size > limits.outputBytesMax) exceeded = "output_bytes";
    if (exceeded !== undefined) return;
    // The host must be able to read it in any mode that the program left, and a set-uid bit has no use.
    chmodSync(path, 0o600);
    bytes += stats.size;
    found.push({ fileName, path, bytes: stats.size });
  };

  await visit(folder, "", 0);
  found.sort((a, b) => (a.fileName < b.fileName ? -1 : 1));
  return { outputs: nameOutputs(found, named), notes: toNotes(skipped), exceeded };
}

function refuse(stats: Stats): string | undefined {
  if (stats.isSymbolicLink()) return "a symbolic link";
  if (!stats.isFile()) return "not a plain file";
  if (stats.nlink !== 1) return "a hard link";
  return undefined;
}

/** Each file's output name: given by the runner, else the stem; the full file name where two would be equal. */
function nameOutputs(found: readonly FoundFile[], named: ReadonlyMap<string, string>): CollectedOutput[] {
  const nameOf = new Map<string, string>();
  for (const [name, fileName] of named) if (!nameOf.has(fileName)) nameOf.set(fileName, name);
  const wanted = (file: FoundFile) => nameOf.get(file.fileName) ?? toStem(file.fileName);
  const count = new Map<string, number>();
  for (const file of found) count.set(wanted(file), (count.get(wanted(file)) ?? 0) + 1);

  const taken = new Set(found.map((file) => nameOf.get(file.fileName)).filter((name) => name !== undefined));
  return found.map((file) => {
    const given = nameOf.get(file.fileName);
    if (given !== undefined) return { ...file, name: given };
    let name = count.get(wanted(file)) === 1 ? wanted(file) : file.fileName;
    for (let repeat = 2; taken.has(name); repeat++) name = `${file.fileName} (${repeat})`;
    taken.add(name);
    return { ...file, name };
  });
}

/** A file of a subfolder keeps its whole path as its name. */
export function toStem(fileName: string): string {
  if (fileName.includes("/")) return fileName;
  const dot = fileName.lastIndexOf(".");
  const stem = fileName.slice(0, Math.max(dot, 0));
  return /^\.*$/.test(stem) ? fileName : stem;
}

function decodeName(bytes: Buffer): string | undefined {
  const name = bytes.toString("utf8");
  return Buffer.from(name).equals(bytes) ? name : undefined;
}

function toNotes(skipped: readonly string[]): string[] {
  const notes = skipped.slice(0, NOTES_MAX).map((text) => `Left out of the outputs: ${text}.`);
  const more = skipped.length - notes.length;
  return more > 0 ? [...notes, `Left out of the outputs: ${more} more.`] : notes;
}

/** Returns whether the disk of `folder` is full, and not by what the program has left there itself. */
export function lacksDisk(folder: string, outputs: readonly LeftFile[]): boolean {
  return isFull(folder) && sumBytes(outputs) < OWN_BYTES_MAX;
}

/** For the log. Which file it is, nobody can tell. */
export const CUT_NOTE =
  "No output is kept: the program used up what it may write, so the file that it wrote last is cut.";

/**
 * Whether a file that a program left in `folder` is cut. Then the program had used up what it may write: its bytes, the
 * most that one file may have, or the disk. One that succeeded went on without what it could not write.
 */
export function isCut(
  { status, stopped }: Pick<PythonOutcome, "status"> & { readonly stopped: string | undefined },
  { outputs, exceeded }: CollectedOutputs,
  { folder, fileBytesMax }: { folder: string; fileBytesMax: number },
): boolean {
  if (status === "success") return false;
  if (stopped === "output_bytes" || exceeded === "output_bytes") return true;
  if (outputs.some(({ bytes }) => bytes >= fileBytesMax)) return true;
  return isFull(folder) && sumBytes(outputs) >= OWN_BYTES_MAX;
}

type LeftFile = Pick<CollectedOutput, "bytes">;

function isFull(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < FREE_BYTES_MIN;
}

function sumBytes(outputs: readonly LeftFile[]): number {
  return outputs.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Where measuring stops. */
export interface MeasureBounds {
  /** Files and folders. */
  readonly entriesMax: number;
  readonly depthMax: number;
  /** Of a path below the folder. */
  readonly pathBytesMax: number;
}

export interface MeasuredOutputs {
  /** Allocated, those of folders included. */
  readonly bytes: number;
  readonly files: number;
  /** Set where it holds more entries than are worth counting, folders too deep, or paths too long. */
  readonly excess: OutputExcess | undefined;
}

/**
 * Measures a folder that a program is writing to. What vanishes meanwhile counts as gone. Stops at the first excess, so
 * that nothing is left uncounted: a run with an excess is to be ended.
 */
export async function measureOutputs(folder: string, limits: OutputLimits): Promise<MeasuredOutputs> {
  const { entriesMax } = toMeasureBounds(limits);
  const own = await lstat(folder).catch(ignoreVanished);
  let bytes = own === undefined ? 0 : own.blocks * 512;
  let files = 0;
  let entries = 0;
  let excess: OutputExcess | undefined;
  const visit = async (path: Buffer, prefixBytes: number, depth: number): Promise<void> => {
    const listed = await openListing(path).catch(ignoreVanished);
    if (listed === undefined) return;
    for await (const entry of listed) {
      const name = entry.name as unknown as Buffer;
      if (++entries > entriesMax) excess = "output_files";
      else if (prefixBytes + name.length > PATH_BYTES_MAX) excess = "output_path";
      if (excess !== undefined) return;
      const below = Buffer.concat([path, SLASH, name]);
      const stats = await lstat(below).catch(ignoreVanished);
      if (stats === undefined) continue;
      bytes += Math.max(stats.isDirectory() ? 0 : stats.size, stats.blocks * 512);
      if (!stats.isDirectory()) files += 1;
      else if (depth >= DEPTH_MAX) excess = "output_depth";
      else await visit(below, prefixBytes + name.length + 1, depth + 1);
      if (excess !== undefined) return;
    }
  };
  await visit(Buffer.from(folder), 0, 0);
  return { bytes, files, excess };
}

/** Returns how much is looked at when outputs are measured: entries, folders in folders, and bytes of a path. */
export function toMeasureBounds({ outputFilesMax }: OutputLimits): MeasureBounds {
  return { entriesMax: outputFilesMax * 2 + 100, depthMax: DEPTH_MAX, pathBytesMax: PATH_BYTES_MAX };
}

/** The entries of a folder, also of one that its owner has closed to hide what is in it. */
async function openListing(path: Buffer): Promise<Dir> {
  const options = { encoding: "buffer" as BufferEncoding };
  try {
    return await opendir(path as unknown as string, options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    await (await openFolder(path)).close();
    return opendir(path as unknown as string, options);
  }
}

function ignoreVanished(error: NodeJS.ErrnoException): undefined {
  if (!VANISHED.includes(error.code ?? "")) throw error;
}
