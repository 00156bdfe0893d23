import type { z } from "zod";
import type { Draft, SavedDraft } from "../../domain/api/drafts.ts";
import type { Client } from "./client.ts";
import type { Answer } from "./io.ts";
import { workflowPathOf } from "./made-commit.ts";
import { toLine } from "./refusal.ts";

export type DraftDocument = z.infer<typeof Draft>;

export function draftPathOf(workflow: string): string {
  return `${workflowPathOf(workflow)}/draft`;
}

/** The draft of whose token it is, or the files of the latest commit. */
export function getDraft(client: Client, workflow: string): Promise<DraftDocument> {
  return client.get<DraftDocument>(draftPathOf(workflow));
}

/**
 * Saves changes on top of the version that was read before. The service refuses them when another save came in between.
 */
export async function changeDraft(
  client: Client,
  workflow: string,
  json: { version: number; changes: readonly object[] },
): Promise<Answer> {
  const document = await client.patch<z.infer<typeof SavedDraft>>(draftPathOf(workflow), {
    json,
  });
  return { document, lines: [`Saved as version ${document.version}`, ...document.problems.map(toLine)] };
}
