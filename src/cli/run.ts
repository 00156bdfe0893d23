import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { z } from "zod";
import type { Validity } from "../../domain/api/results.ts";
import { isWorkflowId } from "../../domain/ids.ts";
import type { Client } from "./client.ts";
import { type Act, addCommand, type Context } from "./command.ts";
import { formatEstimate } from "./cost-estimate.ts";
import { execute } from "./execution-result.ts";
import { type GivenInputs, takeInputs, toCall } from "./given-inputs.ts";
import type { Answer } from "./io.ts";
import { findKnownWorkflow } from "./known-workflow.ts";
import { workflowPathOf } from "./made-commit.ts";
import { publishFolder } from "./publish.ts";
import { Refusal } from "./refusal.ts";
import { requireWorkflow } from "./workflow-names.ts";

interface Options extends GivenInputs {
  readonly account?: string;
  readonly draft?: boolean;
  readonly dryRun?: boolean;
}

/** `run wf_…|DIR`: executes, prints the log as it comes, then the result. Exit code 1 unless it succeeded. */
export function addRunCommand(program: Command, act: Act): void {
  takeInputs(addCommand(program, "run", "execute a workflow, or publish a folder and execute it"))
    .argument("<workflow-or-dir>")
    .option("--account <name>", "the account a new workflow belongs to")
    .option("--draft", "execute your draft of the workflow, and commit nothing")
    .option("--dry-run", "validate the inputs against the latest commit, without running it")
    .action(act<Options>(run));
}

async function run(context: Context, [target = ""]: readonly string[], options: Options): Promise<Answer> {
  const client = await context.client();
  if (options.draft === true) return runDraft(context, client, target, options);
  if (options.dryRun === true) return validate(context, client, target, options);
  const { folder, workflowId } = await findTarget(context, client, target, options);
  const wanted = workflowId ?? (await publishTarget(context, client, folder, options));
  const call = await toCall(context, options);
  return execute(context, client, `/api/workflows/${wanted}/execute`, call);
}

/** What the caller has written and not committed; without that, the files of the latest commit. */
async function runDraft(context: Context, client: Client, target: string, options: Options): Promise<Answer> {
  if (options.dryRun === true)
    throw new Refusal("Invalid request", '--dry-run does not work with a draft. Validate it with "drafts preview".');
  const workflowId = await requireTarget(context, client, target, options);
  const call = await toCall(context, options);
  return execute(context, client, `${workflowPathOf(workflowId)}/draft/execute`, call);
}

/** Validates the inputs, and publishes nothing: a folder stands for the workflow it was last published to. */
async function validate(context: Context, client: Client, target: string, options: Options): Promise<Answer> {
  const workflowId = await requireTarget(context, client, target, options);
  const call = await toCall(context, options);
  const document = await client.post<z.infer<typeof Validity>>(`/api/workflows/${workflowId}/validate`, call);
  const { estimate } = document;
  const lines = [
    `${workflowId} would take these inputs.`,
    estimate === undefined
      ? "It has not succeeded yet, so its usual cost is not known."
      : `Usual cost  ${formatEstimate(estimate)}`,
  ];
  return { document, lines };
}

/** The workflow this folder was last published to, or a new one. Publishing an unchanged folder changes nothing. */
async function publishTarget(context: Context, client: Client, folder: string, options: Options): Promise<string> {
  const workflow = (await findKnownWorkflow(client, folder, options.account))?.workflowId;
  const published = await publishFolder(context, client, folder, {
    ...(workflow === undefined ? {} : { workflow }),
    ...(options.account === undefined ? {} : { account: options.account }),
  });
  if (published.changed) context.say(`Published ${published.commitId.slice(0, 12)} to ${published.workflowId}`);
  return published.workflowId;
}

/** What is to be run: a workflow, or else a folder. A folder of this name comes before a workflow of this name. */
async function findTarget(
  { io }: Context,
  client: Client,
  target: string,
  { account }: Options,
): Promise<{ readonly folder: string; readonly workflowId?: string }> {
  const folder = resolve(io.cwd, target);
  if (isWorkflowId(target)) return { folder, workflowId: target };
  const isThere = await stat(folder).then(
    () => true,
    () => false,
  );
  if (isThere) return { folder };
  if (/^\.{0,2}\/|\/$/.test(target)) throw new Refusal("No such folder", `There is no folder ${folder}.`);
  return { folder, workflowId: await requireWorkflow(client, target, account) };
}

/** The workflow that is named, or that the folder was published to. Publishes nothing. */
async function requireTarget(context: Context, client: Client, target: string, options: Options): Promise<string> {
  const { folder, workflowId } = await findTarget(context, client, target, options);
  const known = workflowId ?? (await findKnownWorkflow(client, folder, options.account))?.workflowId;
  if (known !== undefined) return known;
  throw new Refusal("Not published", `${target} was not published to this service yet. "publish --dry-run" checks it.`);
}
