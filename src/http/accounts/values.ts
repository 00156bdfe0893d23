import type { Request, RequestHandler } from "express";
import { findWorkflow } from "../../../db/commits/workflows.ts";
import type { Db } from "../../../db/connect.ts";
import {
  listNamingParts,
  listValues,
  listVersions,
  putValue,
  removeValue,
  type StoredValue,
  type ValueKind,
  type ValuePlace,
} from "../../../db/secrets/stored-values.ts";
import {
  NewValue,
  RemovedValue,
  SecretList,
  SetValue,
  ValueHistory,
  ValueName,
  VariableList,
} from "../../../domain/api/values.ts";
import { type AccountId, isWorkflowId, type WorkflowId } from "../../../domain/ids.ts";
import { listNamedValues } from "../../../domain/manifest/named-values.ts";
import { MASKED_BYTES_MIN, VALUE_BYTES_MAX } from "../../../domain/manifest/variable-names.ts";
import type { Right } from "../../../domain/members.ts";
import { openAccountBox } from "../../keys/data-keys.ts";
import { contextOf } from "../../keys/taken-values.ts";
import { parseRequest, queryText, readBody, sendAnswer } from "../answers/body.ts";
import { type AccountCaller, authorizeAccount } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import type { VALUE_ROUTES } from "../routes/values.ts";

const VERSIONS_SHOWN = 100;
/** In JSON a character may take six. */
const BODY_BYTES_MAX = 6 * VALUE_BYTES_MAX + 1_000;
/** Of the workflows that use a value so many are named. */
const USERS_NAMED = 5;

type Deps = Pick<AppDeps, "db" | "secretBox">;

/** What the routes of secrets and variables do. */
export function createValueHandlers(deps: Deps): Readonly<Record<keyof typeof VALUE_ROUTES, RequestHandler>> {
  return {
    listSecrets: createSecretsRoute(deps),
    setSecret: createSetRoute(deps, "secret"),
    removeSecret: createRemovalRoute(deps, "secret"),
    showSecretHistory: createHistoryRoute(deps, "secret"),
    listVariables: createVariablesRoute(deps),
    setVariable: createSetRoute(deps, "variable"),
    removeVariable: createRemovalRoute(deps, "variable"),
    showVariableHistory: createHistoryRoute(deps, "variable"),
  };
}

function createSecretsRoute({ db }: Deps): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "read");
    const secrets = await listWithUsers(db, accountId, "secret");
    sendAnswer(response, SecretList, {
      secrets: secrets.map(({ name, workflowId, version, setBy, setAt, lastUsedAt, usedBy }) => {
        return { name, workflowId, version, setBy, setAt, lastUsedAt, usedBy };
      }),
    });
  };
}

function createVariablesRoute({ db }: Deps): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "read");
    const variables = await listWithUsers(db, accountId, "variable");
    sendAnswer(response, VariableList, {
      variables: variables.map(({ name, workflowId, value, version, setBy, setAt, lastUsedAt, usedBy }) => {
        return { name, workflowId, value: value ?? "", version, setBy, setAt, lastUsedAt, usedBy };
      }),
    });
  };
}

/** Sets a value. A secret is sealed before it is written anywhere. */
function createSetRoute({ db, secretBox }: Deps, kind: ValueKind): RequestHandler {
  return async (request, response) => {
    const caller = await authorizeAccount(db, request, rightToChange(request));
    const place = await readPlace(db, caller, request, kind);
    const { value } = await readBody(request, NewValue, BODY_BYTES_MAX);
    const { accountId, workflowId, name } = place;
    const sealed =
      kind === "secret" ? (await openAccountBox(db, secretBox, accountId)).seal(value, contextOf(place)) : null;
    const stored = { sealed, value: kind === "variable" ? value : null, setBy: caller.email };
    const version = await putValue(db, place, stored);
    if (version === undefined)
      throw new ApiError(
        "conflict",
        "The account has 1,000 secrets and variables, the most there may be. Remove some.",
      );
    const masked = kind === "secret" && Buffer.byteLength(value) >= MASKED_BYTES_MIN;
    sendAnswer(response, SetValue, { name, workflowId, version, masked });
  };
}

/** Removes a value that no latest commit needs. */
function createRemovalRoute({ db }: Deps, kind: ValueKind): RequestHandler {
  return async (request, response) => {
    const caller = await authorizeAccount(db, request, rightToChange(request));
    const place = await readPlace(db, caller, request, kind);
    const { name, workflowId } = place;
    const values = await listWithUsers(db, place.accountId, kind);
    const found = values.find((one) => one.name === name && one.workflowId === workflowId);
    // What the account has stands in for what a workflow had itself.
    const isReplaced = workflowId !== null && values.some((one) => one.name === name && one.workflowId === null);
    const users = isReplaced ? [] : (found?.usedBy ?? []);
    if (users.length > 0) throw inUse(kind, name, users);
    if (!(await removeValue(db, place, caller.email))) throw notSet(kind, place);
    sendAnswer(response, RemovedValue, { name, workflowId, removed: true });
  };
}

function createHistoryRoute({ db }: Deps, kind: ValueKind): RequestHandler {
  return async (request, response) => {
    const caller = await authorizeAccount(db, request, "read");
    const place = await readPlace(db, caller, request, kind);
    const versions = await listVersions(db, place, VERSIONS_SHOWN);
    sendAnswer(response, ValueHistory, { name: place.name, workflowId: place.workflowId, versions });
  };
}

/** What all workflows of an account get is its owners'; what one workflow gets, also those' who write it. */
function rightToChange(request: Request): Right {
  return queryText(request, "workflow") === undefined ? "own" : "write";
}

async function readPlace(db: Db, { accountId }: AccountCaller, request: Request, kind: ValueKind): Promise<ValuePlace> {
  const name = parseRequest(ValueName, request.params["name"]);
  const workflow = queryText(request, "workflow");
  if (workflow === undefined) return { accountId, workflowId: null, kind, name };
  const found = isWorkflowId(workflow) ? await findWorkflow(db, workflow) : undefined;
  if (found?.accountId !== accountId)
    throw new ApiError("not_found", `The account has no workflow ${workflow}. "workflows list" shows those it has.`);
  return { accountId, workflowId: found.id, kind, name };
}

type Used = StoredValue & { readonly usedBy: readonly { workflowId: WorkflowId; name: string }[] };

/** The values of an account, each with the workflows that would miss it. */
async function listWithUsers(db: Db, accountId: AccountId, kind: ValueKind): Promise<Used[]> {
  const [values, workflows] = await Promise.all([listValues(db, accountId, kind), listNamingParts(db, accountId)]);
  const named = workflows.map((one) => {
    const { secrets, variables } = listNamedValues(one);
    return { workflowId: one.workflowId, name: one.workflowName, names: kind === "secret" ? secrets : variables };
  });
  const own = new Set(values.map(({ name, workflowId }) => `${workflowId} ${name}`));
  return values.map((value) => {
    const users = named.filter(({ workflowId, names }) => {
      if (!names.has(value.name)) return false;
      return value.workflowId === null ? !own.has(`${workflowId} ${value.name}`) : value.workflowId === workflowId;
    });
    const usedBy = users.map(({ workflowId, name }) => ({ workflowId, name }));
    return Object.assign({ usedBy }, value);
  });
}

function inUse(kind: ValueKind, name: string, users: Used["usedBy"]): ApiError {
  const shown = users.slice(0, USERS_NAMED).map((user) => `${user.name} (${user.workflowId})`);
  const more = users.length > USERS_NAMED ? ` and ${users.length - USERS_NAMED} more` : "";
  return new ApiError(
    "conflict",
    `The ${kind} ${name} is used by ${shown.join(", ")}${more}. Publish them without it first, or set another value.`,
  );
}

function notSet(kind: ValueKind, { name, workflowId }: ValuePlace): ApiError {
  const where = workflowId === null ? "for the account" : `for ${workflowId} itself`;
  return new ApiError("not_found", `There is no ${kind} ${name} ${where}. List those there are.`);
}
