import {
  NewValue,
  RemovedValue,
  SecretList,
  SetValue,
  ValueHistory,
  VariableList,
} from "../../../domain/api/values.ts";
import { answerOf, bodyOf, describeId, IN_PERSON } from "./content.ts";
import { ACCOUNT, aPathId } from "./parameters.ts";
import type { Parameter, Routes } from "./route.ts";

const NAME = aPathId(
  "name",
  { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$", maxLength: 100 },
  "The name that programs find in their environment.",
);
const WORKFLOW: Parameter = {
  name: "workflow",
  in: "query",
  description: "The one of this workflow alone. Without it, that of the account.",
  schema: describeId("wf"),
};
const PLACE = { name: "WAREHOUSE_PASSWORD", workflowId: null };
const MADE = {
  version: 2,
  setBy: "ada@example.com",
  setAt: "2026-11-02T09:00:00.000Z",
  lastUsedAt: "2026-11-03T02:00:00.000Z",
};
const USED_BY = [{ workflowId: "wf_0123456789abcdef", name: "Load the warehouse" }];
const READ_ERRORS = ["unauthorized", "not_found", "no_capacity"] as const;
const WRITE_ERRORS = [
  "unauthorized",
  "not_found",
  "conflict",
  "payload_too_large",
  "unsupported_media_type",
  "no_capacity",
] as const;

/** Secrets and variables of an account and of its workflows. */
export const VALUE_ROUTES = {
  listSecrets: {
    method: "get",
    path: "/api/secrets",
    tag: "Account",
    summary: "The names of secrets that are set",
    description: "Those of the account and of its workflows. What they are is shown to nobody.",
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    answers: {
      200: answerOf("By name.", SecretList, {
        secrets: [{ name: PLACE.name, workflowId: null, ...MADE, usedBy: USED_BY }],
      }),
    },
    errors: READ_ERRORS,
  },
  setSecret: {
    method: "put",
    path: "/api/secrets/{name}",
    tag: "Account",
    summary: "Set a secret",
    description:
      "Replaces the one before. Attempts that begin from now on get it. For owners; with `workflow`, for members, too.",
    credentials: IN_PERSON,
    parameters: [NAME, WORKFLOW, ACCOUNT],
    body: bodyOf(NewValue, { value: "correct horse battery staple" }),
    answers: {
      200: answerOf("It is set.", SetValue, { name: PLACE.name, workflowId: null, version: 2, masked: true }),
    },
    errors: WRITE_ERRORS,
  },
  removeSecret: {
    method: "delete",
    path: "/api/secrets/{name}",
    tag: "Account",
    summary: "Remove a secret",
    description:
      "Refused while the latest commit of a workflow names it. For owners; with `workflow`, for members, too.",
    credentials: IN_PERSON,
    parameters: [NAME, WORKFLOW, ACCOUNT],
    answers: { 200: answerOf("It is gone.", RemovedValue, { name: PLACE.name, workflowId: null, removed: true }) },
    errors: ["unauthorized", "not_found", "conflict", "no_capacity"],
  },
  showSecretHistory: {
    method: "get",
    path: "/api/secrets/{name}/history",
    tag: "Account",
    summary: "When a secret was set, and by whom",
    credentials: IN_PERSON,
    parameters: [NAME, WORKFLOW, ACCOUNT],
    answers: {
      200: answerOf("The newest first; none where it was never set.", ValueHistory, {
        name: PLACE.name,
        workflowId: null,
        versions: [{ ...MADE, removed: false, value: null }],
      }),
    },
    errors: READ_ERRORS,
  },
  listVariables: {
    method: "get",
    path: "/api/variables",
    tag: "Account",
    summary: "The variables that are set",
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    answers: {
      200: answerOf("By name.", VariableList, {
        variables: [{ name: "LEVEL", workflowId: null, value: "info", ...MADE, usedBy: USED_BY }],
      }),
    },
    errors: READ_ERRORS,
  },
  setVariable: {
    method: "put",
    path: "/api/variables/{name}",
    tag: "Account",
    summary: "Set a variable",
    description:
      "Replaces the one before. Attempts that begin from now on get it. For owners; with `workflow`, for members, too.",
    credentials: IN_PERSON,
    parameters: [NAME, WORKFLOW, ACCOUNT],
    body: bodyOf(NewValue, { value: "info" }),
    answers: { 200: answerOf("It is set.", SetValue, { name: "LEVEL", workflowId: null, version: 2, masked: false }) },
    errors: WRITE_ERRORS,
  },
  removeVariable: {
    method: "delete",
    path: "/api/variables/{name}",
    tag: "Account",
    summary: "Remove a variable",
    description:
      "Refused while the latest commit of a workflow names it. For owners; with `workflow`, for members, too.",
    credentials: IN_PERSON,
    parameters: [NAME, WORKFLOW, ACCOUNT],
    answers: { 200: answerOf("It is gone.", RemovedValue, { name: "LEVEL", workflowId: null, removed: true }) },
    errors: ["unauthorized", "not_found", "conflict", "no_capacity"],
  },
  showVariableHistory: {
    method: "get",
    path: "/api/variables/{name}/history",
    tag: "Account",
    summary: "When a variable was set, to what and by whom",
    credentials: IN_PERSON,
    parameters: [NAME, WORKFLOW, ACCOUNT],
    answers: {
      200: answerOf("The newest first; none where it was never set.", ValueHistory, {
        name: "LEVEL",
        workflowId: null,
        versions: [{ ...MADE, removed: false, value: "info" }],
      }),
    },
    errors: READ_ERRORS,
  },
} satisfies Routes;
