import type { z } from "zod";
import type { WorkflowList } from "../../domain/api/workflows.ts";
import { isWorkflowId } from "../../domain/ids.ts";
import type { Client } from "./client.ts";
import { Refusal } from "./refusal.ts";

/** Of the workflows there are, in the words of a refusal. */
const NAMED_MAX = 20;

type Listed = z.infer<typeof WorkflowList>["workflows"][number];

/**
 * Returns the id of the workflow that a person has named, by its id or its name. Capital letters count only where two names
 * differ in nothing else. Throws a Refusal, which lists what there is, when no workflow or several have the name.
 */
export async function requireWorkflow(client: Client, text: string, account: string | undefined): Promise<string> {
  if (isWorkflowId(text)) return text;
  const { workflows } = await listWorkflows(client, account, text);
  const folded = workflows.filter(({ name }) => name.toLowerCase() === text.toLowerCase());
  const exact = folded.filter(({ name }) => name === text);
  const found = exact.length > 0 ? exact : folded;
  const [only, ...others] = found;
  if (only === undefined) throw await explainUnknown(client, text, account);
  if (others.length === 0) return only.workflowId;
  throw new Refusal(
    "Ambiguous name",
    [`${found.length} workflows are called ${only.name}. Name one by its id:`, ...found.map(toLine)].join("\n"),
  );
}

async function explainUnknown(client: Client, text: string, account: string | undefined): Promise<Refusal> {
  const { workflows } = await listWorkflows(client, account, undefined);
  const first = `There is no workflow ${text}.`;
  if (workflows.length === 0)
    return new Refusal("Workflow not found", `${first} There are none yet: "publish" makes one.`);
  const more = workflows.length > NAMED_MAX ? ['  … and others: see "workflows list"'] : [];
  const lines = [`${first} There are:`, ...workflows.slice(0, NAMED_MAX).map(toLine), ...more];
  return new Refusal("Workflow not found", lines.join("\n"));
}

function toLine({ workflowId, name }: Listed): string {
  return `  ${workflowId}  ${name}`;
}

function listWorkflows(client: Client, account: string | undefined, search: string | undefined) {
  return client.get<z.infer<typeof WorkflowList>>("/api/workflows", { query: { account, search } });
}
