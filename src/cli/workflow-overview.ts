import type { Command } from "commander";
import type { Client } from "./client.ts";
import { type Act, addCommand } from "./command.ts";
import { type CostEstimate, formatEstimate } from "./cost-estimate.ts";
import { type Answer, toTable } from "./io.ts";
import { editorPathOf } from "./made-commit.ts";

const WORKFLOWS = "/api/editor/workflows";

interface OverviewDocument {
  readonly workflowId: string;
  readonly name: string;
  readonly description: string;
  readonly commitId: string | null;
  readonly lastExecution: { readonly executionId: string; readonly status: string; readonly createdAt: string } | null;
  readonly nextRun: { readonly local: string; readonly timezone: string } | null;
  readonly schedulePaused: boolean;
  readonly apiEnabled: boolean;
  readonly spentThisMonth: number;
  readonly executionsThisMonth: number;
}

interface WorkflowDocument extends OverviewDocument {
  readonly estimate: CostEstimate | null;
  readonly executeUrl: string;
  readonly docsUrl: string;
}

interface Template {
  readonly templateId: string;
  readonly description: string;
  readonly files: readonly string[];
}

/** `workflows overview|show|templates`: as the editor shows them. */
export function addOverviewCommands(workflows: Command, act: Act): void {
  addCommand(
    workflows,
    "overview",
    "list workflows by name, with how they last ended, when they run next and what they cost",
  )
    .option("--account <name>", "of this account instead of the first")
    .option("--search <text>", "with this in their name only")
    .action(
      act<{ account?: string; search?: string }>(async (context, _args, { account, search }) => {
        const client = await context.client();
        const document = await client.get<{ workflows: OverviewDocument[] }>(WORKFLOWS, { query: { account, search } });
        const rows = document.workflows.map((one) => [
          ...[one.workflowId, one.name, one.lastExecution?.status, one.lastExecution?.createdAt, sayNext(one)],
          ...[one.executionsThisMonth, one.spentThisMonth],
        ]);
        const headings = ["Workflow", "Name", "Last", "Created", "Next run", "This month", "Credits"];
        return { document, lines: toTable(headings, rows) };
      }),
    );
  addCommand(workflows, "show", "show one workflow")
    .argument("<workflow>")
    .action(
      act(async (context, [workflow = ""]) =>
        toAnswer(await (await context.client()).get<WorkflowDocument>(editorPathOf(workflow))),
      ),
    );
  addCommand(workflows, "templates", "list what a new workflow can begin with").action(
    act(async (context) => {
      const document = await (await context.client()).get<{ templates: Template[] }>("/api/editor/templates");
      const rows = document.templates.map((one) => [one.templateId, one.files.length, one.description]);
      return { document, lines: toTable(["Template", "Files", ""], rows) };
    }),
  );
}

/** Its files become the draft of whose token it is. */
export async function createFromTemplate(
  client: Client,
  json: { name: string | undefined; templateId: string },
  account: string | undefined,
): Promise<Answer> {
  const document = await client.post<{ workflowId: string }>(WORKFLOWS, { query: { account }, json });
  const { workflowId } = document;
  return {
    document,
    lines: [`Created ${workflowId}`, `Its files are your draft: "drafts commit ${workflowId}" commits them.`],
  };
}

function toAnswer(document: WorkflowDocument): Answer {
  const { workflowId, name, description, commitId, lastExecution, estimate } = document;
  const lines = [
    `${workflowId}  ${name}`,
    ...(description === "" ? [] : [description]),
    `Commit      ${commitId ?? "-"}`,
    `Last        ${lastExecution === null ? "-" : `${lastExecution.status} ${lastExecution.executionId}`}`,
    `Next run    ${sayNext(document) ?? "-"}`,
    `This month  ${document.executionsThisMonth} executions, ${document.spentThisMonth} credits`,
    `Usual cost  ${estimate === null ? "-" : formatEstimate(estimate)}`,
    `API         ${document.apiEnabled ? document.executeUrl : "not enabled"}`,
    `Documents   ${document.docsUrl}`,
  ];
  return { document, lines };
}

function sayNext({ nextRun, schedulePaused }: OverviewDocument): string | undefined {
  if (schedulePaused) return "paused";
  return nextRun === null ? undefined : `${nextRun.local} ${nextRun.timezone}`;
}
