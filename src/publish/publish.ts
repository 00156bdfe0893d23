import {
  type Commit,
  type CommitAuthor,
  findCommit,
  listEnvironmentsOf,
  type NewCommit,
  publishCommit,
  publishUnseenCommit,
} from "../../db/commits/commits.ts";
import { createWorkflow, findWorkflow, type Workflow } from "../../db/commits/workflows.ts";
import type { Db } from "../../db/connect.ts";
import { lockSchedule } from "../../db/schedules/schedules.ts";
import { MESSAGE_CHARACTERS_MAX } from "../../domain/api/limits.ts";
import type { FileProblem } from "../../domain/errors.ts";
import type { AccountId, CommitId, WorkflowId } from "../../domain/ids.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import { formatSize } from "../../domain/manifest/sizes.ts";
import { listDeclaredSchedules } from "../../domain/schedules/names.ts";
import { EnvironmentError } from "../../environments/build-steps.ts";
import { type CommitEnvironments, UnrunnableCommitError } from "../../environments/commit-environments.ts";
import type { BuildSpec } from "../../environments/lock.ts";
import { type Requirements, toRequirementsText } from "../../environments/requirements.ts";
import { findPlace } from "../../environments/resolver-messages.ts";
import { minorVersionOf } from "../../sandbox/interpreter.ts";
import { createWorkflowId } from "../ids.ts";
import { createApiKey, hashApiKey } from "../keys/api-key.ts";
import type { SecretBox } from "../keys/secret-box.ts";
import type { Log } from "../log.ts";
import { type CommitFile, createCommit, createTree } from "./git-objects.ts";
import { publishFirstSchedules, publishSchedules } from "./published-schedule.ts";
import { type Abilities, checkCode, type Validation, validateFolder } from "./validation.ts";

const NAME_CHARACTERS_MAX = 200;
/** How often a publish without an expected head starts again because another one was quicker. */
const RACES_MAX = 5;
/** Of the environments that the latest commits of an account need: five of the largest. */
const ENVIRONMENT_BYTES_OF_ACCOUNT_MAX = 20 * 1024 ** 3;
/** The log's own limit, twice: of resolving, and of building. */
const LOG_CHARACTERS_MAX = 2_000_000;

export interface PublishRequest {
  /** Null: a new workflow of the account. */
  readonly workflowId: WorkflowId | null;
  readonly accountId: AccountId;
  /** What a new workflow is called when its manifest has no name. */
  readonly name: string;
  readonly files: readonly CommitFile[];
  readonly message: string;
  /** The commit the folder is based on (null: none). Undefined: any head. */
  readonly expectedHead?: CommitId | null | undefined;
  /** Who commits, for the record. */
  readonly author?: CommitAuthor | undefined;
  /** False: where the files are the head already, nothing that this host lacks for them is built. */
  readonly rebuild?: boolean;
  /** Called with each line of the environment's build. */
  readonly report?: ((line: string) => void) | undefined;
}

export type Publication =
  | {
      readonly kind: "published";
      readonly workflowId: WorkflowId;
      readonly commitId: CommitId;
      /** True when the workflow was made. */
      readonly created: boolean;
      /** False when the head has exactly these files already: then no commit is made, also with another message. */
      readonly changed: boolean;
      /** Of a new workflow. */
      readonly apiKey: string | null;
      readonly warnings: readonly FileProblem[];
      /** What making the environment said; empty where there was nothing to make. */
      readonly buildLog: string;
    }
  | { readonly kind: "invalid"; readonly problems: readonly FileProblem[]; readonly buildLog: string }
  | { readonly kind: "head_moved"; readonly head: CommitId | null }
  | { readonly kind: "unknown_workflow" };

/** What an environment is made with, for which account, and who gets its progress. */
type BuildOptions = BuildSpec & { readonly accountId: AccountId; readonly report: (line: string) => void };

export interface PublisherDeps extends Abilities {
  readonly db: Db;
  readonly secretBox: SecretBox;
  readonly environments: {
    lock(
      requirements: Requirements,
      options: BuildOptions,
    ): Promise<{ ok: true; lock: string; key: string } | { ok: false; problems: readonly FileProblem[]; log: string }>;
    ensure(key: string, lock: string, options: BuildOptions): Promise<unknown>;
    measure(keys: readonly string[]): Promise<number>;
  };
  /** What builds again what this host lacks for a commit. */
  readonly commitEnvironments?: Pick<CommitEnvironments, "ensure">;
  /** 20 GiB unless given. */
  readonly environmentBytesOfAccountMax?: number;
  readonly log: Log;
}

export type Publish = (request: PublishRequest) => Promise<Publication>;

/**
 * Publishing: check the folder, build its environment, store it as a git commit, move the head. All or nothing: the
 * head moves in the last statement of one transaction that begins after everything slow is done. A published commit
 * can run at once. Safe to repeat: files that are the head already make no new commit, and what this host lacks to run them is built.
 */
export function createPublisher(deps: PublisherDeps): Publish {
  const { db, log } = deps;

  return async function publish(request) {
    const validation = await validateFolder(request.files, deps, request);
    if (!validation.ok) return refuse(deps, request, validation);

    const workflow = request.workflowId === null ? undefined : await findWorkflow(db, request.workflowId);
    if (workflow === undefined && request.workflowId !== null) return { kind: "unknown_workflow" };
    const { treeId, objects } = createTree(request.files);
    const same = workflow && (await findSame(db, workflow, treeId));
    if (same !== undefined) return publishSame(deps, request, same, validation);
    const head = workflow?.head ?? null;
    if (request.expectedHead !== undefined && request.expectedHead !== head) return { kind: "head_moved", head };

    const code = await checkCode(request.files, validation, deps, request.accountId);
    if (code.problems.length > 0) return { kind: "invalid", problems: code.problems, buildLog: "" };
    const { manifest, python } = validation;
    const built = await buildEnvironment(deps, validation, request);
    if (!built.ok) return { kind: "invalid", problems: built.problems, buildLog: built.log };

    const { environment } = built;
    const content = { treeId, objects, manifest, environment, python: minorVersionOf(python) };
    const outcome = await store(deps, request, workflow, content);
    if (outcome.kind === "published") {
      log.info(
        { event: "workflow.published", workflowId: outcome.workflowId, commitId: outcome.commitId },
        "A commit was published.",
      );
      return { ...outcome, changed: true, warnings: [...validation.warnings, ...code.warnings], buildLog: built.log };
    }
    return outcome;
  };
}

/** With the problems of its code as well, so that all of them come at once. */
async function refuse(
  deps: PublisherDeps,
  { files, accountId }: PublishRequest,
  validation: Extract<Validation, { ok: false }>,
): Promise<Publication> {
  const code = await checkCode(files, validation, deps, accountId);
  return { kind: "invalid", problems: [...validation.problems, ...code.problems], buildLog: "" };
}

/** Returns the head when it has exactly these files. */
async function findSame(db: Db, { id, head }: Workflow, treeId: string): Promise<Commit | undefined> {
  const commit = head === null ? undefined : await findCommit(db, id, head);
  return commit?.treeId === treeId ? commit : undefined;
}

/** Makes no commit. Builds what this host lacks for the one that there is: its Python or C library may be another one since. */
async function publishSame(
  { commitEnvironments }: PublisherDeps,
  { accountId, rebuild = true, report: passOn }: PublishRequest,
  { id: commitId, ...commit }: Commit,
  { requirements, warnings }: Extract<Validation, { ok: true }>,
): Promise<Publication> {
  const said = createBuildLog(passOn);
  try {
    if (rebuild && requirements !== null)
      await commitEnvironments?.ensure({ ...commit, commitId, accountId }, { report: said.report, isRepeated: true });
  } catch (error) {
    if (!(error instanceof UnrunnableCommitError) || isDiskFull(error.cause) || requirements === null) throw error;
    const problem = { ...findPlace(error.message, requirements), message: error.message };
    return { kind: "invalid", problems: [problem], buildLog: said.text() };
  }
  const { workflowId } = commit;
  return {
    kind: "published",
    workflowId,
    commitId,
    created: false,
    changed: false,
    apiKey: null,
    warnings,
    buildLog: said.text(),
  };
}

/** A full disk is the operator's; everything else an installer says is for the author of the requirements. */
function isDiskFull(error: unknown): boolean {
  return error instanceof EnvironmentError && error.kind === "disk_full";
}

/** Keeps what a build says, and passes it on. */
function createBuildLog(passOn: PublishRequest["report"]): { report(line: string): void; text(): string } {
  let text = "";
  return {
    report(line) {
      passOn?.(line);
      if (text.length < LOG_CHARACTERS_MAX) text += `${line}\n`;
    },
    text: () => text,
  };
}

type Built =
  | { readonly ok: true; readonly environment: NewCommit["environment"]; readonly log: string }
  | { readonly ok: false; readonly problems: readonly FileProblem[]; readonly log: string };

/** Makes the environment that a valid folder needs. Returns it with the installer's log. */
export async function buildEnvironment(
  deps: PublisherDeps,
  { manifest, python, requirements }: Extract<Validation, { ok: true }>,
  {
    accountId,
    workflowId = null,
    report: passOn,
  }: Pick<PublishRequest, "accountId" | "report"> & Partial<PublishRequest>,
): Promise<Built> {
  if (requirements === null) return { ok: true, environment: null, log: "" };
  const { environments } = deps;
  const said = createBuildLog(passOn);
  const options = { python, build: manifest.build, accountId, report: said.report };
  try {
    const locked = await environments.lock(requirements, options);
    if (!locked.ok) return locked;
    const { key, lock } = locked;
    const excess = await findEnvironmentExcess(deps, { accountId, workflowId }, key);
    if (excess !== undefined)
      return { ok: false, problems: [{ ...findPlace(excess, requirements), message: excess }], log: said.text() };
    await environments.ensure(key, lock, options);
    return {
      ok: true,
      environment: { key, lock, interpreter: python.version, requirements: toRequirementsText(requirements) },
      log: said.text(),
    };
  } catch (error) {
    if (!(error instanceof EnvironmentError) || isDiskFull(error)) throw error;
    const problem = { ...findPlace(error.message, requirements), message: error.message };
    const log = said.text();
    return { ok: false, problems: [problem], log: log.includes(error.log) ? log : error.log };
  }
}

/** Why an account may not have one more environment; undefined when it may, or has this one already. */
async function findEnvironmentExcess(
  { db, environments, environmentBytesOfAccountMax: bytesMax = ENVIRONMENT_BYTES_OF_ACCOUNT_MAX }: PublisherDeps,
  { accountId, workflowId }: Pick<PublishRequest, "accountId" | "workflowId">,
  key: string,
): Promise<string | undefined> {
  const keys = await listEnvironmentsOf(db, accountId, workflowId);
  if (keys.includes(key)) return undefined;
  const bytes = await environments.measure(keys);
  if (bytes < bytesMax) return undefined;
  return `The packages of this account's workflows take ${formatSize(bytes)}; no others are added from ${formatSize(bytesMax)} on. Delete workflows, or let several ask for the same packages: those are kept once.`;
}

type Content = Pick<NewCommit, "treeId" | "objects" | "environment" | "python"> & { readonly manifest: Manifest };
type Stored =
  | Exclude<Publication, { kind: "published" | "invalid" }>
  | { kind: "published"; workflowId: WorkflowId; commitId: CommitId; created: boolean; apiKey: string | null };

async function store(
  deps: PublisherDeps,
  request: PublishRequest,
  workflow: Workflow | undefined,
  content: Content,
): Promise<Stored> {
  let parentId = workflow?.head ?? null;
  for (let races = 0; ; races += 1) {
    const stored = await storeOn(deps, request, workflow?.id, parentId, content);
    const mayRepeat = stored.kind === "head_moved" && request.expectedHead === undefined && races < RACES_MAX;
    if (!mayRepeat) return stored;
    parentId = stored.head;
  }
}

/** A new workflow and its first commit appear together or not at all. */
async function storeOn(
  deps: PublisherDeps,
  request: PublishRequest,
  workflowId: WorkflowId | undefined,
  parentId: CommitId | null,
  content: Content,
): Promise<Stored> {
  const schedules = listDeclaredSchedules(content.manifest);
  return deps.db.transaction(async (tx): Promise<Stored> => {
    if (workflowId === undefined) {
      const target = await createTarget(tx, deps.secretBox, request, content.manifest);
      const commit = toCommit(request, { workflowId: target.id, parentId }, content);
      await publishUnseenCommit(tx, commit);
      await publishFirstSchedules(tx, { workflowId: target.id, schedules, at: new Date() });
      return { kind: "published", workflowId: target.id, commitId: commit.id, created: true, apiKey: target.apiKey };
    }
    const commit = toCommit(request, { workflowId, parentId }, content);
    await lockSchedule(tx, workflowId);
    const outcome = await publishCommit(tx, commit);
    if (outcome.kind !== "published") return outcome;
    await publishSchedules(tx, { workflowId, schedules, at: new Date() });
    return { kind: "published", workflowId, commitId: commit.id, created: false, apiKey: null };
  });
}

function toCommit(
  request: PublishRequest,
  place: Pick<NewCommit, "workflowId" | "parentId">,
  { treeId, objects, ...content }: Content,
): NewCommit {
  const message = toMessage(request.message);
  const author = request.author ?? null;
  const { parentId } = place;
  const commit = createCommit({ treeId, parentId, author: author?.email, message, committedAt: new Date() });
  return {
    ...place,
    id: commit.id as CommitId,
    treeId,
    message,
    ...content,
    author,
    objects: [...objects, commit],
  };
}

async function createTarget(
  tx: Db,
  secretBox: SecretBox,
  request: PublishRequest,
  manifest: Manifest,
): Promise<{ id: WorkflowId; apiKey: string }> {
  const id = createWorkflowId();
  const apiKey = createApiKey();
  const name = (manifest.name ?? toOneLine(request.name)).slice(0, NAME_CHARACTERS_MAX) || "Workflow";
  await createWorkflow(tx, {
    id,
    accountId: request.accountId,
    name,
    keyHash: hashApiKey(apiKey),
    keyEncrypted: secretBox.seal(apiKey, id),
  });
  return { id, apiKey };
}

/** The message as git keeps it, without what PostgreSQL or a terminal would stumble over. */
function toMessage(text: string): string {
  const clean = text.replaceAll("\r\n", "\n").replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]|\p{Surrogate}/gu, " ");
  return clean.trim().slice(0, MESSAGE_CHARACTERS_MAX) || "Publish";
}

function toOneLine(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]|\p{Surrogate}/gu, " ").trim();
}
