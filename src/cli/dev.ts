import type { Command } from "commander";
import type { Client } from "./client.ts";
import { type Act, addCommand, type Context } from "./command.ts";
import {
  beginExecution,
  cancelExecution,
  createFollowedLog,
  type Envelope,
  follow,
  isEnd,
  toEnvelopeAnswer,
} from "./execution-result.ts";
import { keepFolderAsDraft, requireFolder } from "./folder-draft.ts";
import { lookAtFolder, waitForChange } from "./folder-watch.ts";
import { type GivenInputs, takeInputs, toCall } from "./given-inputs.ts";
import { createInterruption } from "./interruption.ts";
import type { Answer } from "./io.ts";
import { requireKnownWorkflow } from "./known-workflow.ts";
import { workflowPathOf } from "./made-commit.ts";
import { Refusal } from "./refusal.ts";

interface Options extends GivenInputs {
  readonly account?: string;
}

/** What is done after each save. */
interface Work {
  readonly folder: string;
  readonly workflowId: string;
  readonly options: Options;
}

/** `dev DIR`: after each save, keeps the folder as the draft of its workflow and runs it, until Ctrl-C. */
export function addDevCommand(program: Command, act: Act): void {
  takeInputs(addCommand(program, "dev", "run your draft at each save of a folder, until Ctrl-C"))
    .argument("<dir>", "the folder, with its config.yaml; it was published before")
    .option("--account <name>", "the account whose workflow it is")
    .action(act<Options>(develop));
}

async function develop(context: Context, [dir = ""]: readonly string[], options: Options): Promise<Answer> {
  const folder = await requireFolder(context.io, dir);
  const client = await context.client();
  const { workflowId, name } = await requireKnownWorkflow(client, folder, options.account);
  const interruption = createInterruption(context.io, { once: true });
  const refused = new AbortController();
  const signal = AbortSignal.any([interruption.signal, refused.signal]);
  try {
    context.say(`Watching ${folder} for ${name} (${workflowId}). Ctrl-C ends it.`);
    let runs = 0;
    let last: Envelope | undefined;
    for (let seen = await lookAtFolder(folder); !signal.aborted; ) {
      const round = new AbortController();
      const changed = waitForChange(folder, seen, signal).finally(() => round.abort());
      changed.catch(() => undefined); // waited for below, when the run is over
      const ended = await runDraft(context, client, { folder, workflowId, options }, round.signal);
      if (ended !== undefined) [runs, last] = [runs + 1, ended];
      if (signal.aborted) break;
      seen = await changed;
    }
    return { document: { workflowId, runs, last: last ?? null }, lines: ["No longer watching"], interrupted: true };
  } finally {
    refused.abort(); // else the folder would be watched for ever
    interruption.end();
  }
}

/**
 * Keeps the folder as the draft and runs it. At `signal`, a save or Ctrl-C, the run is cancelled. Answers its last state;
 * undefined when it could not be begun, of which the reason was said.
 */
async function runDraft(
  context: Context,
  client: Client,
  { folder, workflowId, options }: Work,
  signal: AbortSignal,
): Promise<Envelope | undefined> {
  try {
    const { version } = await keepFolderAsDraft(client, workflowId, folder);
    if (signal.aborted) return undefined;
    context.say(`Saved as version ${version} of your draft`);
    const call = await toCall(context, options);
    const executionId = await beginExecution(client, `${workflowPathOf(workflowId)}/draft/execute`, call);
    context.say(`Run  ${client.url}/executions/${executionId}`);
    const envelope = await follow(client, { executionId, log: createFollowedLog(context), signal });
    if (isEnd(envelope)) writeLines(context, toEnvelopeAnswer(envelope, { look: context.look }).lines);
    else {
      await cancelExecution(client, executionId);
      context.say(`Cancelled ${executionId}`);
    }
    return envelope;
  } catch (error) {
    // The next save may mend it; without a user's token nothing does.
    if (!(error instanceof Refusal) || error.error === "Forbidden") throw error;
    for (const line of error.toLines()) context.say(line);
    return undefined;
  }
}

/** Results are the answer; with `--json` that is the document at the end. */
function writeLines({ io, json }: Context, lines: readonly string[]): void {
  (json ? io.stderr : io.stdout).write(`${lines.join("\n")}\n`);
}
