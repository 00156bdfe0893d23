import type { Interpreters } from "../../activities/environments/interpreters.ts";
import { minorVersionOf, type Python } from "../../activities/environments/lock.ts";
import { fitsVersion } from "../../activities/environments/python-versions.ts";
import { type PythonDemand, type Requirements, readRequirements } from "../../activities/environments/requirements.ts";
import type { FileProblem } from "../../domain/errors.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import { parseManifest } from "../../domain/manifest/parse.ts";
import { checkFolder, MANIFEST_FILE, problemOf } from "./folder.ts";
import type { CommitFile } from "./git-objects.ts";

/** What this installation can do for a workflow; a manifest that asks for more is refused at publish. */
export interface Abilities {
  /** The Pythons that executions can run with. */
  readonly interpreters: Pick<Interpreters, "find" | "list">;
  readonly networkAvailable: boolean;
}

export type Candidate =
  | {
      readonly ok: true;
      readonly manifest: Manifest;
      /** What its executions run with. */
      readonly python: Python;
      readonly requirements: Requirements | null;
      readonly warnings: readonly FileProblem[];
    }
  | { readonly ok: false; readonly problems: readonly FileProblem[] };

/** Judges a folder that wants to be a commit, without running or storing anything. All problems of all its files at once. */
export async function checkCandidate(files: readonly CommitFile[], abilities: Abilities): Promise<Candidate> {
  const { problems, warnings } = checkFolder(files);
  const parsed = await parseManifestOf(files, abilities);
  const manifest = parsed?.ok === true ? parsed.manifest : undefined;
  const reading = readRequirements(files, manifest?.entrypoint);
  if (parsed?.ok === false) problems.push(...parsed.problems);
  if (manifest !== undefined) problems.push(...checkEntrypoint(files, manifest));
  if (!reading.ok) problems.push(...reading.problems);
  const python = manifest && (await abilities.interpreters.find(manifest.python));
  if (reading.ok && python !== undefined)
    problems.push(...(await checkDemands(reading.pythons, python, abilities.interpreters)));
  if (problems.length > 0 || manifest === undefined || python === undefined || !reading.ok)
    return { ok: false, problems };
  return {
    ok: true,
    manifest,
    python,
    requirements: reading.requirements,
    warnings: [...warnings, ...reading.notes],
  };
}

/** The machine's Pythons are only looked for when the manifest could ask for one. */
async function parseManifestOf(files: readonly CommitFile[], { interpreters, networkAvailable }: Abilities) {
  const file = files.find(({ path }) => path === MANIFEST_FILE);
  if (file === undefined) return undefined;
  const text = file.content.toString("utf8");
  const pythons = /python/i.test(text) ? await interpreters.list() : undefined;
  return parseManifest(text, { networkAvailable, pythonVersions: pythons?.map(minorVersionOf) });
}

function checkEntrypoint(files: readonly CommitFile[], { entrypoint }: Manifest): FileProblem[] {
  if (files.some(({ path }) => path === entrypoint)) return [];
  return [
    problemOf(entrypoint, `The entrypoint ${entrypoint} is missing. Add the file, or name another in config.yaml.`),
  ];
}

/** Every `requires-python` has to let the workflow's Python in, whichever file it is in. */
async function checkDemands(
  demands: readonly PythonDemand[],
  { version }: Python,
  interpreters: Abilities["interpreters"],
): Promise<FileProblem[]> {
  const unmet = demands.filter(({ text }) => !fitsVersion(text, version));
  if (unmet.length === 0) return [];
  const others = await interpreters.list();
  const fitting = others.find((python) => demands.every(({ text }) => fitsVersion(text, python.version)));
  const advice =
    fitting === undefined
      ? `This installation has ${others.map(minorVersionOf).join(", ")}: correct this requires-python, or let its operator install another Python.`
      : `Write python: "${minorVersionOf(fitting)}" into ${MANIFEST_FILE}, or correct this requires-python.`;
  return unmet.map(({ file, line, column, text }) => ({
    file,
    line,
    column,
    message: `The code wants Python ${text}, and the workflow runs with ${version}. ${advice}`,
  }));
}
