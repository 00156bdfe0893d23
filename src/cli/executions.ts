import type { Command } from "commander";
import type { Client } from "./client.ts";
import { type Act, addCommand, addGroup, parseCount } from "./command.ts";
import { type Answer, toTable } from "./io.ts";
import { toRefusal } from "./refusal.ts";

export interface ExecutionDocument {
  readonly executionId: string;
  readonly workflowId: string;
  readonly status: string;
  readonly trigger: string;
  readonly createdAt: string;
  /** Only of one that was refused for want of credits. */
  readonly needed?: number;
  readonly available?: number;
}

/** What execute and `GET /api/run-logs/{id}` answer: the parts the command line shows. */
export interface Envelope {
  readonly status: string;
  readonly executionId: string;
  readonly duration?: number;
  readonly outputs?: Readonly<Record<string, string>>;
  readonly cost?: { readonly compute: number; readonly total: number };
  readonly message?: string;
}

/** `executions list|show|cancel|logs`. Beyond the record they use the routes customers use, with the workflow's key. */
export function addExecutionCommands(program: Command, act: Act): void {
  const executions = addGroup(program, "executions", "what was executed");

  addCommand(executions, "list", "list executions, newest first")
    .option("--workflow <id>", "of this workflow only")
    .option("--account <name>", "of this account only")
    .option("--limit <count>", "at most this many", parseCount, 50)
    .action(
      act<{ workflow?: string; account?: string; limit: number }>(
        async (context, _args, { workflow, account, limit }) => {
          const query = { workflow, account, limit: String(limit) };
          const document = await (await context.client()).get<{ executions: ExecutionDocument[] }>(
            "/api/operator/executions",
            { query },
          );
          const rows = document.executions.map((one) => [
            one.executionId,
            toStatus(one),
            one.trigger,
            one.createdAt,
            one.workflowId,
          ]);
          return { document, lines: toTable(["Execution", "Status", "Trigger", "Created", "Workflow"], rows) };
        },
      ),
    );

  const addOne = (
    name: string,
    description: string,
    perform: (client: Client, executionId: string, apiKey: string) => Promise<Answer>,
  ): void => {
    addCommand(executions, name, description)
      .argument("<execution>")
      .action(
        act(async (context, [executionId]) => {
          const client = await context.client();
          const record = await client.get<ExecutionDocument>(
            `/api/operator/executions/${encodeURIComponent(executionId as string)}`,
          );
          return perform(client, record.executionId, await getApiKey(client, record.workflowId));
        }),
      );
  };
  addOne("show", "show how an execution ended, or that it goes on", async (client, executionId, apiKey) =>
    toEnvelopeAnswer(await getEnvelope(client, executionId, apiKey)),
  );
  addOne("cancel", "stop an execution", async (client, executionId, apiKey) => {
    const document = await client.post<Envelope>(`/api/run-logs/${executionId}/cancel`, { apiKey });
    const ended = document.status !== "queued" && document.status !== "running";
    return { document, lines: [ended ? `${executionId} has ended: ${document.status}` : `Cancelling ${executionId}`] };
  });
  addOne("logs", "print what the program printed", async (client, executionId, apiKey) => {
    const log = await getLog(client, executionId, apiKey);
    return { document: { executionId, log }, lines: log === "" ? [] : [log.replace(/\n$/, "")] };
  });
}

function toStatus({ status, needed, available }: ExecutionDocument): string {
  return needed === undefined ? status : `${status}: needed ${needed} credits, had ${available}`;
}

/** The key customers use for this workflow. */
export async function getApiKey(client: Client, workflowId: string): Promise<string> {
  return (await client.get<{ apiKey: string }>(`/api/operator/workflows/${encodeURIComponent(workflowId)}/key`)).apiKey;
}

export async function getEnvelope(client: Client, executionId: string, apiKey: string): Promise<Envelope> {
  return client.get<Envelope>(`/api/run-logs/${executionId}`, { apiKey });
}

/** The log so far. One that has not begun is empty. */
export async function getLog(client: Client, executionId: string, apiKey: string): Promise<string> {
  const { status, body } = await client.call("GET", `/api/run-logs/${executionId}/logs`, {
    apiKey,
    headers: { accept: "text/plain" },
  });
  if (status !== 200) throw toRefusal(status, body);
  return typeof body === "string" ? body : "";
}

/** An execution as people read it. Good news only when it succeeded or still goes on, if `mustSucceed`. */
export function toEnvelopeAnswer(envelope: Envelope, options: { mustSucceed?: boolean } = {}): Answer {
  const { status, executionId, duration, cost, message, outputs = {} } = envelope;
  const time = duration === undefined ? "" : ` in ${duration} s`;
  const price = cost === undefined ? "" : `, ${cost.total} credits`;
  const lines = [`${status}${time}${price} (${executionId})`];
  if (message !== undefined && message !== "") lines.push(message);
  const rows = Object.entries(outputs);
  if (rows.length > 0) lines.push(...toTable(["Output", "URL"], rows));
  return { document: envelope, lines, good: options.mustSucceed !== true || status === "success" };
}
