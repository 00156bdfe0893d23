import {
  addCommitEnvironment,
  type CommitCode,
  type KeptEnvironment,
  listCommitEnvironments,
} from "../db/commits/environments.ts";
import type { Db } from "../db/connect.ts";
import type { CommitId, WorkflowId } from "../domain/ids.ts";
import type { Manifest } from "../domain/manifest/manifest.ts";
import { minorVersionOf } from "../sandbox/interpreter.ts";
import type { Threads } from "../system/threads/threads.ts";
import { EnvironmentError, type Environments, type Python } from "./builder.ts";
import { type ReadFiles, readCommitNeeds } from "./commit-needs.ts";
import type { Interpreters } from "./interpreters.ts";
import { keyOf } from "./lock.ts";
import { fitsVersion } from "./python-versions.ts";
import { toRequirementsText } from "./requirements.ts";

/** A look for an interpreter starts all that the machine has, so one that is missing is not looked for before every run. */
const LOOK_AGAIN_MS = 60_000;
/** So long a commit that cannot run is not tried again: an attempt asks the package index, and runs are repeated every 10 seconds. */
const TRY_AGAIN_MS = 30_000;
/** A key takes a hash of its whole lock. More than any installation has; then they are computed anew. */
const FITS_MAX = 10_000;

/** A commit that this host cannot run now. The message says why and what to do. */
export class UnrunnableCommitError extends Error {
  override readonly name = "UnrunnableCommitError";
}

export interface CommitProblem {
  readonly workflowId: WorkflowId;
  readonly commitId: CommitId;
  /** What is missing, and what to do, in sentences. */
  readonly reason: string;
  /** Its packages are being made for this host's Python at this moment. */
  readonly isBeingMade: boolean;
}

/** What a commit runs with on this host. */
export interface CommitEnvironment {
  readonly python: Python;
  /** Null when it needs no packages. */
  readonly environmentDir: string | null;
}

interface EnsureOptions {
  /** Receives what the build says, line by line. */
  readonly report?: ((line: string) => void) | undefined;
  /** Tries at once what failed a moment ago. */
  readonly isRepeated?: boolean;
}

export interface CommitEnvironments {
  /**
   * Returns the interpreter and the environment of a commit. The interpreter has the minor version that the commit was
   * made with while this host has it, else the standard one. Builds the environment where it is missing. Where its lock
   * fits neither Python nor platform, it locks the packages again and keeps the new lock. Throws an
   * `UnrunnableCommitError`.
   */
  ensure(commit: CommitCode, options?: EnsureOptions): Promise<CommitEnvironment>;
  /** Returns why a commit cannot run here now, as far as it was tried. */
  problemOf(workflowId: WorkflowId, commitId: CommitId): CommitProblem | undefined;
  /** Lists the commits that cannot run here now, as far as they were tried. */
  problems(): readonly CommitProblem[];
  /** Forgets the problems of all other commits. */
  forgetOthers(commits: readonly Pick<CommitCode, "workflowId" | "commitId">[]): void;
}

export interface CommitEnvironmentsDeps {
  readonly db: Db;
  readonly environments: Pick<Environments, "ensure" | "lock">;
  readonly interpreters: Pick<Interpreters, "standard" | "find" | "list">;
  readonly readFiles: ReadFiles;
  /** For files of tenants. */
  readonly threads: Threads;
  readonly log: { info(facts: object, message: string): void };
}

/** The environments of commits on one host. */
export function createCommitEnvironments(deps: CommitEnvironmentsDeps): CommitEnvironments {
  const choosePython = createChoice(deps.interpreters);
  const findFitting = createFit();
  const failures = new Map<string, { readonly error: UnrunnableCommitError; readonly at: number } & CommitProblem>();
  const making = new Map<string, { readonly made: Promise<string> } & CommitProblem>();

  async function open(commit: CommitCode, { report }: EnsureOptions): Promise<CommitEnvironment> {
    const kept = commit.environmentKey === null ? [] : await listCommitEnvironments(deps.db, commit);
    const [own] = kept;
    if (commit.environmentKey !== null && own?.key !== commit.environmentKey)
      throw new Error(`The lock of environment ${commit.environmentKey} is not in the record.`);
    const python = await choosePython(commit, own);
    if (own === undefined) return { python, environmentDir: null };
    const options = { python, build: (commit.manifest as Manifest).build, accountId: commit.accountId, report };
    const fitting = findFitting(kept, options);
    const environmentDir =
      fitting === undefined
        ? await makeOnce(commit, own, options)
        : await deps.environments.ensure(fitting.key, fitting.lock, options);
    return { python, environmentDir };
  }

  function makeOnce(commit: CommitCode, own: KeptEnvironment, options: BuildOptions): Promise<string> {
    const id = idOf(commit);
    const known = making.get(id);
    if (known !== undefined) return known.made;
    const made = makeAgain(deps, commit, own, options).finally(() => making.delete(id));
    const reason = `Its packages are being made again for Python ${options.python.version} of this host.`;
    making.set(id, { made, ...toProblem(commit, reason, true) });
    return made;
  }

  return {
    async ensure(commit, options = {}) {
      const id = idOf(commit);
      const failure = failures.get(id);
      if (failure !== undefined && options.isRepeated !== true && Date.now() - failure.at < TRY_AGAIN_MS)
        throw failure.error;
      try {
        const environment = await open(commit, options);
        failures.delete(id);
        return environment;
      } catch (fault) {
        const error = toUnrunnable(fault);
        if (error === undefined) throw fault;
        failures.set(id, { error, at: Date.now(), ...toProblem(commit, error.message, false) });
        throw error;
      }
    },
    problemOf: (workflowId, commitId) => {
      const id = idOf({ workflowId, commitId });
      return making.get(id) ?? failures.get(id);
    },
    problems: () => [...new Map<string, CommitProblem>([...failures, ...making]).values()],
    forgetOthers(commits) {
      const ids = new Set(commits.map(idOf));
      for (const id of failures.keys()) if (!ids.has(id)) failures.delete(id);
    },
  };
}

type BuildOptions = NonNullable<Parameters<Environments["ensure"]>[2]> & { readonly python: Python };

/** Chooses the interpreter of a commit: the one it asks for, the one it was made with, else the standard one. */
function createChoice({ standard, find, list }: CommitEnvironmentsDeps["interpreters"]) {
  const missing = new Map<string, number>();
  return async ({ manifest, python }: CommitCode, own: KeptEnvironment | undefined): Promise<Python> => {
    const asked = (manifest as Manifest).python;
    if (asked !== null) {
      const found = await find(asked);
      if (found !== undefined) return found;
      const others = (await list()).map(minorVersionOf).join(", ");
      throw new UnrunnableCommitError(
        `It asks for Python ${asked}, and this host has ${others}. Install Python ${asked} there, or commit another python in config.yaml.`,
      );
    }
    const kept = python ?? (own && minorVersionOf({ version: own.interpreter })) ?? null;
    if (kept === null || Date.now() - (missing.get(kept) ?? Number.NEGATIVE_INFINITY) < LOOK_AGAIN_MS) return standard;
    const found = await find(kept);
    if (found === undefined) missing.set(kept, Date.now());
    else missing.delete(kept);
    return found ?? standard;
  };
}

/** Finds the first environment whose packages were chosen for this Python on this platform. */
function createFit() {
  const known = new Map<string, boolean>();
  return (kept: readonly KeptEnvironment[], { python, build }: BuildOptions): KeptEnvironment | undefined =>
    kept.find(({ key, lock }) => {
      const id = [key, minorVersionOf(python), python.platform, build].join(" ");
      const fits = known.get(id) ?? keyOf(python, lock, build) === key;
      if (known.size >= FITS_MAX) known.clear();
      known.set(id, fits);
      return fits;
    });
}

/** Makes an environment for a Python that the commit's own does not fit, and notes it with the commit. */
async function makeAgain(
  deps: CommitEnvironmentsDeps,
  commit: CommitCode,
  own: KeptEnvironment,
  options: BuildOptions,
): Promise<string> {
  const { workflowId, commitId } = commit;
  const facts = { workflowId, commitId, from: own.interpreter, to: options.python.version };
  deps.log.info({ event: "commit.environment", ...facts }, "Packages of a commit are made again for this host.");
  const { dir, ...environment } =
    (await buildOwnLock(deps, own, options)) ?? (await buildNewLock(deps, commit, options));
  await addCommitEnvironment(deps.db, commit, { ...environment, interpreter: options.python.version });
  const { key } = environment;
  deps.log.info({ event: "commit.environment", ...facts, environment: key }, "Packages of a commit were made again.");
  return dir;
}

interface Made {
  readonly dir: string;
  readonly key: string;
  readonly lock: string;
  readonly requirements: string;
}

/** For another C library the same files nearly always do. Returns undefined where they do not, and for another Python. */
async function buildOwnLock(
  { environments }: CommitEnvironmentsDeps,
  { interpreter, lock, requirements }: KeptEnvironment,
  options: BuildOptions,
): Promise<Made | undefined> {
  if (minorVersionOf({ version: interpreter }) !== minorVersionOf(options.python)) return undefined;
  const key = keyOf(options.python, lock, options.build);
  try {
    return { dir: await environments.ensure(key, lock, options), key, lock, requirements };
  } catch (error) {
    if (error instanceof EnvironmentError && error.kind === "refused") return undefined;
    throw error;
  }
}

/** Resolves what the commit's files ask for, as a publish does. */
async function buildNewLock(deps: CommitEnvironmentsDeps, commit: CommitCode, options: BuildOptions): Promise<Made> {
  const { environments } = deps;
  const { version } = options.python;
  const refuse = (reason: string): UnrunnableCommitError =>
    new UnrunnableCommitError(
      `Its packages cannot be had for Python ${version} of this host: ${reason} Install the Python that it was made with on the host, or commit what fits.`,
    );
  const reading = await readCommitNeeds(deps, commit);
  if (!reading.ok || reading.requirements === null)
    throw refuse(reading.ok ? "Its files name none." : reading.problems.map(({ message }) => message).join(" "));
  const unmet = reading.pythons.find(({ text }) => !fitsVersion(text, version));
  if (unmet !== undefined) throw refuse(`The code wants Python ${unmet.text}.`);
  const locked = await environments.lock(reading.requirements, options);
  if (!locked.ok) throw refuse(locked.problems.map(({ message }) => message).join(" "));
  const { key, lock } = locked;
  const dir = await environments.ensure(key, lock, options);
  return { dir, key, lock, requirements: toRequirementsText(reading.requirements) };
}

function toUnrunnable(error: unknown): UnrunnableCommitError | undefined {
  if (error instanceof UnrunnableCommitError) return error;
  if (!(error instanceof EnvironmentError)) return undefined;
  return new UnrunnableCommitError(`Its packages cannot be installed: ${error.message}`, { cause: error });
}

function toProblem({ workflowId, commitId }: CommitCode, reason: string, isBeingMade: boolean): CommitProblem {
  return { workflowId, commitId, reason, isBeingMade };
}

function idOf({ workflowId, commitId }: Pick<CommitCode, "workflowId" | "commitId">): string {
  return `${workflowId} ${commitId}`;
}
