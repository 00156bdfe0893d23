import type { Client } from "./client.ts";
import type { Answer } from "./io.ts";
import { editorPathOf } from "./made-commit.ts";
import { type Detail, toLine } from "./refusal.ts";

export interface DraftDocument {
  readonly base: string | null;
  readonly head: string | null;
  readonly changed: boolean;
  readonly updatedAt: string | null;
  /** 0: there is no draft, these are the files of the latest commit. */
  readonly version: number;
  readonly files: readonly { path: string; bytes: number; text: string | null; executable: boolean }[];
  /** Files that somebody else has changed as well, and what commit has that. */
  readonly conflicts: readonly { path: string; commitId: string }[];
  readonly problems: readonly Detail[];
}

export function draftPathOf(workflow: string): string {
  return `${editorPathOf(workflow)}/draft`;
}

/** The draft of whose token it is, or the files of the latest commit. */
export function getDraft(client: Client, workflow: string): Promise<DraftDocument> {
  return client.get<DraftDocument>(draftPathOf(workflow));
}

/** Saves changes on the version that was read before: refused when somebody saved in between. */
export async function changeDraft(
  client: Client,
  workflow: string,
  json: { version: number; changes: readonly object[] },
): Promise<Answer> {
  const document = await client.post<{ version: number; problems: readonly Detail[] }>(draftPathOf(workflow), { json });
  return { document, lines: [`Saved as version ${document.version}`, ...document.problems.map(toLine)] };
}
