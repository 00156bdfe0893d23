import { existsSync, statSync } from "node:fs";
import { findCommit } from "../db/commits/commits.ts";
import { findWorkflow } from "../db/commits/workflows.ts";
import type { Db } from "../db/connect.ts";
import type { ExecutionWork } from "../db/executions/attempts.ts";
import type { PythonOutcome, StoredFile } from "../domain/execution.ts";
import type { CommitId, ExecutionId, WorkflowId } from "../domain/ids.ts";
import { DEFAULT_BOUNDS, scratchOnDisk } from "../domain/manifest/bounds.ts";
import type { Manifest } from "../domain/manifest/manifest.ts";
import { listReferences } from "../domain/manifest/references.ts";
import type { Checkouts } from "../environments/checkout.ts";
import { type CommitEnvironments, UnrunnableCommitError } from "../environments/commit-environments.ts";
import type { DiskShare } from "../sandbox/disk-room.ts";
import type { Runtimes } from "../sandbox/runtimes.ts";
import type {
  InputFiles,
  LaneRequest,
  LaneVariables,
  Progress,
  Sandbox,
  SandboxLimits,
  SandboxRequest,
  Warmth,
} from "../sandbox/sandbox.ts";
import type { Storage } from "../storage/storage.ts";
import { continueLog } from "./continued-log.ts";
import { findRunNetwork } from "./run-network.ts";
import { findRunValues, type RunValues, type TakeValues } from "./run-values.ts";
import { toRunVariables } from "./run-variables.ts";
import type { Spool } from "./spool.ts";
import { UnableError, UnbegunError } from "./unbegun.ts";

export interface ProgramDeps {
  readonly db: Db;
  readonly sandbox: Sandbox;
  readonly checkouts: Checkouts;
  readonly commitEnvironments: Pick<CommitEnvironments, "ensure">;
  readonly runtimes: Runtimes;
  readonly storage: Storage;
  readonly spool: Spool;
  readonly hostId: string;
  /** The part of the spool's disk that an execution was promised; nothing watches the disk without it. */
  readonly diskShareOf?: ((executionId: ExecutionId) => DiskShare | undefined) | undefined;
  /** What a manifest cannot ask for, and bounds what it can. */
  readonly ceilings: SandboxLimits;
  /** Why no program of a commit can begin on this host; undefined when it can. */
  readonly hostProblem: (manifest: Manifest) => string | undefined;
  readonly takeValues: TakeValues;
  /** Outputs of a first attempt with so many bytes together at most, and a short log, need no files: they are recorded with its end. */
  readonly smallBytesMax: number;
  readonly openSecrets: (sealed: Buffer, executionId: ExecutionId) => Record<string, string>;
  /** Told of every program that came to its end here, with the seconds that count. */
  readonly onRun?: ((path: "cold" | "lane", secondsUsed: number) => void) | undefined;
}

/** Run again, it would fill the disk again. What it used is not known. */
const DISK_FILLED = "The outputs filled the disk of the machine.";
/** Programs that have ended, whose last words of how far they are stay to be read: those who follow a run look now and then. */
const ENDED_KEPT_MAX = 1_000;

/** Gathers code, environment and inputs of an attempt on this host, runs its program in a sandbox, spools what came out. */
export function createProgramRunner(deps: ProgramDeps) {
  const runsByPath = { cold: 0, lane: 0 };
  const progress = createProgressBoard();
  const runProgram = async (
    work: ExecutionWork,
    signal: AbortSignal,
    onStarted?: () => void,
  ): Promise<PythonOutcome> => {
    if (deps.spool.hasFilledDisk(work.executionId)) return failUnrun(deps.spool, work, DISK_FILLED);
    let begun = false;
    progress.clear(work.executionId);
    try {
      const values = await findRunValues(deps.takeValues, work);
      if (!values.ok) return await failUnrun(deps.spool, work, values.message);
      const reach = await findRunNetwork(deps.db, work.accountId, (work.manifest as Manifest).limits.network);
      if (!reach.ok) return await failUnrun(deps.spool, work, reach.message);
      const request = await prepare(deps, work, { values, network: reach.network });
      const result = await deps.sandbox.run(request, {
        signal,
        disk: deps.diskShareOf?.(work.executionId),
        onStarted: () => {
          begun = true;
          onStarted?.();
        },
        onProgress: (now) => progress.set(work.executionId, now),
      });
      runsByPath[result.path] += 1;
      deps.onRun?.(result.path, result.outcome.secondsUsed);
      const { logText, logBytes } = result;
      const hasLog = logBytes > 0;
      await deps.spool.writeResult(work.executionId, {
        outputs: result.outputs,
        logPath: hasLog && logText === undefined ? deps.spool.logPathOf(work.executionId) : undefined,
        logText: hasLog ? logText : undefined,
        logBytes,
        attempt: work.attempt,
        outputsLost: work.previous?.outputsLost ?? 0,
        // One that was stopped did not come to its end. Who takes it up knows whether it is to begin again.
        outcome: result.outcome.status === "cancelled" ? undefined : result.outcome,
      });
      return result.outcome;
    } catch (error) {
      throw begun ? error : new UnbegunError(error);
    } finally {
      progress.end(work.executionId);
    }
  };
  return {
    runProgram,
    runsByPath: (): Readonly<typeof runsByPath> => runsByPath,
    /** What a program that runs here, or did so lately, has said of itself last. */
    progressOf: progress.find,
  };
}

function createProgressBoard() {
  const running = new Map<ExecutionId, Progress>();
  const ended = new Map<ExecutionId, Progress>();
  return {
    set: (id: ExecutionId, now: Progress) => void running.set(id, now),
    find: (id: ExecutionId): Progress | undefined => running.get(id) ?? ended.get(id),
    /** Forgets an earlier attempt. */
    clear: (id: ExecutionId) => void ended.delete(id),
    end(id: ExecutionId) {
      const last = running.get(id);
      running.delete(id);
      if (last === undefined) return;
      ended.set(id, last);
      const [oldest] = ended.keys();
      if (ended.size > ENDED_KEPT_MAX && oldest !== undefined) ended.delete(oldest);
    },
  };
}

/**
 * Makes the next execution of a commit a warm one, if this host has not done so already. For a commit that was just
 * published; any other warms up by being executed.
 */
export function createWarmer(
  deps: Pick<ProgramDeps, "db" | "sandbox" | "checkouts" | "commitEnvironments" | "runtimes" | "ceilings">,
) {
  return async (workflowId: WorkflowId, commitId: CommitId): Promise<Warmth> => {
    const [commit, workflow] = await Promise.all([
      findCommit(deps.db, workflowId, commitId),
      findWorkflow(deps.db, workflowId),
    ]);
    if (commit === undefined || workflow === undefined)
      return { warm: false, reason: `There is no commit ${commitId} of ${workflowId}.` };
    const { accountId } = workflow;
    const reach = await findRunNetwork(deps.db, accountId, (commit.manifest as Manifest).limits.network);
    if (!reach.ok) return { warm: false, reason: reach.message };
    return deps.sandbox.warm(await prepareCode(deps, { ...commit, commitId, accountId }, reach.network));
  };
}

/** The most that one execution may write to the disk of the spool, in bytes. */
export function worstCaseBytes({ outputBytesMax, logBytesMax }: SandboxLimits): number {
  return outputBytesMax + logBytesMax;
}

/** Ends an attempt whose program is not run. Nothing is charged for it. */
async function failUnrun(
  spool: Spool,
  { executionId, attempt }: ExecutionWork,
  message: string,
): Promise<PythonOutcome> {
  await spool.open(executionId);
  const path = spool.logPathOf(executionId);
  const log = existsSync(path) ? { logPath: path, logBytes: statSync(path).size } : { logPath: undefined, logBytes: 0 };
  await spool.writeResult(executionId, { outputs: [], ...log, attempt });
  return { status: "failed", message, secondsUsed: 0 };
}

async function prepare(
  deps: ProgramDeps,
  work: ExecutionWork,
  given: { readonly values: Extract<RunValues, { ok: true }>; readonly network: SandboxRequest["network"] },
): Promise<SandboxRequest> {
  const { values, network } = given;
  const { executionId } = work;
  const manifest = work.manifest as Manifest;
  const problem = deps.hostProblem(manifest);
  if (problem !== undefined) throw new UnableError(problem);
  const [spoolDir, code] = await Promise.all([deps.spool.open(executionId), prepareCode(deps, work, network)]);
  const secrets = work.secretInputs === null ? {} : deps.openSecrets(work.secretInputs, executionId);
  return {
    ...code,
    executionId,
    spoolDir,
    inputs: { ...work.inputs, ...secrets, ...values.inputs } as SandboxRequest["inputs"],
    inputTexts: work.inputTexts,
    variables: Object.assign(toRunVariables(work), values.variables),
    secrets: [...values.secrets, ...Object.values(secrets)],
    arguments: manifest.arguments,
    logStart: await continueLog(deps, work),
    files: await fetchFiles(deps, manifest, work.files, spoolDir),
    heldBytesMax: work.attempt === 1 ? deps.smallBytesMax : 0,
    declaredOutputs: manifest.outputs.filter((output) => output.required).map((output) => output.name),
  };
}

/** What a host has to have for programs. */
export interface HostAbilities {
  /** What its sandboxes lack; empty where they are as they must be. */
  readonly isolationProblems: readonly string[];
  readonly networkProblem: () => string | undefined;
  /** Why there can be no disk for so many bytes of scratch folders. */
  readonly scratchProblem: (bytes: number) => string | undefined;
}

/** Returns why no program of a manifest can begin on a host, in words for its caller; undefined when the host has what it needs. */
export function findHostProblem(
  { isolationProblems, networkProblem, scratchProblem }: HostAbilities,
  { limits }: Pick<Manifest, "limits">,
): string | undefined {
  if (isolationProblems.length > 0) return `Programs are not run on this host: ${isolationProblems.join(" ")}`;
  const problem = limits.network ? networkProblem() : undefined;
  if (problem !== undefined)
    return `This workflow needs a network (limits.network), and this host has none: ${problem}`;
  const bytes = scratchOnDisk(limits);
  const lack = bytes > 0 ? scratchProblem(bytes) : undefined;
  return lack && `This workflow needs scratch folders on disk (limits.scratch), and this host has none for it: ${lack}`;
}

/** Code, interpreter, environment and limits of a commit on this host. */
async function prepareCode(
  deps: Pick<ProgramDeps, "checkouts" | "commitEnvironments" | "runtimes" | "ceilings">,
  work: Pick<ExecutionWork, "accountId" | "workflowId" | "commitId" | "environmentKey" | "python" | "manifest">,
  network: LaneRequest["network"],
): Promise<LaneRequest> {
  const manifest = work.manifest as Manifest;
  const {
    processes = DEFAULT_BOUNDS.processesDefault,
    openFiles = DEFAULT_BOUNDS.openFilesDefault,
    scratchBytes = DEFAULT_BOUNDS.scratchBytesDefault,
  } = manifest.limits;
  const [commitDir, { python, environmentDir }] = await Promise.all([
    deps.checkouts.ensure(work.workflowId, work.commitId),
    deps.commitEnvironments.ensure(work).catch((error: unknown) => {
      throw error instanceof UnrunnableCommitError
        ? new UnableError(toSentence(error.message), { cause: error })
        : error;
    }),
  ]);
  const runtime = await deps.runtimes.prepare(python);
  return {
    accountId: work.accountId,
    commitDir,
    environmentDir,
    runtime,
    entrypoint: manifest.entrypoint,
    network: network ?? false,
    laneVariables: toLaneVariables(manifest),
    isScratchOnDisk: scratchOnDisk(manifest.limits, deps.ceilings.scratchBytes) > 0,
    kinds: Object.fromEntries(manifest.inputs.map((input) => [input.name, input.kind])),
    limits: {
      ...deps.ceilings,
      // An operator may have lowered them since the commit was published.
      timeoutSeconds: Math.min(manifest.limits.timeoutSeconds, deps.ceilings.timeoutSeconds),
      memoryBytes: Math.min(manifest.limits.memoryBytes, deps.ceilings.memoryBytes),
      cpu: Math.min(manifest.limits.cpu, deps.ceilings.cpu),
      processes: Math.min(processes, deps.ceilings.processes),
      openFiles: Math.min(openFiles, deps.ceilings.openFiles),
      scratchBytes: Math.min(scratchBytes, deps.ceilings.scratchBytes),
    },
  };
}

function toLaneVariables({ secrets = [], env = {} }: Manifest): LaneVariables {
  const [fixed, varying] = [true, false].map((isFixed) =>
    Object.entries(env).filter(([, text]) => (listReferences(text).length === 0) === isFixed),
  ) as [[string, string][], [string, string][]];
  return { fixed: Object.fromEntries(fixed), perRun: [...secrets, ...varying.map(([name]) => name)] };
}

const toSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

async function fetchFiles(
  deps: ProgramDeps,
  manifest: Manifest,
  files: readonly StoredFile[],
  spoolDir: string,
): Promise<InputFiles[]> {
  const byInput = new Map<string, { path: string; fileName: string }[]>();
  for (const [index, file] of files.entries()) {
    const path = await deps.storage.localFile(file.storageKey, `${spoolDir}/input-${index}`, file.sha256);
    byInput.set(file.name, [...(byInput.get(file.name) ?? []), { path, fileName: file.fileName }]);
  }
  const lists = new Set(manifest.inputs.filter((input) => input.kind === "file_list").map((input) => input.name));
  return [...byInput].map(([input, found]) => ({ input, list: lists.has(input), files: found }));
}
