import type { RequestHandler } from "express";
import { findWorkflow } from "../../../db/commits/workflows.ts";
import { UnrunnableCommits } from "../../../domain/api/workflows.ts";
import { sendAnswer } from "../answers/body.ts";
import { listVisibleAccounts } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";

/** Each is looked up. With more of them, all have one reason. */
const LISTED_MAX = 100;

/** `GET /unrunnable-commits`: which commits of the accounts that the caller may see cannot run on this host, and why. */
export function createUnrunnableRoute({ db, editor }: Pick<AppDeps, "db" | "editor">): RequestHandler {
  return async (request, response) => {
    const visible = new Set((await listVisibleAccounts(db, request)).map(({ id }) => id));
    const problems = (editor.commitProblems?.() ?? []).slice(0, LISTED_MAX);
    const found = await Promise.all(
      problems.map(async ({ workflowId, commitId, reason, isBeingMade }) => {
        const workflow = await findWorkflow(db, workflowId);
        if (workflow === undefined || !visible.has(workflow.accountId)) return [];
        return [{ workflowId, name: workflow.name, commitId, reason, isBeingMade }];
      }),
    );
    sendAnswer(response, UnrunnableCommits, { commits: found.flat() });
  };
}
