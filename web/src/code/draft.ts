import type { z } from "zod";
import type { ShownFile } from "../../../domain/api/commits.ts";
import { countBytes } from "../../../domain/manifest/file-names.ts";

export type DraftFile = z.infer<typeof ShownFile>;

/** A step of the author, as the service takes it. */
export type DraftChange =
  | { readonly path: string; readonly text: string }
  | { readonly path: string; readonly base64: string }
  | { readonly path: string; readonly delete: true }
  | { readonly path: string; readonly renameTo: string };

export type Files = ReadonlyMap<string, DraftFile>;

export function toFiles(files: readonly DraftFile[]): Files {
  return new Map(files.map((file) => [file.path, file]));
}

/** The files after a change. What it needs and does not find is left alone: the service has the last word. */
export function applyChange(files: Files, change: DraftChange): Files {
  const after = new Map(files);
  const executable = files.get(change.path)?.executable ?? false;
  if ("text" in change) {
    after.set(change.path, { path: change.path, bytes: countBytes(change.text), text: change.text, executable });
  } else if ("base64" in change) {
    after.set(change.path, { path: change.path, bytes: countDecoded(change.base64), text: null, executable });
  } else if ("delete" in change) {
    after.delete(change.path);
  } else {
    const file = files.get(change.path);
    if (file === undefined) return files;
    after.delete(change.path);
    after.set(change.renameTo, { ...file, path: change.renameTo });
  }
  return after;
}

function countDecoded(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return (base64.length / 4) * 3 - padding;
}

/** Changes that wait, with one more behind them. Of texts of a file that follow each other only the last is kept. */
export function addChange(waiting: readonly DraftChange[], change: DraftChange): DraftChange[] {
  if (!("text" in change)) return [...waiting, change];
  const at = waiting.findLastIndex((other) => other.path === change.path || pathAfter(other) === change.path);
  const before = waiting[at];
  if (before === undefined || !("text" in before)) return [...waiting, change];
  return [...waiting.slice(0, at), ...waiting.slice(at + 1), change];
}

function pathAfter(change: DraftChange): string {
  return "renameTo" in change ? change.renameTo : change.path;
}

/** As many of the first changes as fit into one request, at least one. */
export function takeBatch(waiting: readonly DraftChange[], charactersMax: number): DraftChange[] {
  let characters = 0;
  const batch: DraftChange[] = [];
  for (const change of waiting) {
    characters += "text" in change ? change.text.length : "base64" in change ? change.base64.length : 0;
    if (batch.length > 0 && characters > charactersMax) break;
    batch.push(change);
  }
  return batch;
}

/** The paths that changes speak of. */
export function listTouched(changes: readonly DraftChange[]): string[] {
  return [...new Set(changes.flatMap((change) => [change.path, pathAfter(change)]))].toSorted();
}

/**
 * Returns the changes that make `theirs` equal to `mine` in the files that `changes` name, and in no other. This puts an
 * author's unsaved work on top of what another tab has saved. Bytes of uploads come from the changes themselves.
 */
export function restateChanges(changes: readonly DraftChange[], mine: Files, theirs: Files): DraftChange[] {
  const uploads = new Map<string, DraftChange>();
  for (const change of changes) {
    const upload = uploads.get(change.path);
    if ("base64" in change) uploads.set(change.path, change);
    else uploads.delete(change.path);
    if ("renameTo" in change && upload !== undefined && "base64" in upload)
      uploads.set(change.renameTo, { ...upload, path: change.renameTo });
  }
  const touched = listTouched(changes);
  const renames = touched.flatMap((path) => {
    const isMoved = mine.get(path)?.text === null && !uploads.has(path);
    return isMoved ? restateRename(changes, path, theirs) : [];
  });
  const moved = new Set(renames.map(({ path }) => path));
  const others = touched.flatMap((path): DraftChange[] => {
    const file = mine.get(path);
    const upload = uploads.get(path);
    if (file === undefined) return theirs.has(path) && !moved.has(path) ? [{ path, delete: true }] : [];
    if (upload !== undefined) return [upload];
    return file.text === null || theirs.get(path)?.text === file.text ? [] : [{ path, text: file.text }];
  });
  return [...renames, ...others];
}

/** A file that is not text was only renamed: its bytes are with the service, under the name it had. */
function restateRename(changes: readonly DraftChange[], path: string, theirs: Files): DraftChange[] {
  let name = path;
  for (const change of changes.toReversed()) if (pathAfter(change) === name) name = change.path;
  return name !== path && theirs.has(name) ? [{ path: name, renameTo: path }] : [];
}
