import { minorVersionOf } from "../../activities/environments/lock.ts";
import { type Requirements, readRequirements } from "../../activities/environments/requirements.ts";
import type { FileProblem } from "../../domain/errors.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import { parseManifest } from "../../domain/manifest/parse.ts";
import { checkFolder, MANIFEST_FILE, problemOf } from "./folder.ts";
import type { CommitFile } from "./git-objects.ts";

/** What this installation can do for a workflow; a manifest that asks for more is refused at publish. */
export interface Abilities {
  /** Of the interpreter executions run with, such as 3.11.2. */
  readonly pythonVersion: string;
  readonly networkAvailable: boolean;
}

export type Candidate =
  | {
      readonly ok: true;
      readonly manifest: Manifest;
      readonly requirements: Requirements | null;
      readonly warnings: readonly FileProblem[];
    }
  | { readonly ok: false; readonly problems: readonly FileProblem[] };

/** Judges a folder that wants to be a commit, without running or storing anything. All problems of all its files at once. */
export function checkCandidate(files: readonly CommitFile[], abilities: Abilities): Candidate {
  const { problems, warnings } = checkFolder(files);
  const parsed = parseManifestOf(files, abilities);
  const reading = readRequirements(files);
  if (parsed?.ok === false) problems.push(...parsed.problems);
  if (parsed?.ok === true)
    problems.push(...checkEntrypoint(files, parsed.manifest), ...checkPython(parsed.manifest, abilities));
  if (!reading.ok) problems.push(...reading.problems);
  if (problems.length > 0 || parsed?.ok !== true || !reading.ok) return { ok: false, problems };
  return {
    ok: true,
    manifest: parsed.manifest,
    requirements: reading.requirements,
    warnings: [...warnings, ...reading.notes],
  };
}

function parseManifestOf(files: readonly CommitFile[], { networkAvailable }: Abilities) {
  const file = files.find(({ path }) => path === MANIFEST_FILE);
  return file && parseManifest(file.content.toString("utf8"), { networkAvailable });
}

function checkEntrypoint(files: readonly CommitFile[], { entrypoint }: Manifest): FileProblem[] {
  if (files.some(({ path }) => path === entrypoint)) return [];
  return [
    problemOf(entrypoint, `The entrypoint ${entrypoint} is missing. Add the file, or name another in config.yaml.`),
  ];
}

function checkPython({ python }: Manifest, { pythonVersion }: Abilities): FileProblem[] {
  const available = minorVersionOf({ version: pythonVersion });
  if (python === null || python === available) return [];
  return [problemOf(MANIFEST_FILE, `The workflow asks for Python ${python}; this installation has ${available}.`)];
}
