import { basename, resolve } from "node:path";
import type { Command } from "commander";
import type { z } from "zod";
import type { Published as PublishedDocument, PublishPreview } from "../../domain/api/publish.ts";
import type { InputChange } from "../../domain/manifest/changes.ts";
import { createArchive } from "../publish/archive.ts";
import { checkFolder } from "../publish/folder.ts";
import type { CommitFile } from "../publish/git-objects.ts";
import { readLocalFolder } from "../publish/local-folder.ts";
import type { Client } from "./client.ts";
import { type Act, addCommand, type Context } from "./command.ts";
import { findPublishedCommit, rememberPublished } from "./folder-record.ts";
import { type Answer, toTable } from "./io.ts";
import { type Detail, Refusal } from "./refusal.ts";

/** Of what building the environment said; `workflows build-log` has all of it. */
const LOG_LINES_SHOWN = 12;
/** Before what was added, changed or removed. */
export const CHANGE_SIGNS = { added: "+", changed: "~", removed: "-" } as const;

export type Published = z.infer<typeof PublishedDocument>;
type Preview = z.infer<typeof PublishPreview>;

interface Options {
  readonly workflow?: string;
  readonly account?: string;
  readonly message?: string;
  readonly dryRun?: boolean;
  readonly force?: boolean;
}

/** `publish DIR`: makes the folder the latest commit of a workflow, a new one unless `--workflow` names it. */
export function addPublishCommand(program: Command, act: Act): void {
  addCommand(program, "publish", "publish a folder as the latest commit of a workflow")
    .argument("<dir>", "the folder, with its config.yaml")
    .option("--workflow <id>", "the workflow to publish to; without it a new one is made")
    .option("--account <name>", "the account a new workflow belongs to")
    .option("-m, --message <text>", "what changed")
    .option("--dry-run", "show what would change, and change nothing")
    .option("--force", "publish even over a commit that this folder does not know")
    .action(act<Options>(publishDir));
}

async function publishDir(context: Context, [dir]: readonly string[], options: Options): Promise<Answer> {
  const client = await context.client();
  const folder = resolve(context.io.cwd, dir as string);
  if (options.dryRun === true)
    return toDryRunAnswer(await upload<Preview>(context, client, folder, { ...options, force: true }));
  const published = await publishFolder(context, client, folder, options);
  return toAnswer(published, client.url);
}

/**
 * Publishes a folder, and records in it the commit that it became. A later publish to the same workflow is refused when
 * another commit came in between.
 */
export async function publishFolder(
  context: Context,
  client: Client,
  folder: string,
  options: Options,
): Promise<Published> {
  const published = await upload<Published>(context, client, folder, options);
  for (const line of (published.buildLog ?? "").trimEnd().split("\n").slice(-LOG_LINES_SHOWN)) {
    if (line !== "") context.say(line);
  }
  const noted = await rememberPublished(folder, published.workflowId, published.commitId);
  if (!noted) context.say(`${folder} cannot be written: what it was published as is not remembered.`);
  return published;
}

async function upload<T extends { warnings?: readonly Detail[] }>(
  context: Context,
  client: Client,
  folder: string,
  options: Options,
): Promise<T> {
  const files = await readFiles(folder, { checked: true });
  const expectedHead =
    options.workflow === undefined || options.force === true
      ? undefined
      : await findPublishedCommit(folder, options.workflow);
  const answer = await client.post<T>(options.dryRun === true ? "/api/publish/preview" : "/api/publish", {
    query: {
      workflow: options.workflow,
      account: options.account,
      message: options.message,
      name: basename(folder),
      expectedHead,
    },
    headers: { "content-type": "application/x-tar" },
    body: createArchive(files),
  });
  for (const warning of answer.warnings ?? []) context.say(`${warning.file}: ${warning.message}`);
  return answer;
}

/** The files of a folder that can be published; unless `checked`, also with mistakes that can still become right. */
export async function readFiles(folder: string, { checked }: { checked: boolean }): Promise<readonly CommitFile[]> {
  const read = await readLocalFolder(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") throw new Refusal("No such folder", `There is no folder ${folder}.`, { cause: error });
    if (error.code === "EACCES")
      throw new Refusal("Not allowed", `${error.path ?? folder} cannot be read.`, { cause: error });
    throw error;
  });
  const problems = read.ok ? (checked ? checkFolder(read.files).problems : []) : read.problems;
  if (read.ok && problems.length === 0) return read.files;
  throw new Refusal("Invalid request", `${folder} cannot be published.`, { details: problems });
}

function toAnswer(published: Published, serviceUrl: string): Answer {
  const { workflowId, commitId, created, changed, apiKey } = published;
  const executeUrl = `${serviceUrl}/api/workflows/${workflowId}/execute`;
  const document = { workflowId, commitId, created, changed, ...(apiKey === undefined ? {} : { apiKey }), executeUrl };
  const lines = [
    changed
      ? `Published ${commitId} to ${workflowId}`
      : `Nothing changed: ${commitId} is the latest commit of ${workflowId} already`,
    ...(apiKey === undefined ? [] : [`API key  ${apiKey}`]),
    `Execute  POST ${executeUrl}`,
  ];
  return { document, lines };
}

function toDryRunAnswer(dryRun: Preview): Answer {
  const files = dryRun.files.map((file) => [
    CHANGE_SIGNS[file.change],
    file.path,
    file.linesAdded === null ? "binary" : `+${file.linesAdded} -${file.linesRemoved}`,
  ]);
  const lines = files.length === 0 ? ["No file changes."] : toTable(["", "File", "Lines"], files);
  lines.push(...toInputLines(dryRun.inputs));
  if (dryRun.schedule !== undefined) lines.push("", ...toTimetable(dryRun.schedule, dryRun.nextRuns));
  return { document: dryRun, lines };
}

/** What changes for callers; nothing when nothing does. */
export function toInputLines(inputs: readonly InputChange[]): string[] {
  const rows = inputs.map((one) => [
    CHANGE_SIGNS[one.change],
    one.input,
    `${one.message}${one.breaking ? " (!)" : ""}`,
  ]);
  return rows.length === 0 ? [] : ["", ...toTable(["", "Input", "For callers"], rows)];
}

function toTimetable(schedule: { description: string; paused: boolean }, nextRuns: Preview["nextRuns"]): string[] {
  if (schedule.paused) return [`Schedule  ${schedule.description}, paused`];
  const runs = nextRuns.map(({ local, note }) => `  ${local}${note === undefined ? "" : `  ${note}`}`);
  return [`Schedule  ${schedule.description}`, "Next runs", ...runs];
}
