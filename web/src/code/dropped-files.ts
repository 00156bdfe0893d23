import { FOLDER_FILES_MAX } from "../../../domain/api/limits.ts";
import { formatBytes, formatSize } from "../../../domain/manifest/sizes.ts";
import type { DraftChange } from "./draft.ts";

/** A file of the reader's, and where it goes in the workflow. */
export interface DroppedFile {
  readonly path: string;
  readonly file: File;
}

/** What a commit may hold: more is refused before it is read. */
const BYTES_MAX = 20_000_000;
/** Larger texts are kept as they are and not shown. */
const TEXT_BYTES_MAX = 1_000_000;
/** What tools leave behind, and nobody means to publish. */
const LEFT_OUT =
  /(^|\/)(\.git|__pycache__|\.venv|venv|node_modules|\.mypy_cache|\.pytest_cache|\.DS_Store)(\/|$)|\.pyc$/;

/** Everything that was dropped, folders with what is in them. Must be called while the event lasts. */
export async function readDropped(items: DataTransferItemList, folder: string): Promise<DroppedFile[]> {
  // The list is emptied when the event is over, the entries stay.
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const found: DroppedFile[] = [];
  for (const entry of entries) await collect(entry, folder, found);
  return found;
}

/** Files that were chosen in a dialog; of a folder, with their place in it. */
export function readChosen(files: FileList, folder: string): DroppedFile[] {
  return [...files]
    .map((file) => ({ file, path: `${folder}${file.webkitRelativePath || file.name}` }))
    .filter(({ path }) => !LEFT_OUT.test(path));
}

async function collect(entry: FileSystemEntry, folder: string, found: DroppedFile[]): Promise<void> {
  const path = `${folder}${entry.name}`;
  if (LEFT_OUT.test(path) || found.length > FOLDER_FILES_MAX) return;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    found.push({ path, file });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // It gives a hundred at a time, and none at the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const inner of some) await collect(inner, `${path}/`, found);
  }
}

/** Why so many files, or such large ones, cannot be taken; undefined when they can. */
export function findUploadProblem(files: readonly DroppedFile[]): string | undefined {
  if (files.length > FOLDER_FILES_MAX)
    return `There are more than ${FOLDER_FILES_MAX.toLocaleString("en")} files; a workflow has at most so many.`;
  const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
  if (bytes > BYTES_MAX)
    return `These files have ${formatBytes(bytes)}; a workflow has at most ${formatSize(BYTES_MAX)}. Large data belongs in inputs.`;
  return undefined;
}

/** The changes that bring files in: texts as texts, so that they can be edited, everything else as bytes. */
export function toUploads(files: readonly DroppedFile[]): Promise<DraftChange[]> {
  return Promise.all(
    files.map(async ({ path, file }) => {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const text = bytes.length > TEXT_BYTES_MAX ? undefined : decodeText(bytes);
      return text === undefined ? { path, base64: toBase64(bytes) } : { path, text };
    }),
  );
}

/** UTF-8 without NUL, or undefined. A byte order mark stays. */
export function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export function toBase64(bytes: Uint8Array): string {
  const PIECE = 0x8000;
  let binary = "";
  for (let at = 0; at < bytes.length; at += PIECE) binary += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(binary);
}
