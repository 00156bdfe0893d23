import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { InvalidArgumentError } from "commander";
import { isWorkflowId } from "../../domain/ids.ts";
import type { NextRun } from "../publish/next-runs.ts";
import type { Call, Client } from "./client.ts";
import { type Act, addCommand, type Context } from "./command.ts";
import { type CostEstimate, formatEstimate } from "./cost-estimate.ts";
import { type Envelope, getApiKey, getEnvelope, getLog, toEnvelopeAnswer } from "./executions.ts";
import { findLastWorkflow } from "./folder-record.ts";
import { createForm } from "./form.ts";
import type { Answer } from "./io.ts";
import { publishFolder } from "./publish.ts";
import { Refusal, toRefusal } from "./refusal.ts";

const NO_CREDITS = 402;
const POLL_MS_MIN = 150;
const POLL_MS_MAX = 2_000;
/** The log says of each line when it was written and to which stream; somebody watching sees that for himself. */
const LINE_PREFIX = /^\d{4}-\S+ (?:stdout|stderr|system) /gm;

interface Named {
  readonly name: string;
  readonly value: string;
}

interface Options {
  readonly input: readonly Named[];
  readonly file: readonly Named[];
  readonly account?: string;
  readonly dryRun?: boolean;
}

/** `run wf_…|DIR`: executes, prints the log as it comes, then the result. Exit code 1 unless it succeeded. */
export function addRunCommand(program: Command, act: Act): void {
  addCommand(program, "run", "execute a workflow, or publish a folder and execute it")
    .argument("<workflow-or-dir>")
    .option("-i, --input <name=value>", "an input; JSON, or plain text where the input is text", collectNamed, [])
    .option("-f, --file <name=@path>", "a file input; repeat it for a list of files", collectNamed, [])
    .option("--account <name>", "the account a new workflow belongs to")
    .option("--dry-run", "judge the inputs against the latest commit, and execute nothing")
    .action(act<Options>(run));
}

function collectNamed(text: string, previous: readonly Named[]): Named[] {
  const equals = text.indexOf("=");
  if (equals < 1) throw new InvalidArgumentError("It must be a name, an equals sign and a value.");
  return [...previous, { name: text.slice(0, equals), value: text.slice(equals + 1) }];
}

async function run(context: Context, [target]: readonly string[], options: Options): Promise<Answer> {
  const client = await context.client();
  if (options.dryRun === true) return judge(context, client, target as string, options);
  const workflowId = isWorkflowId(target as string)
    ? (target as string)
    : await publishTarget(context, client, target as string, options);
  const apiKey = await getApiKey(client, workflowId);
  const form = await toCall(options, context.io.cwd);
  const { status, body } = await client.call("POST", `/api/workflows/${workflowId}/execute`, {
    ...form,
    headers: { ...form.headers, prefer: "respond-async" },
  });
  const { executionId } = (typeof body === "object" && body !== null ? body : {}) as { executionId?: unknown };
  if (typeof executionId !== "string" || status === NO_CREDITS) throw toRefusal(status, body);
  return toEnvelopeAnswer(await follow(context, client, executionId, apiKey), { mustSucceed: true });
}

interface Validity {
  readonly valid: boolean;
  readonly nextRuns: readonly NextRun[];
  readonly schedule?: { readonly description: string; readonly paused: boolean };
  readonly estimate?: CostEstimate;
}

/** Nothing is published for it: a folder stands for the workflow it was last published to. */
async function judge(context: Context, client: Client, target: string, options: Options): Promise<Answer> {
  const workflowId = isWorkflowId(target)
    ? target
    : await findLastWorkflow(resolve(context.io.cwd, target)).then((last) => findKnownWorkflow(client, last));
  if (workflowId === undefined)
    throw new Refusal(
      "Not published",
      `${target} was not published to this service yet. "publish --dry-run" checks it.`,
    );
  const call = await toCall(options, context.io.cwd);
  const document = await client.post<Validity>(`/api/workflows/${workflowId}/validate`, call);
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
  const { status, body } = await client.call("GET", `/api/operator/workflows/${encodeURIComponent(workflowId)}`);
  if (status === 200) return workflowId;
  if (status === 404) return undefined;
  throw toRefusal(status, body);
}

async function toCall(options: Options, cwd: string): Promise<Call> {
  if (options.input.length === 0 && options.file.length === 0) return { json: {} };
  const form = await createForm(
    options.input.map(({ name, value }) => ({ name, text: value })),
    options.file.map(({ name, value }) => ({ name, path: value.replace(/^@/, "") })),
    cwd,
  );
  return { headers: { "content-type": form.contentType, "content-length": String(form.bytes) }, body: form.body };
}

/** Prints the log as it grows until the execution has ended; answers how it ended. */
async function follow(context: Context, client: Client, executionId: string, apiKey: string): Promise<Envelope> {
  const out = context.json ? context.io.stderr : context.io.stdout;
  let printed = 0;
  for (let pauseMs = POLL_MS_MIN; ; pauseMs = Math.min(pauseMs * 1.5, POLL_MS_MAX)) {
    // Asked before the log is read: what is printed after the end is then always whole.
    const envelope = await getEnvelope(client, executionId, apiKey);
    const log = await getLog(client, executionId, apiKey);
    if (log.length > printed) {
      out.write(log.slice(printed).replace(LINE_PREFIX, ""));
      printed = log.length;
      pauseMs = POLL_MS_MIN;
    }
    if (envelope.status !== "queued" && envelope.status !== "running") {
      return envelope;
    }
    await sleep(pauseMs);
  }
}
