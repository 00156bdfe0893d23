import { createHash } from "node:crypto";
import { setImmediate as letOthers } from "node:timers/promises";
import type { FileProblem } from "../../domain/errors.ts";
import type { AccountId } from "../../domain/ids.ts";
import type { Python } from "../../environments/lock.ts";
import { toText } from "../../sandbox/control.ts";
import { minorVersionOf } from "../../sandbox/interpreter.ts";
import { type Threads, ThreadsBusyError } from "../../system/threads/threads.ts";
import { problemOf } from "./folder.ts";
import type { CommitFile } from "./git-objects.ts";
import { FIND_NAMES, type Finding } from "./ruff.ts";

/** Of one file. What people write by hand is smaller; the time of a check grows with the square of what a hostile one imports. */
const FILE_BYTES_MAX = 128 * 1024;
/** Of what one task reads: a task that takes too long costs these files their warnings, and no others. */
const BATCH_BYTES_MAX = 128 * 1024;
const BATCH_FILES_MAX = 64;
const LIMITS = {
  /** Of one task. 128 KiB of honest code take 50 ms of a processor, and half a second more on a new thread. */
  taskMs: 10_000,
  /** Of all tasks of one request; the one that is under way then is the last. */
  requestMs: 5_000,
};
/** By their content: a draft that is saved once a second has one new file. */
const KNOWN_FILES_MAX = 20_000;
/** Of what is hashed in one turn of the event loop: a few milliseconds. */
const TURN_BYTES_MAX = 1_000_000;
const WARNINGS_MAX = 100;
const MESSAGE_CHARACTERS_MAX = 500;

interface Source {
  readonly path: string;
  readonly content: Buffer;
  readonly key: string;
}

type Known = Map<string, readonly Finding[] | null>;

/** Returns what is to be known about the names in the Python files of a commit. Refuses nothing, and throws nothing of theirs. */
export type FindPythonWarnings = (code: {
  readonly files: readonly CommitFile[];
  readonly python: Python;
  readonly owner: AccountId;
}) => Promise<readonly FileProblem[]>;

/**
 * Finds unknown names, unused imports and the like in every `.py` file, with Ruff, on a thread. A file that Ruff cannot read to its end
 * has one warning that says so. No configuration of Ruff is read, as the folder is hostile.
 */
export function createPythonWarnings(threads: Threads, { taskMs, requestMs } = LIMITS): FindPythonWarnings {
  const known: Known = new Map();

  return async ({ files, python, owner }) => {
    const version = minorVersionOf(python);
    const minor = Number(version.split(".")[1]);
    const sources = await listSources(files, version);
    const endsAt = performance.now() + requestMs;
    for (const batch of toBatches(sources.filter(({ key }) => !known.has(key)))) {
      if (performance.now() > endsAt) break;
      const found = await findOf(threads, { batch, minor, owner, taskMs });
      if (found === undefined) break;
      for (const [index, { key }] of batch.entries()) known.set(key, found[index] ?? null);
    }
    const warnings = sources.flatMap((source) => toWarnings(source, known));
    for (const key of known.keys()) if (known.size > KNOWN_FILES_MAX) known.delete(key);
    return shorten(warnings);
  };
}

/** Gives others a turn of the event loop between the megabytes: a folder may have twenty. */
async function listSources(files: readonly CommitFile[], version: string): Promise<Source[]> {
  const sources: Source[] = [];
  let bytes = 0;
  for (const { path, content } of files) {
    if (!path.endsWith(".py")) continue;
    if (bytes > TURN_BYTES_MAX) await letOthers();
    bytes = bytes > TURN_BYTES_MAX ? content.length : bytes + content.length;
    // Of a file that is not read, nothing has to be known again.
    const key = content.length > FILE_BYTES_MAX ? "" : toKey(content, `${version} ${path.endsWith("__init__.py")}`);
    sources.push({ path, content, key });
  }
  return sources;
}

function toKey(content: Buffer, kind: string): string {
  return createHash("sha256").update(`${kind}\n`).update(content).digest("base64");
}

/** Those that are small enough to be read, a task's worth at a time. */
function toBatches(sources: readonly Source[]): Source[][] {
  const batches: Source[][] = [];
  let bytes = 0;
  for (const source of sources) {
    const { length } = source.content;
    if (length > FILE_BYTES_MAX) continue;
    const last = batches.at(-1);
    const fits = last !== undefined && last.length < BATCH_FILES_MAX && bytes + length <= BATCH_BYTES_MAX;
    if (fits) last.push(source);
    else batches.push([source]);
    bytes = fits ? bytes + length : length;
  }
  return batches;
}

/** What is found in each file of a batch; nulls where that takes too much. Undefined: there is no thread for it now. */
async function findOf(
  threads: Threads,
  { batch, minor, owner, taskMs }: { batch: readonly Source[]; minor: number; owner: AccountId; taskMs: number },
): Promise<(readonly Finding[] | null)[] | undefined> {
  try {
    const files = batch.map(({ path, content }) => ({ path, content }));
    return await threads.run(FIND_NAMES, { files, minor }, { owner, timeoutMs: taskMs });
  } catch (error) {
    // Out of time or memory, or with a thread that died of it: these files have done that, and no commit fails by a warning.
    return error instanceof ThreadsBusyError ? undefined : batch.map(() => null);
  }
}

function toWarnings({ path, content, key }: Source, known: Known): FileProblem[] {
  const findings = known.get(key);
  const isTooLarge = content.length > FILE_BYTES_MAX;
  if (findings === undefined && !isTooLarge) return [problemOf(path, unread("the service has too much to do"))];
  if (findings === undefined || findings === null)
    return [
      problemOf(path, unread(isTooLarge ? "it has more than 128 KiB" : "it takes too long, or nests too deeply")),
    ];
  return findings.map(({ line, column, message, fix }) => {
    return { file: path, line, column, message: toText(message, MESSAGE_CHARACTERS_MAX), ...(fix && { fix }) };
  });
}

function unread(reason: string): string {
  return `This file was not searched for unknown names and unused imports: ${reason}.`;
}

function shorten(warnings: readonly FileProblem[]): readonly FileProblem[] {
  const next = warnings[WARNINGS_MAX];
  if (next === undefined) return warnings;
  const more = `There are ${warnings.length - WARNINGS_MAX} warnings more from here on.`;
  const { file, line, column } = next;
  return [...warnings.slice(0, WARNINGS_MAX), { file, line, column, message: more }];
}
