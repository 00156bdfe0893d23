import type { FileProblem } from "../domain/errors.ts";
import { hasInlineMetadata, parseInlineMetadata } from "./inline-metadata.ts";
import { PROJECT_FILE, parseProjectFile } from "./project-file.ts";
import type { Declaration, PythonDemand, Requirement } from "./requirement.ts";
import { parseRequirementsFile } from "./requirements-file.ts";

export { normalizeName, type PythonDemand, type Requirement } from "./requirement.ts";

export const REQUIREMENTS_FILE = "requirements.txt";
const ENTRYPOINT = "main.py";

export interface Requirements {
  /** Path of the file in the folder. */
  readonly file: string;
  /** At least one. */
  readonly list: readonly Requirement[];
}

export type RequirementsReading =
  | {
      readonly ok: true;
      /** Null: no environment is needed. */
      readonly requirements: Requirements | null;
      /** Every `requires-python`, wherever the requirements are. */
      readonly pythons: readonly PythonDemand[];
      /** Things to know that do not stop a publish. */
      readonly notes: readonly FileProblem[];
    }
  | { readonly ok: false; readonly problems: readonly FileProblem[] };

interface FolderFile {
  readonly path: string;
  readonly content: Buffer;
}

/**
 * Finds what Python packages a workflow's folder asks for: in `requirements.txt`, in `[project]` of `pyproject.toml`,
 * or in the script block of the entrypoint. Packages may be listed in one of them only. Reports all problems at once.
 * Everything that could make an installer run code, read files or ask another server is a problem.
 */
export function readRequirements(files: Iterable<FolderFile>, entrypoint = ENTRYPOINT): RequirementsReading {
  const declarations: { file: string; declaration: Declaration }[] = [];
  const notes: FileProblem[] = [];
  for (const { path, content } of files) {
    const parse = parserOf(path, entrypoint);
    if (parse !== undefined) declarations.push({ file: path, declaration: parse(path, content) });
    else if (path.endsWith(".py") && !path.includes("/") && hasInlineMetadata(content))
      notes.push(noteOf(path, entrypoint));
  }
  const problems = declarations.flatMap(({ declaration }) => (declaration.ok ? [] : declaration.problems));
  if (problems.length > 0) return { ok: false, problems };
  const good = declarations.flatMap(({ file, declaration }) => (declaration.ok ? [{ file, ...declaration }] : []));
  const listing = good.filter(({ list }) => list.length > 0);
  if (listing.length > 1) return { ok: false, problems: listing.map((one) => refuseSecond(one, listing)) };
  const [found] = listing;
  return {
    ok: true,
    requirements: found === undefined ? null : { file: found.file, list: found.list },
    pythons: good.flatMap(({ python }) => python ?? []),
    notes: [...good.flatMap((one) => one.notes), ...notes],
  };
}

function parserOf(path: string, entrypoint: string): ((file: string, content: Buffer) => Declaration) | undefined {
  if (path === REQUIREMENTS_FILE) return parseRequirementsFile;
  if (path === PROJECT_FILE) return parseProjectFile;
  return path === entrypoint && path.endsWith(".py") ? parseInlineMetadata : undefined;
}

/** Two lists could contradict each other, and a reader of one would not know of the other. */
function refuseSecond(one: Requirements, all: readonly Requirements[]): FileProblem {
  const names = all.map(({ file }) => file).sort();
  const { line, column } = one.list[0] as Requirement;
  const message = `Packages are listed in ${names.slice(0, -1).join(", ")} and ${names.at(-1)}. List them in one file only.`;
  return { file: one.file, line, column, message };
}

function noteOf(file: string, entrypoint: string): FileProblem {
  const message = `Packages listed in a script block are installed from the entrypoint only, which is ${entrypoint}; those of ${file} are not.`;
  return { file, line: 1, column: 1, message };
}

/**
 * The requirements for a resolver, which speaks of them by line: those of a `requirements.txt` at their own line
 * numbers, others one after the other. See `findByRow`.
 */
export function toRequirementsText(requirements: Requirements): string {
  const lines: string[] = [];
  for (const [index, requirement] of requirements.list.entries()) {
    lines[rowOf(requirements, requirement, index) - 1] = requirement.text;
  }
  return `${Array.from(lines, (line) => line ?? "").join("\n")}\n`;
}

/** The requirement at a line of `toRequirementsText`. */
export function findByRow(requirements: Requirements, row: number): Requirement | undefined {
  return requirements.list.find((requirement, index) => rowOf(requirements, requirement, index) === row);
}

function rowOf({ file }: Requirements, { line }: Requirement, index: number): number {
  return file === REQUIREMENTS_FILE ? line : index + 1;
}
