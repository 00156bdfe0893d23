import type { RequestHandler, Response } from "express";
import { findAccessToken } from "../../../db/access.ts";
import { type Account, findAccountByName, listAccounts } from "../../../db/accounts.ts";
import type { Db } from "../../../db/connect.ts";
import { type ExecutionRecord, findExecution } from "../../../db/executions.ts";
import { findWorkflow, type Workflow } from "../../../db/workflows.ts";
import { type AccountId, isExecutionId, isWorkflowId } from "../../../domain/ids.ts";
import { hashToken } from "../../keys/tokens.ts";
import { ApiError } from "../errors.ts";
import { demandRight, type Person, readBearerToken, toPerson } from "../person.ts";

const LOOKING = ["GET", "HEAD"];

/** Who calls: the operator (`accountId` null), who may see and do everything, or somebody of one account. */
export type Caller = Person;

/** Lets only holders of a personal access token pass, viewers only to look, and notes who they are for `callerOf`. */
export function createAuthorization(db: Db): RequestHandler {
  return async (request, response, next) => {
    const token = readBearerToken(request);
    const found = token === undefined ? undefined : await findAccessToken(db, hashToken(token));
    if (found === undefined) {
      response.set("WWW-Authenticate", "Bearer");
      throw new ApiError(
        "unauthorized",
        "The access token is missing or not valid. Send it as Authorization: Bearer <token>.",
      );
    }
    const caller = toPerson(found);
    demandRight(caller, LOOKING.includes(request.method) ? "read" : "write");
    response.locals["caller"] = caller;
    next();
  };
}

/** Throws when a route was mounted without `createAuthorization` before it. */
export function callerOf(response: Response): Caller {
  const caller = response.locals["caller"] as Caller | undefined;
  if (caller === undefined) throw new Error("This route was reached without authorization.");
  return caller;
}

/** Stops everybody but the operator. */
export function demandOperator(caller: Caller): void {
  if (caller.accountId === null) return;
  throw new ApiError("forbidden", "Only the operator's token may do this; yours belongs to one account.");
}

/** The account a request means: the one named, else the caller's own, else the first of the installation. */
export async function getAccount(
  db: Db,
  caller: Pick<Caller, "accountId">,
  name: string | undefined,
): Promise<Account> {
  if (name !== undefined) {
    const account = await findAccountByName(db, name);
    if (account !== undefined && maySee(caller, account.id)) return account;
    throw new ApiError(
      "not_found",
      `There is no account ${JSON.stringify(name)}. "accounts list" shows those there are.`,
    );
  }
  const account = (await listAccounts(db)).find((candidate) => maySee(caller, candidate.id));
  if (account === undefined)
    throw new ApiError("not_found", 'There is no account yet. Create one with "accounts create".');
  return account;
}

/** A workflow the caller may see. Somebody else's is answered like one that does not exist. */
export async function getWorkflow(db: Db, caller: Caller, id: unknown): Promise<Workflow> {
  const workflow = typeof id === "string" && isWorkflowId(id) ? await findWorkflow(db, id) : undefined;
  if (workflow !== undefined && maySee(caller, workflow.accountId)) return workflow;
  throw new ApiError("workflow_not_found", 'There is no such workflow. "workflows list" shows those there are.');
}

/** An execution the caller may see, also of a workflow that has been deleted since. */
export async function getExecution(db: Db, caller: Caller, id: unknown): Promise<ExecutionRecord> {
  const execution = typeof id === "string" && isExecutionId(id) ? await findExecution(db, id) : undefined;
  if (execution !== undefined && maySee(caller, execution.accountId)) return execution;
  throw new ApiError("not_found", 'There is no such execution. "executions list" shows the latest.');
}

function maySee(caller: Pick<Caller, "accountId">, accountId: AccountId): boolean {
  return caller.accountId === null || caller.accountId === accountId;
}
