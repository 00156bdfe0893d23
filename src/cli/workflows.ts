import type { Command } from "commander";
import { type Act, addCommand, addGroup, parseSeconds } from "./command.ts";
import { type CostEstimate, formatEstimate } from "./cost-estimate.ts";
import { toTable } from "./io.ts";
import { editorPathOf } from "./made-commit.ts";
import { addOverviewCommands, createFromTemplate } from "./workflow-overview.ts";

interface WorkflowDocument {
  readonly workflowId: string;
  readonly name: string;
  readonly commitId: string | null;
  readonly createdAt: string;
  readonly estimate?: CostEstimate;
}

interface BuildLogDocument {
  readonly commitId: string;
  /** Null when the commit asks for no packages. */
  readonly environment: string | null;
  /** Null when it is no longer there, or was built on another machine. */
  readonly log: string | null;
}

interface KeyDocument {
  readonly apiKey: string;
  readonly previousKeyExpiresAt: string | null;
}

/** `workflows list|overview|show|templates|create|rename|delete|build-log` and `key show|rotate|end-previous`. */
export function addWorkflowCommands(program: Command, act: Act): void {
  const workflows = addGroup(program, "workflows", "the workflows there are");

  addCommand(workflows, "list", "list workflows, newest first")
    .option("--account <name>", "of this account only")
    .action(
      act<{ account?: string }>(async (context, _args, { account }) => {
        const client = await context.client();
        const document = await client.get<{ workflows: WorkflowDocument[] }>("/api/operator/workflows", {
          query: { account },
        });
        const rows = document.workflows.map((workflow) => [
          workflow.workflowId,
          workflow.name,
          workflow.commitId?.slice(0, 12),
          workflow.createdAt,
          workflow.estimate && formatEstimate(workflow.estimate),
        ]);
        return { document, lines: toTable(["Workflow", "Name", "Commit", "Created", "Usual cost"], rows) };
      }),
    );

  addOverviewCommands(workflows, act);

  addCreateCommand(workflows, act);

  addCommand(
    workflows,
    "rename",
    "give a workflow another name; a name in its config.yaml is its name again with the next commit",
  )
    .argument("<workflow>")
    .argument("<name>")
    .action(
      act(async (context, [workflow = "", name = ""]) => {
        const document = await (await context.client()).post<{ workflowId: string; name: string }>(
          editorPathOf(workflow),
          { json: { name } },
        );
        return { document, lines: [`${document.workflowId} is called ${document.name}`] };
      }),
    );

  addCommand(workflows, "delete", "delete a workflow; its key stops working at once, its executions stay on record")
    .argument("<workflow>")
    .action(
      act(async (context, [workflow]) => {
        const document = await (await context.client()).delete(
          `/api/operator/workflows/${encodeURIComponent(workflow as string)}`,
        );
        return { document, lines: [`Deleted ${workflow}`] };
      }),
    );

  addCommand(workflows, "build-log", "show what building a commit's Python environment said")
    .argument("<workflow>")
    .option("--commit <id>", "this commit, rather than the latest")
    .action(
      act<{ commit?: string }>(async (context, [workflow], { commit }) => {
        const path = `/api/operator/workflows/${encodeURIComponent(workflow as string)}/build-log`;
        const document = await (await context.client()).get<BuildLogDocument>(path, { query: { commit } });
        return { document, lines: toLogLines(document) };
      }),
    );

  addKeyCommands(program, act);
}

function addCreateCommand(workflows: Command, act: Act): void {
  addCommand(workflows, "create", "make a workflow without a commit")
    .argument("<name>")
    .option("--account <name>", "the account it belongs to")
    .option("--template <id>", 'begin with its files as your draft; "workflows templates" shows those there are')
    .action(
      act<{ account?: string; template?: string }>(async (context, [name], { account, template }) => {
        const client = await context.client();
        if (template !== undefined) return createFromTemplate(client, { name, templateId: template }, account);
        const document = await client.post<{ workflowId: string; apiKey: string }>("/api/operator/workflows", {
          json: { name, account },
        });
        return { document, lines: [`Created ${document.workflowId}`, `API key  ${document.apiKey}`] };
      }),
    );
}

function addKeyCommands(program: Command, act: Act): void {
  const key = addGroup(program, "key", "the API key of a workflow");

  addCommand(key, "show", "show the key")
    .argument("<workflow>")
    .action(
      act(async (context, [workflow]) => {
        const path = `/api/operator/workflows/${encodeURIComponent(workflow as string)}/key`;
        return toKeyAnswer(await (await context.client()).get<KeyDocument>(path));
      }),
    );

  addCommand(
    key,
    "rotate",
    "replace the key; the old one stops working at once, or after --grace, and older ones at once",
  )
    .argument("<workflow>")
    .option("--grace <time>", "how long the old key goes on working, such as 1h", parseSeconds)
    .action(
      act<{ grace?: number }>(async (context, [workflow], { grace }) => {
        const path = `/api/operator/workflows/${encodeURIComponent(workflow as string)}/key/rotate`;
        return toKeyAnswer(
          await (await context.client()).post<KeyDocument>(path, { json: { graceSeconds: grace ?? 0 } }),
        );
      }),
    );

  addCommand(key, "end-previous", "end replaced keys before their --grace is over; the current one stays")
    .argument("<workflow>")
    .action(
      act(async (context, [workflow]) => {
        const path = `/api/editor/workflows/${encodeURIComponent(workflow as string)}/key/end-previous`;
        const document = await (await context.client()).post<{ ended: number }>(path);
        return { document, lines: [`Ended ${document.ended} of the keys before the current one`] };
      }),
    );
}

function toLogLines({ environment, log }: BuildLogDocument): string[] {
  if (environment === null) return ["The commit asks for no packages, so nothing was built."];
  return [log?.trimEnd() ?? "There is no log of this environment on the service's machine any more."];
}

function toKeyAnswer(document: KeyDocument) {
  const { apiKey, previousKeyExpiresAt } = document;
  const lines =
    previousKeyExpiresAt === null ? [apiKey] : [apiKey, `The previous key works until ${previousKeyExpiresAt}`];
  return { document, lines };
}
