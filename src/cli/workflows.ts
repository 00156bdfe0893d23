import type { Command } from "commander";
import type { z } from "zod";
import type { BuildLog } from "../../domain/api/commits.ts";
import type { EndedKey, KeyList, RotatedKey, WholeKey } from "../../domain/api/keys.ts";
import type { CreatedWorkflow } from "../../domain/api/workflows.ts";
import { type Act, addCommand, addGroup, parseSeconds } from "./command.ts";
import { toTable } from "./io.ts";
import { findHead, workflowPathOf } from "./made-commit.ts";
import { Refusal } from "./refusal.ts";
import { addOverviewCommands } from "./workflow-overview.ts";

/** `workflows list|show|templates|create|rename|delete|build-log` and `key list|show|rotate|end`. */
export function addWorkflowCommands(program: Command, act: Act): void {
  const workflows = addGroup(program, "workflows", "the workflows there are");

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
        const document = await (await context.client()).patch<{ workflowId: string; name: string }>(
          workflowPathOf(workflow),
          { json: { name } },
        );
        return { document, lines: [`${document.workflowId} is called ${document.name}`] };
      }),
    );

  addCommand(workflows, "delete", "delete a workflow; its key stops working at once, its executions stay on record")
    .argument("<workflow>")
    .action(
      act(async (context, [workflow]) => {
        const document = await (await context.client()).delete(workflowPathOf(workflow as string));
        return { document, lines: [`Deleted ${workflow}`] };
      }),
    );

  addCommand(workflows, "build-log", "show what building a commit's Python environment said")
    .argument("<workflow>")
    .option("--commit <id>", "this commit, rather than the latest")
    .action(
      act<{ commit?: string }>(async (context, [workflow], { commit }) => {
        const client = await context.client();
        const commitId = commit ?? (await findHead(client, workflow as string));
        if (commitId === null) throw new Refusal("Not found", "The workflow has no commit yet.");
        const path = `${workflowPathOf(workflow as string)}/commits/${encodeURIComponent(commitId)}/build-log`;
        const log = await client.get<z.infer<typeof BuildLog>>(path);
        return { document: { commitId, ...log }, lines: toLogLines(log) };
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
        const document = await client.post<z.infer<typeof CreatedWorkflow>>("/api/workflows", {
          query: { account },
          json: { name, templateId: template },
        });
        const { workflowId, apiKey } = document;
        const lines = [`Created ${workflowId}`, `API key  ${apiKey}`];
        if (template !== undefined) lines.push(`Its files are your draft: "drafts commit ${workflowId}" commits them.`);
        return { document, lines };
      }),
    );
}

function addKeyCommands(program: Command, act: Act): void {
  const key = addGroup(program, "key", "the API keys of a workflow");

  addCommand(key, "list", "list every key that works now, with its last use")
    .argument("<workflow>")
    .action(
      act(async (context, [workflow = ""]) => {
        const document = await (await context.client()).get<z.infer<typeof KeyList>>(
          `${workflowPathOf(workflow)}/keys`,
        );
        const rows = document.keys.map(({ keyId, masked, createdAt, lastUsedAt, expiresAt }) => [
          keyId,
          masked,
          createdAt,
          lastUsedAt ?? "never",
          expiresAt === null ? "current" : `until ${expiresAt}`,
        ]);
        return { document, lines: toTable(["Key", "", "Created", "Last used", "Works"], rows) };
      }),
    );

  addCommand(key, "show", "show the current key itself")
    .argument("<workflow>")
    .action(
      act(async (context, [workflow = ""]) => {
        const document = await (await context.client()).get<z.infer<typeof WholeKey>>(
          `${workflowPathOf(workflow)}/key`,
        );
        return { document, lines: [document.apiKey] };
      }),
    );

  addCommand(
    key,
    "rotate",
    "replace the key; the old one stops working at once, or after --grace, and older ones at once",
  )
    .argument("<workflow>")
    .option("--grace <time>", "how long the old key goes on working, such as 1h; 30 days at most", parseSeconds)
    .action(
      act<{ grace?: number }>(async (context, [workflow = ""], { grace }) => {
        const path = `${workflowPathOf(workflow)}/keys`;
        const json = { graceSeconds: grace ?? 0 };
        const document = await (await context.client()).post<z.infer<typeof RotatedKey>>(path, { json });
        const { apiKey, previousKeyExpiresAt } = document;
        const more = previousKeyExpiresAt === null ? [] : [`The previous key works until ${previousKeyExpiresAt}`];
        return { document, lines: [apiKey, ...more] };
      }),
    );

  addCommand(key, "end", "end a replaced key before its grace is over; the current one stays")
    .argument("<workflow>")
    .argument("<key>", 'its id, as "key list" shows it')
    .action(
      act(async (context, [workflow = "", keyId = ""]) => {
        const path = `${workflowPathOf(workflow)}/keys/${encodeURIComponent(keyId)}`;
        const document = await (await context.client()).delete<z.infer<typeof EndedKey>>(path);
        return { document, lines: [document.ended ? `Ended ${keyId}` : `${keyId} had ended before`] };
      }),
    );
}

function toLogLines({ environment, log }: z.infer<typeof BuildLog>): string[] {
  if (environment === null) return ["The commit asks for no packages, so nothing was built."];
  return [log?.trimEnd() ?? "There is no log of this environment on the service's machine any more."];
}
