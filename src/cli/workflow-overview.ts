import type { Command } from "commander";
import type { z } from "zod";
import type { ShownWorkflow, TemplateList, WorkflowList } from "../../domain/api/workflows.ts";
import { type Act, addCommand } from "./command.ts";
import { formatEstimate } from "./cost-estimate.ts";
import { type Answer, toTable } from "./io.ts";
import { workflowPathOf } from "./made-commit.ts";

const WORKFLOWS = "/api/workflows";

type ListedDocument = z.infer<typeof WorkflowList>["workflows"][number];
type WorkflowDocument = z.infer<typeof ShownWorkflow>;

type Template = z.infer<typeof TemplateList>["templates"][number];

/** `workflows list|show|templates`. */
export function addOverviewCommands(workflows: Command, act: Act): void {
  addCommand(
    workflows,
    "list",
    "list workflows by name, with how they last ended, when they run next and what they cost",
  )
    .option("--account <name>", "of this account instead of the first")
    .option("--search <text>", "with this in their name only")
    .action(
      act<{ account?: string; search?: string }>(async (context, _args, { account, search }) => {
        const client = await context.client();
        const { status, time } = context.look;
        const document = await client.get<z.infer<typeof WorkflowList>>(WORKFLOWS, { query: { account, search } });
        const rows = document.workflows.map((one) =>
          [
            [
              one.workflowId,
              one.name,
              one.lastExecution && status(one.lastExecution.status),
              time(one.lastExecution?.createdAt),
              sayNext(one),
            ],
            [one.executionsThisMonth, one.spentThisMonth, one.estimate && formatEstimate(one.estimate)],
          ].flat(),
        );
        const headings = ["Workflow", "Name", "Last", "Created", "Next run", "This month", "Credits", "Usual cost"];
        return { document, lines: toTable(headings, rows) };
      }),
    );
  addCommand(workflows, "show", "show one workflow")
    .argument("<workflow>")
    .action(
      act(async (context, [workflow = ""]) =>
        toAnswer(await (await context.client()).get<WorkflowDocument>(workflowPathOf(workflow))),
      ),
    );
  addCommand(workflows, "templates", "list what a new workflow can begin with").action(
    act(async (context) => {
      const document = await (await context.client()).get<{ templates: Template[] }>("/api/templates");
      const rows = document.templates.map((one) => [one.templateId, one.files.length, one.description]);
      return { document, lines: toTable(["Template", "Files", ""], rows) };
    }),
  );
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

function sayNext({ nextRun, schedulePaused }: ListedDocument): string | undefined {
  if (schedulePaused) return "paused";
  return nextRun === null ? undefined : `${nextRun.local} ${nextRun.timezone}`;
}
