import { type Command, InvalidArgumentError, Option } from "commander";
import type { z } from "zod";
import { type ExecutionPage, STATUSES } from "../../domain/api/executions.ts";
import { TRIGGERS } from "../../domain/execution.ts";
import { parseDuration } from "../../domain/manifest/durations.ts";
import type { Client } from "./client.ts";
import { type Act, addCommand, type Context, parseCount } from "./command.ts";
import { findCommit } from "./commits.ts";
import { type Answer, toTable } from "./io.ts";
import { Refusal } from "./refusal.ts";

const PAGE_MAX = 200;
/** A day, or a time with its zone: without one nobody could tell which is meant. */
const DAY_OR_TIME = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2}))?$/i;

type Page = z.infer<typeof ExecutionPage>;
type ListedDocument = Page["executions"][number];

interface Options {
  readonly workflow?: string;
  readonly account?: string;
  readonly limit: number;
  readonly state?: string;
  readonly trigger?: string;
  readonly commit?: string;
  readonly since?: string;
  readonly until?: string;
  readonly text?: string;
  readonly cursor?: string;
}

/** `executions list`. */
export function addListCommand(executions: Command, act: Act): void {
  addCommand(executions, "list", "list executions, newest first")
    .option("--workflow <id>", "of this workflow only")
    .option("--account <name>", "of this account only")
    .option("--limit <count>", "at most this many", parseCount, 50)
    .addOption(new Option("--state <state>", "in this state only").choices([...STATUSES]))
    .addOption(new Option("--trigger <trigger>", "started by this only").choices(TRIGGERS))
    .option("--commit <id>", "of this commit of the workflow only; the beginning of its id is enough")
    .option("--since <time>", "accepted then or later: a day, a time with its zone, or how long ago (2h)", parseTime)
    .option("--until <time>", "accepted before", parseTime)
    .option("--text <text>", "with this in the workflow's name or the message, or at the beginning of the id")
    .option("--cursor <cursor>", "further back: nextCursor of the list before")
    .action(act<Options>(listExecutions));
}

/** A time as the service wants it, of `2026-11-01`, `2026-11-01T09:00+01:00` or `90m`. */
function parseTime(text: string): string {
  const agoSeconds = parseDuration(text);
  if (agoSeconds !== undefined) return new Date(Date.now() - agoSeconds * 1000).toISOString();
  const time = DAY_OR_TIME.test(text) ? new Date(text.replace(" ", "T")) : undefined;
  if (time === undefined || Number.isNaN(time.getTime()))
    throw new InvalidArgumentError(
      "It must be a day (2026-11-01, in UTC), a time with its zone (2026-11-01T09:00Z), or how long ago (90m, 2h, 7d).",
    );
  return time.toISOString();
}

async function listExecutions(context: Context, _args: readonly string[], options: Options): Promise<Answer> {
  const { workflow, account, limit, state, trigger, commit, since, until, text, cursor } = options;
  const client = await context.client();
  if (commit !== undefined && workflow === undefined)
    throw new Refusal("Invalid request", "A commit is one of a workflow: name that too, by --workflow.");
  const query = {
    workflow,
    account,
    state,
    trigger,
    text,
    from: since,
    to: until,
    commit: commit === undefined ? undefined : await findCommit(client, workflow ?? "", commit),
  };
  const document = await collect(client, query, { limit, cursor });
  if (document.nextCursor !== null) context.say(`Further back: --cursor ${document.nextCursor}`);
  const rows = document.executions.map((one) => [
    one.executionId,
    context.look.status(one.status),
    one.draft ? `${one.trigger}, draft` : one.trigger,
    context.look.time(one.createdAt),
    one.duration,
    one.cost,
    one.workflowName,
    one.message.split("\n")[0],
  ]);
  const headings = ["Execution", "Status", "Trigger", "Created", "Seconds", "Credits", "Workflow", "Message"];
  return { document, lines: toTable(headings, rows) };
}

/** Page after page until there are so many: a page may have fewer than asked for, even none, and others behind it. */
async function collect(
  client: Client,
  query: Readonly<Record<string, string | undefined>>,
  { limit, cursor }: { limit: number; cursor: string | undefined },
): Promise<Page> {
  const executions: ListedDocument[] = [];
  let next: string | null | undefined = cursor;
  do {
    const count = String(Math.min(PAGE_MAX, limit - executions.length));
    const page: Page = await client.get<Page>("/api/executions", {
      query: { ...query, limit: count, cursor: next ?? undefined },
    });
    executions.push(...page.executions);
    next = page.nextCursor;
  } while (next !== null && executions.length < limit);
  return { executions, nextCursor: next };
}
