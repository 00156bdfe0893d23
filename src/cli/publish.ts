import { basename, resolve } from "node:path";
import type { Command } from "commander";
import type { z } from "zod";
import type { Published as PublishedDocument, PublishPreview } from "../../domain/api/publish.ts";
import type { InputChange } from "../../domain/manifest/changes.ts";
import { createArchive } from "../publish/archive.ts";
import { checkFolder } from "../publish/folder.ts";
import type { CommitFile } from "../publish/git-objects.ts";
import { readLocalFolder } from "../publish/local-folder.ts";
import type { Call, Client } from "./client.ts";
import { type Act, addCommand, type Context } from "./command.ts";
import { findPublishedCommit, rememberPublished } from "./folder-record.ts";
import { type Answer, toTable } from "./io.ts";
import { findKnownWorkflow } from "./known-workflow.ts";
import { type Detail, Refusal, toLine } from "./refusal.ts";
import { readScriptFolder } from "./script.ts";
import { showUpload } from "./upload-progress.ts";

/** Of what building the environment said; `workflows build-log` has all of it. */
const LOG_LINES_SHOWN = 12;
/** How often a build on a terminal shows that it goes on. */
const SIGN_OF_LIFE_MS = 1_000;
/** Before what was added, changed or removed. */
export const CHANGE_SIGNS = { added: "+", changed: "~", removed: "-" } as const;

export type Published = z.infer<typeof PublishedDocument>;
type Preview = z.infer<typeof PublishPreview>;

const TRIGGER_WORDS = { api: "API", form: "form" } as const;

interface Options {
  readonly workflow?: string | undefined;
  readonly account?: string;
  readonly message?: string;
  readonly dryRun?: boolean;
  readonly force?: boolean;
  /** True: a workflow is made, also from a folder that was published before. */
  readonly new?: boolean;
}

/** `publish DIR`: makes the folder the latest commit of the workflow it was published to before, or of a new one. */
export function addPublishCommand(program: Command, act: Act): void {
  addCommand(program, "publish", "publish a folder as the latest commit of a workflow")
    .argument("<dir>", "the folder, with its config.yaml; or a Python script, for which one is made")
    .option("--workflow <id>", "the workflow to publish to, rather than the one it was published to before")
    .option("--new", "make another workflow of it")
    .option("--account <name>", "the account a new workflow belongs to")
    .option("-m, --message <text>", "what changed")
    .option("--dry-run", "show what would change, and change nothing")
    .option("--force", "publish even over a commit that this folder does not know")
    .action(act<Options>(publishDir));
}

async function publishDir(context: Context, [dir]: readonly string[], options: Options): Promise<Answer> {
  const client = await context.client();
  const folder = resolve(context.io.cwd, dir as string);
  const target = { ...options, workflow: await chooseWorkflow(context, client, folder, options) };
  if (options.dryRun === true)
    return toDryRunAnswer(await upload<Preview>(context, client, folder, { ...target, force: true }));
  return toAnswer(await publishFolder(context, client, folder, target), client.url);
}

/** The workflow that is named, or that the folder was published to before, which is said first. Undefined: a new one. */
async function chooseWorkflow(
  context: Context,
  client: Client,
  folder: string,
  { workflow, new: isNew = false, account }: Options,
): Promise<string | undefined> {
  if (workflow !== undefined && isNew)
    throw new Refusal("Invalid request", "--workflow names a workflow and --new makes one: give one of them.");
  if (workflow !== undefined || isNew) return workflow;
  const known = await findKnownWorkflow(client, folder, account);
  if (known !== undefined)
    context.say(`Publishing to ${known.name} (${known.workflowId}), as before. --new makes another workflow.`);
  return known?.workflowId;
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
  const noted = await rememberPublished(folder, published.workflowId, published.commitId);
  if (!noted) context.say(`${folder} cannot be written: what it was published as is not remembered.`);
  return published;
}

async function upload<T extends { warnings?: readonly Detail[]; buildLog?: string | undefined }>(
  context: Context,
  client: Client,
  folder: string,
  options: Options,
): Promise<T> {
  const files = folder.endsWith(".py")
    ? await readScriptFolder(context, client, folder, options.account)
    : await readFiles(folder, { checked: true });
  const expectedHead =
    options.workflow === undefined || options.force === true
      ? undefined
      : await findPublishedCommit(folder, options.workflow);
  const bytes = files.reduce((sum, { content }) => sum + content.length, 0);
  const call: Call = {
    query: {
      workflow: options.workflow,
      account: options.account,
      message: options.message,
      name: basename(folder),
      expectedHead,
    },
    headers: { "content-type": "application/x-tar" },
    body: showUpload(context, createArchive(files), bytes),
  };
  const answer =
    options.dryRun === true
      ? await client.post<T>("/api/publish/preview", call)
      : await postFolder<T>(context, client, call);
  for (const warning of answer.warnings ?? []) context.say(toLine(warning));
  return answer;
}

/** On a terminal with what the build says as it comes; elsewhere with the end of it afterwards. */
async function postFolder<T extends { buildLog?: string | undefined }>(
  context: Context,
  client: Client,
  call: Call,
): Promise<T> {
  if (!context.status.isTerminal) {
    const answer = await client.post<T>("/api/publish", call);
    for (const line of (answer.buildLog ?? "").trimEnd().split("\n").slice(-LOG_LINES_SHOWN))
      if (line !== "") context.say(line);
    return answer;
  }
  const beganAt = Date.now();
  let hasBegun = false;
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - beganAt) / 1000);
    if (hasBegun) context.status.show(`Building the Python environment  ${seconds} s`);
  }, SIGN_OF_LIFE_MS);
  try {
    return await client.postAndFollow<T>("/api/publish", call, (text) => {
      hasBegun = true;
      context.say(text.trimEnd());
    });
  } catch (error) {
    // Its log stands above already.
    if (hasBegun && error instanceof Refusal) throw error.withoutFact("buildLog");
    throw error;
  } finally {
    clearInterval(timer);
    context.status.clear();
  }
}

/** The files of a folder that can be published; unless `checked`, also with mistakes that can still become right. */
export async function readFiles(
  folder: string,
  { checked, isLeftOut }: { checked: boolean; isLeftOut?: (name: string) => boolean },
): Promise<readonly CommitFile[]> {
  const read = await readLocalFolder(folder, isLeftOut).catch((error: NodeJS.ErrnoException) => {
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
  if (dryRun.schedule !== undefined) lines.push("", ...toTimetable("", dryRun.schedule, dryRun.nextRuns));
  for (const { name, nextRuns, ...schedule } of dryRun.schedules ?? [])
    lines.push("", ...toTimetable(` ${name}`, schedule, nextRuns));
  lines.push(...toNamedChangeLines(dryRun.scheduleChanges), ...toRefusedLines(dryRun.calls));
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

/** What changes in schedules with names; nothing when nothing does. */
export function toNamedChangeLines(changes: Preview["scheduleChanges"] = []): string[] {
  const lines = changes.map(
    ({ name, change, before, after }) => `Schedule ${name} ${change}: ${before ?? "-"} → ${after ?? "-"}`,
  );
  return lines.length === 0 ? [] : ["", ...lines];
}

/** How many of the last calls would be refused, with the newest of them; nothing when none would be. */
export function toRefusedLines(calls: Preview["calls"]): string[] {
  const refused = (calls?.triggers ?? []).filter((one) => one.refused > 0);
  if (calls === undefined || refused.length === 0) return [];
  return [
    "",
    ...refused.map(
      (one) => `(!) ${one.refused} of the last ${one.calls} calls by ${TRIGGER_WORDS[one.trigger]} would be refused`,
    ),
    ...calls.examples.flatMap(({ executionId, createdAt, problems }) => [
      `  ${executionId}  ${createdAt}`,
      ...problems.map(({ input, message }) => `    ${input === "" ? "" : `${input}: `}${message}`),
    ]),
  ];
}

function toTimetable(
  name: string,
  schedule: { description: string; paused: boolean },
  nextRuns: Preview["nextRuns"],
): string[] {
  if (schedule.paused) return [`Schedule${name}  ${schedule.description}, paused`];
  const runs = nextRuns.map(({ local, note }) => `  ${local}${note === undefined ? "" : `  ${note}`}`);
  return [`Schedule${name}  ${schedule.description}`, "Next runs", ...runs];
}
