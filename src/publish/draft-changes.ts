import type { z } from "zod";
import type { FileChange } from "../../domain/api/drafts.ts";
import type { FileProblem } from "../../domain/errors.ts";
import { findPathProblem } from "../../domain/file-path.ts";
import { FOLDER_BYTES_MAX, findFolderProblems, problemOf } from "./folder.ts";
import { type CommitFile, createGitObject, toBuffer } from "./git-objects.ts";

/** A file of a draft, and the blob that git would make of it. */
export interface DraftFile extends CommitFile {
  readonly blobId: string;
}

const PROBLEMS_MAX = 100;

/** A change whose content is there as bytes, with the blob that git would make of it. */
export type ReadChange =
  | {
      readonly path: string;
      readonly content: Uint8Array;
      readonly blobId: string;
      readonly executable?: boolean | undefined;
    }
  | { readonly path: string; readonly delete: true }
  | { readonly path: string; readonly renameTo: string };

/** Decodes the content of a change. */
export function readChange(change: z.infer<typeof FileChange>): ReadChange {
  const { path, executable, text, base64 = "", renameTo } = change;
  if (change.delete === true) return { path, delete: true };
  if (renameTo !== undefined) return { path, renameTo };
  const content = text === undefined ? Buffer.from(base64, "base64") : Buffer.from(text);
  return { path, content, blobId: createGitObject("blob", content).id, executable };
}

/** A commit's worth of files in base64, as JSON. */
export const CHANGES_BYTES_MAX = Math.ceil(FOLDER_BYTES_MAX * 1.5);

export type Changed =
  | { readonly ok: true; readonly files: readonly DraftFile[] }
  | { readonly ok: false; readonly problems: readonly FileProblem[] };

/** A file as a draft has it. */
export function toDraftFile({ path, content, executable }: CommitFile): DraftFile {
  return { path, content, executable, blobId: createGitObject("blob", content).id };
}

/**
 * The files after some changes, one after the other, sorted by path; or everything that is wrong with them. Deleting what is not
 * there is nothing wrong. A folder is what its files' paths say.
 */
export function applyChanges(files: readonly DraftFile[], changes: readonly ReadChange[]): Changed {
  const current = new Map(files.map((file) => [file.path, file]));
  const problems: FileProblem[] = [];
  for (const change of changes) {
    const problem = applyChange(current, change);
    if (problem !== undefined) problems.push(problem);
  }
  const changed = sortFiles([...current.values()]);
  problems.push(...findFolderProblems(changed));
  return problems.length === 0
    ? { ok: true, files: changed }
    : { ok: false, problems: problems.slice(0, PROBLEMS_MAX) };
}

/** By path, as git sorts names: by their bytes. */
export function sortFiles<File extends { readonly path: string }>(files: readonly File[]): File[] {
  return files.toSorted((one, other) => Buffer.compare(Buffer.from(one.path), Buffer.from(other.path)));
}

function applyChange(current: Map<string, DraftFile>, change: ReadChange): FileProblem | undefined {
  const { path } = change;
  if ("delete" in change) {
    for (const known of listPaths(current, path)) current.delete(known);
    return undefined;
  }
  if ("renameTo" in change) return rename(current, path, change.renameTo);
  const { blobId } = change;
  const executable = change.executable ?? current.get(path)?.executable ?? false;
  current.set(path, { path, content: toBuffer(change.content), executable, blobId });
  return undefined;
}

function rename(current: Map<string, DraftFile>, from: string, to: string): FileProblem | undefined {
  const nameProblem = findPathProblem(to);
  if (nameProblem !== undefined) return problemOf(to, nameProblem);
  const paths = listPaths(current, from);
  if (paths.length === 0) return problemOf(from, "There is no such file or folder to rename.");
  const moved = paths.map((path) => current.get(path) as DraftFile);
  for (const path of paths) current.delete(path);
  for (const file of moved) {
    const path = `${to}${file.path.slice(from.length)}`;
    if (current.has(path)) return problemOf(path, `There is such a file already: ${from} cannot get this name.`);
    current.set(path, { ...file, path });
  }
  return undefined;
}

/** The file of this path, and those in the folder of this path. */
function listPaths(current: ReadonlyMap<string, DraftFile>, path: string): string[] {
  return [...current.keys()].filter((known) => known === path || known.startsWith(`${path}/`));
}

/**
 * Takes over what changed from `base` to `head` in files that the draft has as in `base`. In `conflicts` are the paths that both have
 * changed, each in its own way: of those the draft's own stays.
 */
export function mergeFiles(input: {
  readonly draft: readonly DraftFile[];
  readonly base: readonly DraftFile[];
  readonly head: readonly DraftFile[];
}): { readonly files: readonly DraftFile[]; readonly conflicts: readonly string[] } {
  const [draft, base, head] = [input.draft, input.base, input.head].map(
    (files) => new Map(files.map((file) => [file.path, file])),
  ) as [Map<string, DraftFile>, Map<string, DraftFile>, Map<string, DraftFile>];
  const files: DraftFile[] = [];
  const conflicts: string[] = [];
  for (const path of new Set([...draft.keys(), ...base.keys(), ...head.keys()])) {
    const [own, was, theirs] = [draft.get(path), base.get(path), head.get(path)];
    const untouched = isSame(own, was);
    if (!untouched && !isSame(theirs, was) && !isSame(own, theirs)) conflicts.push(path);
    const chosen = untouched ? theirs : own;
    if (chosen !== undefined) files.push(chosen);
  }
  return { files: sortFiles(files), conflicts: conflicts.sort() };
}

/** Whether two files are the same to git, or both not there. */
export function isSame(
  one: Pick<DraftFile, "blobId" | "executable"> | undefined,
  other: Pick<DraftFile, "blobId" | "executable"> | undefined,
): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.blobId === other.blobId && one.executable === other.executable;
}
