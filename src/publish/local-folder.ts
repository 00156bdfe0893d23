import { constants } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { FileProblem } from "../../domain/errors.ts";
import { findPathProblem } from "../../domain/file-path.ts";
import { FILES_MAX, FOLDER_BYTES_MAX, problemOf, tooManyBytes, tooManyFiles } from "./folder.ts";
import type { CommitFile } from "./git-objects.ts";

/** What lies in workflow folders without being part of the workflow. */
const IGNORED = new Set([".git", "__pycache__", ".venv", "venv", "node_modules", ".DS_Store", ".treadle"]);

export type LocalFolder =
  | { readonly ok: true; readonly files: CommitFile[] }
  | { readonly ok: false; readonly problems: FileProblem[] };

/**
 * Reads a folder of this machine for publishing, sorted by path. Leaves out what is never part of a workflow (`.git`,
 * `__pycache__`, `*.pyc`, virtual environments, `node_modules`, `.DS_Store`, `.treadle`). Links and devices are refused
 * by name; reading stops once the folder is too large. Throws when `dir` cannot be read. `isLeftOut` replaces that choice.
 */
export async function readLocalFolder(dir: string, isLeftOut = isNeverPublished): Promise<LocalFolder> {
  if (!(await stat(dir)).isDirectory()) return { ok: false, problems: [problemOf(".", `${dir} is not a folder.`)] };
  const reading: Reading = { files: [], problems: [], bytes: 0, isLeftOut };
  await readInto(reading, dir, "");
  if (reading.problems.length > 0) return { ok: false, problems: reading.problems };
  return { ok: true, files: reading.files };
}

interface Reading {
  readonly files: CommitFile[];
  readonly problems: FileProblem[];
  bytes: number;
  readonly isLeftOut: (name: string) => boolean;
}

async function readInto(reading: Reading, dir: string, prefix: string): Promise<void> {
  const entries = await readdir(join(dir, prefix), { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (reading.isLeftOut(entry.name)) continue;
    const path = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
    if (isFull(reading)) return;
    // Before it is opened: by what is read of a name that is not UTF-8 there is no file.
    const problem = findPathProblem(path);
    if (problem !== undefined) reading.problems.push(problemOf(path, problem));
    else if (entry.isDirectory()) await readInto(reading, dir, path);
    else if (entry.isFile()) await readFileInto(reading, dir, path);
    else {
      const what = entry.isSymbolicLink() ? "a symbolic link" : "not a regular file";
      reading.problems.push(
        problemOf(path, `This is ${what}. A commit has regular files only: copy the content here, or leave it out.`),
      );
    }
  }
}

/** True of a file or folder, by its own name, that is never part of a workflow. */
export function isNeverPublished(name: string): boolean {
  return IGNORED.has(name) || name.endsWith(".pyc");
}

function isFull(reading: Reading): boolean {
  return reading.problems.some((problem) => problem.file === ".");
}

/** Opened without following links and without waiting for a writer: the entry may have been swapped since it was listed. */
async function readFileInto(reading: Reading, dir: string, path: string): Promise<void> {
  if (reading.files.length >= FILES_MAX) {
    reading.problems.push(problemOf(".", tooManyFiles(`more than ${FILES_MAX.toLocaleString("en")}`)));
    return;
  }
  const file = await open(join(dir, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size, mode } = await file.stat();
    reading.bytes += size;
    if (reading.bytes > FOLDER_BYTES_MAX) {
      reading.problems.push(problemOf(".", `${tooManyBytes(reading.bytes)} It was reached at ${path}.`));
      return;
    }
    reading.files.push({ path, content: await file.readFile(), executable: (mode & 0o100) !== 0 });
  } finally {
    await file.close();
  }
}
