import { Router } from "express";
import type { CommitEnvironments } from "../../../activities/environments/commit-environments.ts";
import type { Db } from "../../../db/connect.ts";
import { findWorkflow } from "../../../db/workflows.ts";
import { sendDocument } from "./body.ts";
import { callerOf } from "./caller.ts";

/** Each is looked up; who has more has one reason for all of them. */
const LISTED_MAX = 100;

/** `GET /unrunnable`: which commits cannot run on this host, and why. Everybody sees those of their own account. */
export function createUnrunnableRoutes({
  db,
  commitProblems,
}: {
  db: Db;
  commitProblems?: CommitEnvironments["problems"] | undefined;
}): Router {
  const router = Router();
  router.get("/unrunnable", async (_request, response) => {
    const { accountId } = callerOf(response);
    const problems = (commitProblems?.() ?? []).slice(0, LISTED_MAX);
    const found = await Promise.all(
      problems.map(async ({ workflowId, commitId, reason, isBeingMade }) => {
        const workflow = await findWorkflow(db, workflowId);
        if (workflow === undefined || (accountId !== null && workflow.accountId !== accountId)) return [];
        return [{ workflowId, name: workflow.name, commitId, reason, isBeingMade }];
      }),
    );
    sendDocument(response, { commits: found.flat() });
  });
  return router;
}
