import { setTimeout as sleep } from "node:timers/promises";
import type { z } from "zod";
import type { Build, CommitBegun, Committed } from "../../domain/api/commits.ts";
import type { Client } from "./client.ts";
import type { Context } from "./command.ts";
import { Refusal } from "./refusal.ts";

const LOOK_MS = 500;

/** What committing answers: a commit, or the build that makes it. */
export type MadeCommit = Pick<z.infer<typeof Committed>, "commitId" | "changed">;

/** The latest commit of a workflow; null before the first. */
export async function findHead(client: Client, workflow: string): Promise<string | null> {
  return (await client.get<{ commitId: string | null }>(workflowPathOf(workflow))).commitId;
}

/** Returns where the routes of a workflow are. */
export function workflowPathOf(workflow: string): string {
  return `/api/workflows/${encodeURIComponent(workflow)}`;
}

/** Asks for a commit and waits until it is made, telling what is said meanwhile; a refusal when it cannot be. */
export async function makeCommit(context: Context, client: Client, path: string, json: unknown): Promise<MadeCommit> {
  const answer = await client.post<z.infer<typeof CommitBegun> & Partial<z.infer<typeof Committed>>>(path, { json });
  if (answer.commitId !== undefined) return { commitId: answer.commitId, changed: answer.changed === true };
  for (let told = 0; ; await sleep(LOOK_MS)) {
    const build = await client.get<z.infer<typeof Build>>(`/api/builds/${encodeURIComponent(answer.buildId)}`);
    if (build.log.length > told) context.say(build.log.slice(told).trimEnd());
    told = build.log.length;
    if (build.commitId !== null) return { commitId: build.commitId, changed: true };
    if (build.state === "failed")
      throw new Refusal(build.error ?? "Internal server error", build.message ?? "", { details: build.details });
  }
}
