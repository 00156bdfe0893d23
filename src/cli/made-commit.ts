import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "./client.ts";
import type { Context } from "./command.ts";
import { type Detail, Refusal } from "./refusal.ts";

const LOOK_MS = 500;

/** What committing answers: a commit, or the build that makes it. */
export interface MadeCommit {
  readonly commitId: string;
  /** False when the latest commit has exactly these files already. */
  readonly changed: boolean;
}

interface BuildDocument {
  readonly state: "building" | "committed" | "failed";
  readonly log: string;
  readonly commitId: string | null;
  readonly error: string | null;
  readonly message: string | null;
  readonly details: readonly Detail[];
}

/** The latest commit of a workflow; null before the first. */
export async function findHead(client: Client, workflow: string): Promise<string | null> {
  return (await client.get<{ commitId: string | null }>(editorPathOf(workflow))).commitId;
}

export function editorPathOf(workflow: string): string {
  return `/api/editor/workflows/${encodeURIComponent(workflow)}`;
}

/** Asks for a commit and waits until it is made, telling what is said meanwhile; a refusal when it cannot be. */
export async function makeCommit(context: Context, client: Client, path: string, json: unknown): Promise<MadeCommit> {
  const answer = await client.post<Partial<MadeCommit> & { buildId: string }>(path, { json });
  if (answer.commitId !== undefined) return { commitId: answer.commitId, changed: answer.changed === true };
  for (let told = 0; ; await sleep(LOOK_MS)) {
    const build = await client.get<BuildDocument>(`/api/editor/builds/${encodeURIComponent(answer.buildId)}`);
    if (build.log.length > told) context.say(build.log.slice(told).trimEnd());
    told = build.log.length;
    if (build.commitId !== null) return { commitId: build.commitId, changed: true };
    if (build.state === "failed")
      throw new Refusal(build.error ?? "Internal server error", build.message ?? "", { details: build.details });
  }
}
