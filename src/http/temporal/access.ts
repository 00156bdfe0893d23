import type { Request } from "express";
import { TASK_QUEUE } from "../../../activities/task-queues.ts";
import { isFirstAccount } from "../../../db/accounts/accounts.ts";
import type { Db } from "../../../db/connect.ts";
import { findExecution } from "../../../db/executions/executions.ts";
import { isExecutionId } from "../../../domain/ids.ts";
import { findPerson, type Person, requireRight } from "../auth/person.ts";
import { ApiError } from "../errors.ts";

const LOOKING = ["GET", "HEAD"];
/** What every page asks for, and says nothing of anybody. `/settings`, `/namespaces/<ours>` and the like. */
const COMMON = /^\/(?:settings|system-info|cluster-info|cluster|namespaces(?:\/[^/]+(?:\/search-attributes)?)?)$/;
/** Which processes take work: the page of each execution asks. */
const QUEUE = new RegExp(`^/namespaces/[^/]+/task-queues/${TASK_QUEUE}$`);
const WORKFLOW = /^\/namespaces\/[^/]+\/workflows\/([^/]+)(?:\/.*)?$/;
const LIST = /^\/namespaces\/[^/]+\/workflows$/;
/** How a page asks the list for the one execution that it shows. */
const ONE = /^WorkflowId="(ex_[a-z0-9]+)"$/;
/** Parameters that might name another execution than the path does. */
const OTHERS = /namespace|workflow/i;
const LIST_PARAMETERS = ["query", "pageSize", "maximumPageSize"];
const API = "/api/v1";

/**
 * Lets owners look, and the operator's token do anything. Temporal knows no accounts, so an owner sees the executions
 * of their own account there. Owners of the installation's first account see all. Throws 401, 403, 404 or 405. `path`
 * is what follows `/temporal`, without encoded separators.
 */
export async function authorizePages(db: Db, request: Request, path: string): Promise<void> {
  const person = await findPerson(db, request);
  if (person === undefined)
    throw new ApiError("unauthorized", "You are not signed in, or your session has ended. Sign in as an owner.");
  requireRight(person, "own");
  if (person.accountId === null) return;
  if (!LOOKING.includes(request.method))
    throw new ApiError(
      "method_not_allowed",
      "Temporal's pages show, and change nothing. Cancel an execution on its own page; the operator's token may do more.",
      {},
      { Allow: LOOKING.join(", ") },
    );
  if (!path.startsWith(`${API}/`) || (await mayRead(db, person, request, path.slice(API.length)))) return;
  // Not 403: the pages take that for the end of a session, and leave.
  throw new ApiError(
    "not_found",
    "There is nothing of your account at this address. You may look at its executions, each at its own address.",
  );
}

async function mayRead(db: Db, { accountId }: Person, request: Request, path: string): Promise<boolean> {
  if (accountId === null || COMMON.test(path) || QUEUE.test(path)) return true;
  const id = findExecutionId(path, new URLSearchParams(request.originalUrl.split("?").slice(1).join("?")));
  if (id !== undefined && isExecutionId(id) && (await findExecution(db, id))?.accountId === accountId) return true;
  return isFirstAccount(db, accountId);
}

/** The one execution that an address is about, if there is no other. */
function findExecutionId(path: string, asked: URLSearchParams): string | undefined {
  const names = [...asked.keys()];
  if (!LIST.test(path)) return names.some((name) => OTHERS.test(name)) ? undefined : WORKFLOW.exec(path)?.[1];
  const isPlain = new Set(names).size === names.length && names.every((name) => LIST_PARAMETERS.includes(name));
  return isPlain ? ONE.exec(asked.get("query") ?? "")?.[1] : undefined;
}
