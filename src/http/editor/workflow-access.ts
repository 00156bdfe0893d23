import type { Request } from "express";
import type { Db } from "../../../db/connect.ts";
import { findWorkflow, type Workflow } from "../../../db/workflows.ts";
import { isWorkflowId } from "../../../domain/ids.ts";
import { ApiError } from "../errors.ts";
import { authorizeEditor, type EditorCaller } from "./authorize.ts";

/** Somebody of an account, and a workflow of that account. */
export interface Access {
  readonly caller: EditorCaller;
  readonly workflow: Workflow;
}

/** Who calls, and the workflow of the path. What belongs to others is answered like what does not exist; the operator sees all. */
export async function authorizeWorkflowEditor(db: Db, request: Request, right: "read" | "write"): Promise<Access> {
  const caller = await authorizeEditor(db, request, right);
  const { workflowId } = request.params;
  const workflow =
    typeof workflowId === "string" && isWorkflowId(workflowId) ? await findWorkflow(db, workflowId) : undefined;
  if (workflow === undefined || (caller.userId !== null && workflow.accountId !== caller.accountId))
    throw new ApiError("workflow_not_found", "There is no such workflow. It may have been deleted.");
  return { caller, workflow };
}

/** Whose draft a request is for. The operator's token is nobody's. */
export function demandUser({ caller }: Access): string {
  if (caller.userId !== null) return caller.userId;
  throw new ApiError(
    "forbidden",
    "The operator's token is nobody's, and a draft is somebody's. Sign in, or use a member's token.",
  );
}
