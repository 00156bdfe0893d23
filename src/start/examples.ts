import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { findCurrentKey } from "../../db/accounts/api-keys.ts";
import { findCommit } from "../../db/commits/commits.ts";
import { findWorkflow, type Workflow } from "../../db/commits/workflows.ts";
import type { Db } from "../../db/connect.ts";
import { type AccountId, isWorkflowId } from "../../domain/ids.ts";
import { parseManifest } from "../../domain/manifest/parse.ts";
import { messageOf } from "../../domain/message-of.ts";
import { writeWhole } from "../../system/whole-file.ts";
import type { SecretBox } from "../keys/secret-box.ts";
import { MANIFEST_FILE } from "../publish/folder.ts";
import { readLocalFolder } from "../publish/local-folder.ts";
import type { Publish } from "../publish/publish.ts";
import { findVersion } from "../version.ts";

export interface PublishedExamples {
  readonly workflows: Record<string, { workflowId: string; apiKey: string }>;
  /** Why examples are missing, each in a line for people. */
  readonly notes: string[];
}

/** The examples that were wanted when all of them had been published, and a digest of what was asked for then. */
interface Complete {
  readonly digest: string;
  readonly names: readonly string[];
}

/**
 * Publishes each wanted folder of `examples/` once; later starts publish only what changed, and leave alone what a user
 * has committed to since. Which workflow belongs to which folder is kept in the data folder. An example that cannot be
 * published, as without a network for its packages, is noted and tried again at the next start. It never keeps the
 * service from starting. A start that finds all as the last one left it reads no manifest: that took it 0.2 s.
 */
export async function publishExamples(deps: {
  db: Db;
  publish: Publish;
  secretBox: SecretBox;
  accountId: AccountId;
  folder: string;
  /** `all` that need nothing set beforehand, `none`, or names separated by commas. */
  wanted: string;
  dataDir: string;
  report: (line: string) => void;
}): Promise<PublishedExamples> {
  const recordPath = join(deps.dataDir, "examples.json");
  const completePath = join(deps.dataDir, "examples-complete.json");
  const record = await readKept<Record<string, string>>(recordPath);
  const digest = await digestOf(deps);
  const complete = await readKept<Partial<Complete>>(completePath);
  if (complete.digest === digest) {
    const { workflows, missing } = await findWorkflows(deps, complete.names ?? [], record);
    if (missing.length === 0) return { workflows, notes: [] };
  }
  const notes: string[] = [];
  const names = await chooseExamples(deps, notes);
  for (const name of names) {
    const known = await findKnown(deps.db, record[name]);
    if (known === undefined)
      deps.report(`Publishing the example ${name} (one with packages usually takes less than a minute)`);
    const problem = await publishExample(deps, name, known, async (workflowId) => {
      record[name] = workflowId;
      await writeWhole(recordPath, JSON.stringify(record, null, 2));
    });
    if (problem !== undefined) notes.push(`The example ${name} was not published: ${problem}`);
  }
  if (notes.length === 0) await writeWhole(completePath, JSON.stringify({ digest, names } satisfies Complete));
  const { workflows } = await findWorkflows(deps, names, record);
  return { workflows, notes };
}

/** The workflows of these examples, with their keys, and which examples have none. */
async function findWorkflows(
  { db, secretBox }: Pick<Parameters<typeof publishExamples>[0], "db" | "secretBox">,
  names: readonly string[],
  record: Readonly<Record<string, string>>,
) {
  const workflows: PublishedExamples["workflows"] = {};
  const missing: string[] = [];
  for (const name of names) {
    const workflowId = (await findKnown(db, record[name]))?.id;
    if (workflowId === undefined) {
      missing.push(name);
      continue;
    }
    const sealed = await findCurrentKey(db, workflowId);
    if (sealed) workflows[name] = { workflowId, apiKey: secretBox.open(sealed, workflowId).toString("utf8") };
  }
  return { workflows, missing };
}

/** Changes with everything that decides what is published: the files, the setting, and this program. */
async function digestOf({ folder, wanted }: { readonly folder: string; readonly wanted: string }): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify([findVersion(), wanted]));
  for (const name of (await readdir(folder)).toSorted()) {
    const read = await readLocalFolder(join(folder, name));
    hash.update(JSON.stringify([name, read.ok]));
    for (const { path, content, executable } of read.ok ? read.files : [])
      hash.update(JSON.stringify([path, executable, content.length])).update(content);
  }
  return hash.digest("hex");
}

async function chooseExamples(
  { wanted, folder }: { readonly wanted: string; readonly folder: string },
  notes: string[],
): Promise<string[]> {
  const there = (await readdir(folder)).toSorted();
  if (wanted === "all") {
    const needs = await Promise.all(there.map((name) => needsSettingUp(join(folder, name))));
    return there.filter((_, index) => needs[index] === false);
  }
  const names = wanted
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "none");
  for (const name of names.filter((each) => !there.includes(each)))
    notes.push(`TREADLE_EXAMPLES names ${name}, which is none of ${there.join(", ")}.`);
  return there.filter((name) => names.includes(name));
}

/** Whether an example names secrets, variables, places or destinations, which a new installation does not have. */
async function needsSettingUp(dir: string): Promise<boolean> {
  const text = await readFile(join(dir, MANIFEST_FILE), "utf8").catch(() => "");
  const none: ReadonlySet<string> = new Set();
  const setNames = { secrets: none, variables: none, places: none, destinations: none };
  return parseManifest(text).ok && !parseManifest(text, { setNames }).ok;
}

async function publishExample(
  deps: Parameters<typeof publishExamples>[0],
  name: string,
  known: Workflow | undefined,
  remember: (workflowId: string) => Promise<void>,
): Promise<string | undefined> {
  const message = `Example ${name}`;
  try {
    if (known !== undefined && !(await isUntouched(deps.db, known, message))) return undefined;
    const folder = await readLocalFolder(join(deps.folder, name));
    if (!folder.ok) return folder.problems.map((problem) => problem.message).join(" ");
    const outcome = await deps.publish({
      workflowId: known?.id ?? null,
      accountId: deps.accountId,
      files: folder.files,
      message,
      name,
      // The start prepares in the background what this host lacks.
      rebuild: false,
      // What a user commits meanwhile stays.
      ...(known === undefined ? {} : { expectedHead: known.head }),
    });
    if (outcome.kind === "invalid")
      return outcome.problems.map((problem) => `${problem.file}:${problem.line} ${problem.message}`).join(" ");
    if (outcome.kind !== "published") return "another user changed it at the same time.";
    if (known === undefined) await remember(outcome.workflowId);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Whether the latest commit, if any, is one of those made here, and nobody's. */
async function isUntouched(db: Db, { id, head }: Workflow, message: string): Promise<boolean> {
  const commit = head === null ? undefined : await findCommit(db, id, head);
  return commit === undefined || (commit.authorEmail === null && commit.message.trim() === message);
}

async function findKnown(db: Db, id: string | undefined): Promise<Workflow | undefined> {
  return id === undefined || !isWorkflowId(id) ? undefined : findWorkflow(db, id);
}

async function readKept<T extends object>(path: string): Promise<T> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return {} as T;
  }
}
