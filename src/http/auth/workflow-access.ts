import type { Request } from "express";
import { findWorkflow, type Workflow } from "../../../db/commits/workflows.ts";
import type { Db } from "../../../db/connect.ts";
import { isWorkflowId } from "../../../domain/ids.ts";
import { ApiError } from "../errors.ts";
import { type AccountCaller, authorizeAccount } from "./authorize.ts";

/** A member of an account, and a workflow of that account. */
export interface Access {
  readonly caller: AccountCaller;
  readonly workflow: Workflow;
}

/** Who calls, and the workflow of the path. What belongs to others is answered like what does not exist; the operator sees all. */
export async function authorizeAccountWorkflow(db: Db, request: Request, right: "read" | "write"): Promise<Access> {
  const caller = await authorizeAccount(db, request, right);
  return { caller, workflow: await findOwnWorkflow(db, caller, request.params["workflowId"]) };
}

/** Returns a workflow of the caller's account, or any to the operator. Another one is answered like one that does not exist. */
export async function findOwnWorkflow(db: Db, caller: AccountCaller, id: unknown): Promise<Workflow> {
  const workflow = typeof id === "string" && isWorkflowId(id) ? await findWorkflow(db, id) : undefined;
  if (workflow !== undefined && (caller.userId === null || workflow.accountId === caller.accountId)) return workflow;
  throw new ApiError("workflow_not_found", "There is no such workflow. It may have been deleted.");
}

/** Whose draft a request is for. The operator's token is nobody's. */
export function requireUser({ caller }: Access): string {
  if (caller.userId !== null) return caller.userId;
  throw new ApiError(
    "forbidden",
    "The operator's token belongs to no user, so it has no drafts. Sign in, or use a member's token.",
  );
}
