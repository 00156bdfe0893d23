import { resolve } from "node:path";
import type { Command } from "commander";
import type { z } from "zod";
import type { Validity } from "../../domain/api/results.ts";
import { isWorkflowId } from "../../domain/ids.ts";
import type { Client } from "./client.ts";
import { type Act, addCommand, type Context } from "./command.ts";
import { formatEstimate } from "./cost-estimate.ts";
import { execute } from "./execution-result.ts";
import { findLastWorkflow } from "./folder-record.ts";
import { type GivenInputs, takeInputs, toCall } from "./given-inputs.ts";
import type { Answer } from "./io.ts";
import { workflowPathOf } from "./made-commit.ts";
import { publishFolder } from "./publish.ts";
import { Refusal, toRefusal } from "./refusal.ts";

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
  const workflowId = isWorkflowId(target) ? target : await publishTarget(context, client, target, options);
  const call = await toCall(options, context.io.cwd);
  return execute(context, client, `/api/workflows/${workflowId}/execute`, call);
}

/** What the caller has written and not committed; without that, the files of the latest commit. */
async function runDraft(context: Context, client: Client, target: string, options: Options): Promise<Answer> {
  if (!isWorkflowId(target))
    throw new Refusal("Invalid request", `A draft is of a workflow: name it by its id (wf_…) instead of ${target}.`);
  if (options.dryRun === true)
    throw new Refusal("Invalid request", '--dry-run does not work with a draft. Validate it with "drafts preview".');
  const call = await toCall(options, context.io.cwd);
  return execute(context, client, `${workflowPathOf(target)}/draft/execute`, call);
}

/** Validates the inputs, and publishes nothing: a folder stands for the workflow it was last published to. */
async function validate(context: Context, client: Client, target: string, options: Options): Promise<Answer> {
  const workflowId = isWorkflowId(target)
    ? target
    : await findLastWorkflow(resolve(context.io.cwd, target)).then((last) => findKnownWorkflow(client, last));
  if (workflowId === undefined)
    throw new Refusal(
      "Not published",
      `${target} was not published to this service yet. "publish --dry-run" checks it.`,
    );
  const call = await toCall(options, context.io.cwd);
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
async function publishTarget(context: Context, client: Client, dir: string, options: Options): Promise<string> {
  const folder = resolve(context.io.cwd, dir);
  const workflow = await findKnownWorkflow(client, await findLastWorkflow(folder));
  const published = await publishFolder(context, client, folder, {
    ...(workflow === undefined ? {} : { workflow }),
    ...(options.account === undefined ? {} : { account: options.account }),
  });
  if (published.changed) context.say(`Published ${published.commitId.slice(0, 12)} to ${published.workflowId}`);
  return published.workflowId;
}

/** Undefined when the workflow is gone, or belongs to another service. */
async function findKnownWorkflow(client: Client, workflowId: string | undefined): Promise<string | undefined> {
  if (workflowId === undefined) return undefined;
  const { status, body } = await client.call("GET", workflowPathOf(workflowId));
  if (status === 200) return workflowId;
  if (status === 404) return undefined;
  throw toRefusal(status, body);
}
