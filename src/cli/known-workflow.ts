import type { Client } from "./client.ts";
import { findLastWorkflow } from "./folder-record.ts";
import { workflowPathOf } from "./made-commit.ts";
import { Refusal, toRefusal } from "./refusal.ts";

/** A workflow of this service that a folder was published to. */
export interface KnownWorkflow {
  readonly workflowId: string;
  readonly name: string;
}

/**
 * Returns the workflow that a folder was last published to. Undefined when it was published nowhere yet, when that workflow
 * is gone, or when it belongs to another service or account.
 */
export async function findKnownWorkflow(
  client: Client,
  folder: string,
  account: string | undefined,
): Promise<KnownWorkflow | undefined> {
  const last = await findLastWorkflow(folder);
  if (last === undefined) return undefined;
  if (account !== undefined) {
    // The operator's token opens workflows of any account.
    const { workflows } = await client.get<{ workflows: KnownWorkflow[] }>("/api/workflows", { query: { account } });
    return workflows.find(({ workflowId }) => workflowId === last);
  }
  const { status, body } = await client.call("GET", workflowPathOf(last));
  if (status === 200) return body as KnownWorkflow;
  if (status === 404) return undefined;
  throw toRefusal(status, body);
}

/** The same of a folder that has to have one. Throws a Refusal, which says how to publish it, when it has none. */
export async function requireKnownWorkflow(
  client: Client,
  folder: string,
  account: string | undefined,
): Promise<KnownWorkflow> {
  const known = await findKnownWorkflow(client, folder, account);
  if (known !== undefined) return known;
  throw new Refusal(
    "Not published",
    `${folder} was not published to this service yet. "treadle publish" makes a workflow of it once.`,
  );
}
