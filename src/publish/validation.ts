import type { FileProblem } from "../../domain/errors.ts";
import type { AccountId, WorkflowId } from "../../domain/ids.ts";
import { DEFAULT_BOUNDS, type ManifestBounds } from "../../domain/manifest/bounds.ts";
import { readConfigDocument } from "../../domain/manifest/document.ts";
import { isJsonObject } from "../../domain/manifest/json-values.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import type { SetNames } from "../../domain/manifest/named-values.ts";
import { parseManifest } from "../../domain/manifest/parse.ts";
import type { Interpreters } from "../../environments/interpreters.ts";
import type { Python } from "../../environments/lock.ts";
import { fitsVersion } from "../../environments/python-versions.ts";
import {
  type PythonDemand,
  type Requirements,
  type RequirementsReading,
  readRequirements,
} from "../../environments/requirements.ts";
import { minorVersionOf } from "../../sandbox/interpreter.ts";
import { OverBudgetError, type Threads, toTask } from "../../system/threads/threads.ts";
import { checkFolder, FILES_MAX, FOLDER_BYTES_MAX, type FolderCheck, MANIFEST_FILE, problemOf } from "./folder.ts";
import { type CommitFile, toBuffer } from "./git-objects.ts";
import type { CheckPython, CodeProblems } from "./python-check.ts";
import type { FindPythonWarnings } from "./python-warnings.ts";

/** What this installation can do for a workflow; a manifest that asks for more is refused at publish. */
export interface Abilities {
  /** The Pythons that executions can run with. */
  readonly interpreters: Pick<Interpreters, "find" | "list">;
  /** Returns whether executions can have a network now, here or on a worker. */
  readonly networkAvailable: () => boolean;
  /** Why the installation has no disks for scratch folders. */
  readonly scratchProblem?: (() => string | undefined) | undefined;
  /** Returns the Pythons that some worker has now; undefined where none is known, and where programs run here. */
  readonly workerPythons?: (() => readonly string[] | undefined) | undefined;
  /** Returns what a manifest may ask for now; `DEFAULT_BOUNDS` unless given. */
  readonly bounds?: (() => ManifestBounds) | undefined;
  /** Finds the secrets, variables, places to tell and destinations that there are for a workflow; a new one with null. Without it nobody asks. */
  readonly findSetNames?: FindSetNames | undefined;
  /** For what takes long of a large folder. */
  readonly threads: Threads;
  /** Undefined where this host has no sandbox: code is then published unread, and fails when it is run. */
  readonly checkPython?: CheckPython | undefined;
  readonly findPythonWarnings: FindPythonWarnings;
}

export type FindSetNames = (accountId: AccountId, workflowId: WorkflowId | null) => Promise<SetNames>;

/** Whose folder it is. Accounts take turns on the threads. */
export interface FolderOwner {
  readonly accountId: AccountId;
  /** Null: a new workflow. */
  readonly workflowId: WorkflowId | null;
}

export type Validation = GoodFolder | BadFolder;

interface BadFolder {
  readonly ok: false;
  readonly problems: readonly FileProblem[];
  /** Of its code. */
  readonly warnings?: readonly FileProblem[];
}

/** A folder that can become a commit, as far as its content says. */
export interface GoodFolder {
  readonly ok: true;
  readonly manifest: Manifest;
  /** What its executions run with. */
  readonly python: Python;
  readonly requirements: Requirements | null;
  readonly warnings: readonly FileProblem[];
}

/** Larger folders are read beside the event loop. Of a smaller one without patterns reading takes some milliseconds. */
const INLINE_BYTES_MAX = 16_384;
/** Far above what an honest folder takes: that is tenths of a second. */
const TIMEOUT_MS = 10_000;

/**
 * Validates a folder that is to become a commit, without running or storing anything. Returns all problems of all its files at once.
 */
export async function validateFolder(
  files: readonly CommitFile[],
  abilities: Abilities,
  { accountId, workflowId }: FolderOwner,
): Promise<Validation> {
  const { interpreters } = abilities;
  const networkAvailable = abilities.networkAvailable();
  const config = files.find(({ path }) => path === MANIFEST_FILE)?.content.toString("utf8") ?? "";
  // The machine's Pythons are only looked for when the manifest could ask for one.
  const pythons = /python/i.test(config) ? await interpreters.list() : undefined;
  const setNames = /secrets|vars|notify|network/.test(config)
    ? await abilities.findSetNames?.(accountId, workflowId)
    : undefined;
  const scratchProblem = abilities.scratchProblem?.();
  const onWorkers = abilities.workerPythons?.();
  const pythonVersions = pythons
    ?.map(minorVersionOf)
    .filter((version) => onWorkers === undefined || onWorkers.includes(version));
  const asked = { files, networkAvailable, scratchProblem, bounds: abilities.bounds?.(), pythonVersions, setNames };
  const hasPatterns = /pattern/.test(config);
  const { problems, warnings, manifest, reading } = await read(abilities.threads, accountId, asked, hasPatterns);
  const python = manifest && (await interpreters.find(manifest.python));
  if (reading?.ok === true && python !== undefined)
    problems.push(...(await checkDemands(reading.pythons, python, interpreters)));
  if (problems.length > 0 || manifest === undefined || python === undefined || reading?.ok !== true)
    return { ok: false, problems };
  return {
    ok: true,
    manifest,
    python,
    requirements: reading.requirements,
    warnings: [...warnings, ...reading.notes],
  };
}

/**
 * Validates a folder with its code: what `validateFolder` says, and what the sandbox says of its Python files. Where the
 * manifest is wrong, they are read by the standard Python, so that all problems come at once.
 */
export async function validateCommit(
  files: readonly CommitFile[],
  abilities: Abilities,
  owner: FolderOwner,
): Promise<Validation> {
  const validation = await validateFolder(files, abilities, owner);
  const code = await checkCode(files, validation, abilities, owner.accountId);
  if (validation.ok && code.problems.length === 0)
    return { ...validation, warnings: [...validation.warnings, ...code.warnings] };
  const problems = [...(validation.ok ? [] : validation.problems), ...code.problems];
  return { ok: false, problems, warnings: code.warnings };
}

/** Returns what is wrong with the Python files of a folder that was validated, and what is only to be known. */
export async function checkCode(
  files: readonly CommitFile[],
  validation: Validation,
  { checkPython, findPythonWarnings, interpreters }: Abilities,
  owner: AccountId,
): Promise<CodeProblems> {
  const isTooMuch =
    files.length > FILES_MAX || files.reduce((sum, { content }) => sum + content.length, 0) > FOLDER_BYTES_MAX;
  const python = validation.ok ? validation.python : await interpreters.find(null);
  if (python === undefined || isTooMuch) return { problems: [], warnings: [] };
  // Without a manifest it is not known which file is the entrypoint: nothing is said of its main.
  const manifest = validation.ok ? validation.manifest : { entrypoint: "", inputs: [] };
  const [found, warnings] = await Promise.all([
    checkPython?.({ files, manifest, python, owner }),
    findPythonWarnings({ files, python, owner }),
  ]);
  return { problems: found?.problems ?? [], warnings: [...(found?.warnings ?? []), ...warnings] };
}

interface Folder {
  readonly files: readonly CommitFile[];
  readonly networkAvailable: boolean;
  readonly scratchProblem: string | undefined;
  readonly bounds: ManifestBounds | undefined;
  readonly pythonVersions: readonly string[] | undefined;
  readonly setNames: SetNames | undefined;
}

interface FolderReading extends FolderCheck {
  readonly manifest: Manifest | undefined;
  readonly reading: RequirementsReading | undefined;
}

async function read(threads: Threads, owner: string, folder: Folder, hasPatterns: boolean): Promise<FolderReading> {
  const bytes = folder.files.reduce((sum, { path, content }) => sum + path.length + content.length, 0);
  if (bytes <= INLINE_BYTES_MAX && !hasPatterns) return readFolder(folder);
  try {
    return await threads.run(READ, folder, { owner, timeoutMs: TIMEOUT_MS });
  } catch (error) {
    if (!(error instanceof OverBudgetError)) throw error;
    const problem = problemOf(
      MANIFEST_FILE,
      `Checking the folder takes more ${error.what} than it may. Simplify the patterns of ${MANIFEST_FILE}, and shorten it, requirements.txt, pyproject.toml and the Python files beside it.`,
    );
    return { problems: [problem], warnings: [], manifest: undefined, reading: undefined };
  }
}

/** What can be said of a folder by its content alone. Runs on the thread that it is called on. */
export function readFolder({ files: copies, ...options }: Folder): FolderReading {
  // A copy of a buffer between threads is none any more.
  const files = copies.map((file) => ({ ...file, content: toBuffer(file.content) }));
  const { problems, warnings } = checkFolder(files);
  const config = files.find(({ path }) => path === MANIFEST_FILE);
  const parsed = config && parseManifest(config.content.toString("utf8"), options);
  const manifest = parsed?.ok === true ? parsed.manifest : undefined;
  const reading = readRequirements(files, manifest?.entrypoint);
  if (parsed?.ok === false) problems.push(...parsed.problems);
  if (config !== undefined && manifest !== undefined) problems.push(...checkEntrypoint(files, manifest, config));
  if (!reading.ok) problems.push(...reading.problems);
  return { problems, warnings, manifest, reading };
}

const READ = toTask(import.meta.url, readFolder);

/** At the place where the manifest names the file; of the file itself where it names none. */
function checkEntrypoint(
  files: readonly CommitFile[],
  { entrypoint }: Manifest,
  { path: file, content }: CommitFile,
): FileProblem[] {
  if (files.some(({ path }) => path === entrypoint)) return [];
  const { value, places } = readConfigDocument(content.toString("utf8"), DEFAULT_BOUNDS.configBytesMax);
  const isNamed = isJsonObject(value) && value["entrypoint"] === entrypoint;
  const message = `The entrypoint ${entrypoint} is missing. Add the file, or name another in ${MANIFEST_FILE}.`;
  return [isNamed ? { file, ...places.ofValue(["entrypoint"]), message } : problemOf(entrypoint, message)];
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
