import type { z } from "zod";
import type { Draft, SavedDraft } from "../../domain/api/drafts.ts";
import type { Client } from "./client.ts";
import type { Answer } from "./io.ts";
import { workflowPathOf } from "./made-commit.ts";
import { toLine } from "./refusal.ts";

export type DraftDocument = z.infer<typeof Draft>;
export type SavedDocument = z.infer<typeof SavedDraft>;

interface ChangedDraft {
  /** The version that was read before. */
  readonly version: number;
  readonly changes: readonly object[];
}

export function draftPathOf(workflow: string): string {
  return `${workflowPathOf(workflow)}/draft`;
}

/** The draft of whose token it is, or the files of the latest commit. */
export function getDraft(client: Client, workflow: string): Promise<DraftDocument> {
  return client.get<DraftDocument>(draftPathOf(workflow));
}

/** Saves changes on top of the version that was read before. Refused when another save came in between. */
export function saveDraft(client: Client, workflow: string, json: ChangedDraft): Promise<SavedDocument> {
  return client.patch<SavedDocument>(draftPathOf(workflow), { json });
}

/** The same, with an answer for people: a mistake in `config.yaml` is shown and not refused. */
export async function changeDraft(client: Client, workflow: string, json: ChangedDraft): Promise<Answer> {
  return toSavedAnswer(await saveDraft(client, workflow, json));
}

/** What was saved, and what is wrong with it. */
export function toSavedAnswer(document: SavedDocument): Answer {
  const { version, problems, warnings } = document;
  return { document, lines: [`Saved as version ${version}`, ...[...problems, ...warnings].map(toLine)] };
}
