import type { Command } from "commander";
import type { z } from "zod";
import type { CancelledExecutions } from "../../domain/api/executions.ts";
import { CANCELLED_AT_ONCE_MAX } from "../../domain/api/limits.ts";
import type { Client } from "./client.ts";
import { type Act, addCommand, addGroup, type Context } from "./command.ts";
import { addListCommand } from "./execution-list.ts";
import { addRecordCommands } from "./execution-record.ts";
import { type Envelope, followToEnd, getEnvelope, getLog, logPathOf, toEnvelopeAnswer } from "./execution-result.ts";
import type { Answer } from "./io.ts";

/** `executions list|show|record|logs|download|cancel|rerun`. */
export function addExecutionCommands(program: Command, act: Act): void {
  const executions = addGroup(program, "executions", "what was executed");
  addListCommand(executions, act);
  addCommand(executions, "show", "show how an execution ended, or that it goes on")
    .argument("<execution>")
    .action(
      act(async (context, [id = ""]) =>
        toEnvelopeAnswer(await getEnvelope(await context.client(), id), { look: context.look }),
      ),
    );
  addLogsCommand(executions, act);
  addLogsCommand(program, act);
  addCommand(executions, "cancel", "stop an execution, or several")
    .argument("<execution...>")
    .option("--account <name>", "the account of several, instead of the first")
    .action(act<{ account?: string }>(cancel));
  addRecordCommands(executions, act);
}

/** `logs` and `executions logs` are one command. */
function addLogsCommand(parent: Command, act: Act): void {
  addCommand(parent, "logs", "print what the program of an execution has printed")
    .argument("<execution>")
    .option("-f, --follow", 'go on until it has ended, and answer as "run" does')
    .action(
      act<{ follow?: boolean }>(async (context, [executionId = ""], { follow }) => {
        const client = await context.client();
        if (follow === true) return followToEnd(context, client, executionId);
        const log = await getLog(client, executionId);
        return { document: { executionId, log }, lines: log === "" ? [] : [log.replace(/\n$/, "")] };
      }),
    );
}

async function cancel(context: Context, ids: readonly string[], { account }: { account?: string }): Promise<Answer> {
  const client = await context.client();
  const [executionId = "", ...others] = ids;
  if (others.length > 0) return cancelSeveral(client, ids, account);
  const document = await client.post<Envelope>(`${logPathOf(executionId)}/cancel`);
  const ended = document.status !== "queued" && document.status !== "running";
  return { document, lines: [ended ? `${executionId} has ended: ${document.status}` : `Cancelling ${executionId}`] };
}

async function cancelSeveral(client: Client, ids: readonly string[], account: string | undefined): Promise<Answer> {
  const parts: z.infer<typeof CancelledExecutions>[] = [];
  for (let at = 0; at < ids.length; at += CANCELLED_AT_ONCE_MAX) {
    const json = { executionIds: ids.slice(at, at + CANCELLED_AT_ONCE_MAX) };
    parts.push(
      await client.post<z.infer<typeof CancelledExecutions>>("/api/executions/cancel", { query: { account }, json }),
    );
  }
  const document: z.infer<typeof CancelledExecutions> = {
    cancelled: parts.flatMap((part) => part.cancelled),
    ended: parts.flatMap((part) => part.ended),
    unknown: parts.flatMap((part) => part.unknown),
  };
  const lines = [
    ...document.cancelled.map((id) => `Cancelling ${id}`),
    ...document.ended.map((id) => `${id} has ended`),
    ...document.unknown.map((id) => `${id} is none of the account's`),
  ];
  return { document, lines, good: document.unknown.length === 0 };
}
