import type { RequestHandler } from "express";
import {
  deleteDestination,
  insertDestination,
  listDestinations,
  listNetworkUsers,
  type StoredDestination,
} from "../../../db/accounts/destinations.ts";
import type { Db } from "../../../db/connect.ts";
import {
  AddedDestination,
  DestinationList,
  DestinationName,
  NewDestination,
  RemovedDestination,
} from "../../../domain/api/destinations.ts";
import { formatPorts, parseEndpoint } from "../../../domain/destinations.ts";
import type { AccountId, WorkflowId } from "../../../domain/ids.ts";
import type { NetworkLimit } from "../../../domain/manifest/manifest.ts";
import { listGrantNames } from "../../../domain/manifest/network.ts";
import { parseRequest, readBody, refuseField, sendAnswer } from "../answers/body.ts";
import { authorizeAccount, authorizeOperator } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import type { DESTINATION_ROUTES } from "../routes/destinations.ts";

type Deps = Pick<AppDeps, "db" | "grantRules" | "log">;

/** What the routes of destinations do. */
export function createDestinationHandlers(
  deps: Deps,
): Readonly<Record<keyof typeof DESTINATION_ROUTES, RequestHandler>> {
  return {
    listDestinations: createListRoute(deps),
    addDestination: createAdditionRoute(deps),
    removeDestination: createRemovalRoute(deps),
  };
}

function createListRoute({ db }: Deps): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "read");
    const [stored, users] = await Promise.all([listDestinations(db, accountId), listUsers(db, accountId)]);
    sendAnswer(response, DestinationList, {
      destinations: stored.map((one) => {
        const { name, endpoint, createdAt } = toShown(one);
        return { name, endpoint, createdAt, usedBy: usersOf(users, name) };
      }),
    });
  };
}

function createAdditionRoute({ db, grantRules, log }: Deps): RequestHandler {
  return async (request, response) => {
    const { id: accountId } = await authorizeOperator(db, request);
    const { name, endpoint: text } = await readBody(request, NewDestination);
    const reading = parseEndpoint(text);
    const problem = "problem" in reading ? reading.problem : await grantRules.findProblem(reading.endpoint);
    if (problem !== undefined || "problem" in reading) throw refuseField("endpoint", problem ?? "");
    const { host, ports } = reading.endpoint;
    const added = await insertDestination(db, { accountId, name, host, ports: formatPorts(ports) });
    if (added === "taken")
      throw new ApiError(
        "conflict",
        `The account has a destination ${name} already. Remove it, or choose another name.`,
      );
    if (added === "full")
      throw new ApiError("conflict", "The account has 100 destinations, the most there may be. Remove some.");
    log.info({ event: "destination.added", accountId, name }, "A destination was granted.");
    sendAnswer(response, AddedDestination, toShown(added), 201);
  };
}

function createRemovalRoute({ db, log }: Deps): RequestHandler {
  return async (request, response) => {
    const { id: accountId } = await authorizeOperator(db, request);
    const name = parseRequest(DestinationName, request.params["name"]);
    if (!(await deleteDestination(db, accountId, name)))
      throw new ApiError(
        "not_found",
        `The account has no destination ${name}. "destinations list" shows those it has.`,
      );
    log.info({ event: "destination.removed", accountId, name }, "A destination was taken away.");
    const usedBy = usersOf(await listUsers(db, accountId), name);
    sendAnswer(response, RemovedDestination, { name, removed: true, usedBy });
  };
}

function toShown({ name, host, ports, createdAt }: StoredDestination) {
  return { name, endpoint: `${host}:${ports}`, createdAt };
}

interface User {
  readonly workflowId: WorkflowId;
  readonly name: string;
  readonly destinations: readonly string[];
}

async function listUsers(db: Db, accountId: AccountId): Promise<User[]> {
  const users = await listNetworkUsers(db, accountId);
  return users.map(({ workflowId, name, network }) => {
    return { workflowId, name, destinations: listGrantNames(network as NetworkLimit) };
  });
}

function usersOf(users: readonly User[], name: string): { workflowId: WorkflowId; name: string }[] {
  return users
    .filter(({ destinations }) => destinations.includes(name))
    .map((user) => ({ workflowId: user.workflowId, name: user.name }));
}
