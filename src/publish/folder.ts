import { FOLDER_FILES_MAX } from "../../domain/api/limits.ts";
import type { FileProblem } from "../../domain/errors.ts";
import { findPathProblem, foldPath } from "../../domain/file-path.ts";
import type { CommitFile } from "./git-objects.ts";

export const FILES_MAX = FOLDER_FILES_MAX;
export const FOLDER_BYTES_MAX = 20_000_000;
export const MANIFEST_FILE = "config.yaml";

export interface FolderCheck {
  readonly problems: FileProblem[];
  /** Things to know that stop nothing, such as names that differ only in case. */
  readonly warnings: FileProblem[];
}

/** A problem of a file as a whole. */
export function problemOf(file: string, message: string): FileProblem {
  return { file, line: 1, column: 1, message };
}

/** Everything about names, number and size that keeps a folder from being a commit: all of it at once. */
export function checkFolder(files: readonly CommitFile[]): FolderCheck {
  const problems = findFolderProblems(files);
  if (!files.some((file) => file.path === MANIFEST_FILE)) {
    problems.push(
      problemOf(MANIFEST_FILE, "The file is missing. Every workflow has a config.yaml at the top of its folder."),
    );
  }
  return { problems, warnings: findLookalikes(files) };
}

/** What of that no further file would put right: bad names, too many files or bytes, a path that is a file and a folder. */
export function findFolderProblems(files: readonly CommitFile[]): FileProblem[] {
  const problems: FileProblem[] = [];
  const bytes = files.reduce((sum, file) => sum + file.content.length, 0);
  if (files.length > FILES_MAX) problems.push(problemOf(".", tooManyFiles(files.length)));
  if (bytes > FOLDER_BYTES_MAX) problems.push(problemOf(".", tooManyBytes(bytes)));
  for (const file of files) {
    const problem = findPathProblem(file.path);
    if (problem !== undefined) problems.push(problemOf(file.path, problem));
  }
  problems.push(...findClashes(files));
  return problems;
}

export function tooManyFiles(count: number | string): string {
  return `The folder has ${count} files; a commit has at most ${FILES_MAX.toLocaleString("en")}.`;
}

export function tooManyBytes(bytes: number): string {
  return `The folder has ${bytes.toLocaleString("en")} bytes; a commit has at most ${FOLDER_BYTES_MAX.toLocaleString("en")}.`;
}

/** The same path twice, or a path that is a file here and a folder there. */
function findClashes(files: readonly CommitFile[]): FileProblem[] {
  const problems: FileProblem[] = [];
  const paths = new Set<string>();
  for (const { path } of files) {
    if (paths.has(path)) problems.push(problemOf(path, "The path is there twice."));
    paths.add(path);
  }
  const clashing = new Set<string>();
  for (const path of paths) {
    for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1)) {
      if (paths.has(path.slice(0, slash))) clashing.add(path.slice(0, slash));
    }
  }
  for (const path of clashing) problems.push(problemOf(path, "The path is a file and also a folder."));
  return problems;
}

function findLookalikes(files: readonly CommitFile[]): FileProblem[] {
  const seen = new Map<string, string>();
  const warnings: FileProblem[] = [];
  for (const { path } of files) {
    const fold = foldPath(path);
    const other = seen.get(fold);
    if (other !== undefined && other !== path) {
      warnings.push(
        problemOf(path, `The name differs from ${other} only in case or accents; some file systems cannot hold both.`),
      );
    }
    seen.set(fold, path);
  }
  return warnings;
}
