import type { Request } from "express";
import { isFirstAccount } from "../../../db/accounts.ts";
import type { Db } from "../../../db/connect.ts";
import { findExecution } from "../../../db/executions.ts";
import { isExecutionId } from "../../../domain/ids.ts";
import { ApiError } from "../errors.ts";
import { demandRight, findPerson, type Person } from "../person.ts";

const LOOKING = ["GET", "HEAD"];
/** What every page asks for, and says nothing of anybody. `/settings`, `/namespaces/<ours>` and the like. */
const COMMON = /^\/(?:settings|system-info|cluster-info|cluster|namespaces\/[^/]+(?:\/search-attributes)?)$/;
const WORKFLOW = /^\/namespaces\/[^/]+\/workflows\/([^/]+)(?:\/.*)?$/;
const API = "/api/v1";

/**
 * Lets owners look, and the operator's token do anything. Temporal knows no accounts, so what an owner sees of it is the executions
 * of their own account; owners of the installation's own account, the first, see all. Throws 401, 403 or 405. `path` is what
 * follows `/temporal`, without encoded separators.
 */
export async function authorizePages(db: Db, request: Request, path: string): Promise<void> {
  const person = await findPerson(db, request);
  if (person === undefined)
    throw new ApiError("unauthorized", "Nobody is signed in, or the session has ended. Sign in as an owner.");
  demandRight(person, "own");
  if (person.accountId === null) return;
  if (!LOOKING.includes(request.method))
    throw new ApiError(
      "method_not_allowed",
      "Temporal's pages show, and change nothing. Cancel an execution on its own page; the operator's token may do more.",
      {},
      { Allow: LOOKING.join(", ") },
    );
  if (!path.startsWith(`${API}/`) || (await mayRead(db, person, path.slice(API.length)))) return;
  throw new ApiError(
    "forbidden",
    "This shows executions of other accounts. You may look at those of your own account, each at its own address.",
  );
}

async function mayRead(db: Db, { accountId }: Person, path: string): Promise<boolean> {
  if (accountId === null || COMMON.test(path)) return true;
  const [, id] = WORKFLOW.exec(path) ?? [];
  if (id !== undefined && isExecutionId(id) && (await findExecution(db, id))?.accountId === accountId) return true;
  return isFirstAccount(db, accountId);
}
