import { EndedKey, KeyList, KeyRotation, RefusedCallList, RotatedKey, WholeKey } from "../../../domain/api/keys.ts";
import {
  CreatedWorkflow,
  DeletedWorkflow,
  NewWorkflow,
  RenamedWorkflow,
  ShownWorkflow,
  TemplateList,
  UnrunnableCommits,
  WorkflowList,
  WorkflowName,
  WorkflowOverview,
} from "../../../domain/api/workflows.ts";
import { answerOf, bodyOf, IN_PERSON } from "./content.ts";
import { ACCOUNT, aPathId, WORKFLOW_ID } from "./parameters.ts";
import { A_COMMIT, A_WORKFLOW, COMMIT_EXAMPLE, USAGE_EXAMPLE } from "./parts.ts";
import type { Routes } from "./route.ts";

const PATH = "/api/workflows";
const ONE = `${PATH}/{workflowId}` as const;

const RECENT_EXAMPLE = {
  executionId: "ex_06d1k7q2m8v3r5t9w0x4y6z8a1",
  status: "success" as const,
  failure: null,
  createdAt: "2026-11-02T08:00:00.412Z",
  duration: 1.234,
};

const WORKFLOW_EXAMPLE = {
  workflowId: A_WORKFLOW,
  name: "Sales report",
  description: "Turns an order export into a PDF",
  commitId: A_COMMIT,
  createdAt: "2026-10-30T14:21:07.031Z",
  lastExecution: {
    executionId: "ex_06d1k7q2m8v3r5t9w0x4y6z8a1",
    status: "success" as const,
    failure: null,
    createdAt: "2026-11-02T08:00:00.412Z",
  },
  recent: [RECENT_EXAMPLE],
  nextRun: { utc: "2026-11-03T08:00:00Z", local: "2026-11-03T09:00:00+01:00", timezone: "Europe/Berlin" },
  schedulePaused: false,
  apiEnabled: true,
  spentThisMonth: 1.2345,
  executionsThisMonth: 87,
  estimate: { credits: 0.0134, basedOn: 42 },
};
const CHANGE_ERRORS = [
  "unauthorized",
  "workflow_not_found",
  "not_found",
  "payload_too_large",
  "unsupported_media_type",
  "no_capacity",
] as const;

/** Workflows and their keys, as people of the account see and change them. */
export const WORKFLOW_ROUTES = {
  listWorkflows: {
    method: "get",
    path: PATH,
    tag: "Publishing",
    summary: "The workflows of the account, by name",
    credentials: IN_PERSON,
    parameters: [
      ACCOUNT,
      {
        name: "search",
        in: "query",
        description: "Only workflows whose name has this text, in upper or lower case.",
        schema: { type: "string", maxLength: 200 },
      },
    ],
    answers: {
      200: answerOf("All of them.", WorkflowList, { workflows: [WORKFLOW_EXAMPLE] }),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  listTemplates: {
    method: "get",
    path: "/api/templates",
    tag: "Publishing",
    summary: "What a new workflow can begin with",
    credentials: IN_PERSON,
    answers: {
      200: answerOf("The templates.", TemplateList, {
        templates: [
          {
            templateId: "hello",
            name: "Hello",
            description: "Greets you by name",
            files: ["config.yaml", "main.py"],
          },
        ],
      }),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  createWorkflow: {
    method: "post",
    path: PATH,
    tag: "Publishing",
    summary:
      "Make a workflow without a commit; the files of a template, or of another workflow, become the caller's draft",
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    body: bodyOf(NewWorkflow, { name: "Sales report", templateId: "sales-report" }),
    answers: {
      201: answerOf("Made, with its API key.", CreatedWorkflow, { workflowId: A_WORKFLOW, apiKey: "trd_EXAMPLE" }),
    },
    errors: ["unauthorized", "not_found", "payload_too_large", "unsupported_media_type", "storage_full", "no_capacity"],
  },
  showWorkflow: {
    method: "get",
    path: ONE,
    tag: "Publishing",
    summary: "One workflow with its latest commit",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    answers: {
      200: answerOf("The workflow.", ShownWorkflow, {
        ...WORKFLOW_EXAMPLE,
        manifest: { name: "Sales report", inputs: [] },
        usage: USAGE_EXAMPLE,
        head: COMMIT_EXAMPLE,
        executeUrl: `https://localhost:8443/api/workflows/${A_WORKFLOW}/execute`,
        docsUrl: `https://localhost:8443/api/workflows/${A_WORKFLOW}/docs`,
      }),
    },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  showOverview: {
    method: "get",
    path: `${ONE}/overview`,
    tag: "Publishing",
    summary: "How the executions of a workflow have gone: the last ones, by day, and the last failure",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    answers: {
      200: answerOf("The overview.", WorkflowOverview, {
        recent: [RECENT_EXAMPLE],
        days: [{ day: "2026-11-02", succeeded: 86, failed: 1, median: 1.234, p95: 2.5 }],
        lastFailure: {
          executionId: "ex_06d1k7q2m8v3r5t9w0x4y6z8a2",
          status: "failed",
          message: "ValueError: There is no such region.",
          createdAt: "2026-11-02T07:00:00.412Z",
        },
      }),
    },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  renameWorkflow: {
    method: "patch",
    path: ONE,
    tag: "Publishing",
    summary: "Give a workflow another name",
    description: "A `name` in config.yaml is its name again with the next commit.",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(WorkflowName, { name: "Sales report" }),
    answers: {
      200: answerOf("Renamed.", RenamedWorkflow, {
        workflowId: A_WORKFLOW,
        name: "Sales report",
      }),
    },
    errors: CHANGE_ERRORS,
  },
  deleteWorkflow: {
    method: "delete",
    path: ONE,
    tag: "Publishing",
    summary: "Delete a workflow: its key and schedule end at once, its executions stay on record",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    answers: {
      200: answerOf("Deleted.", DeletedWorkflow, {
        workflowId: A_WORKFLOW,
        deleted: true,
      }),
    },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  listKeys: {
    method: "get",
    path: `${ONE}/keys`,
    tag: "Publishing",
    summary: "Every key that opens the workflow now, with its last use",
    description: "Masked: enough to recognise a key by. A replaced key is listed until its grace is over.",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    answers: {
      200: answerOf("The keys.", KeyList, {
        keys: [
          {
            keyId: "key_5f0c9d1b7a3e4f6d",
            masked: "trd_••••••••x4Qz",
            createdAt: "2026-11-02T08:00:00.412Z",
            lastUsedAt: "2026-11-03T08:00:00.000Z",
            expiresAt: null,
          },
        ],
        apiEnabled: true,
      }),
    },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  listRefusedCalls: {
    method: "get",
    path: `${ONE}/refused-calls`,
    tag: "Publishing",
    summary: "Calls with the API that were refused within the last week",
    description:
      "At most 50, the newest first. A call counts as soon as it names the workflow, with the right key or without it. It takes a few seconds until it is listed.",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    answers: {
      200: answerOf("The calls.", RefusedCallList, {
        calls: [
          {
            refusedAt: "2026-11-02T08:00:00.412Z",
            status: 402,
            error: "Insufficient credits",
            message: "This execution needs 3.001 credits to begin, and the account has 0.5 available.",
            keyEnd: "x4Qz",
          },
        ],
      }),
    },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  showKey: {
    method: "get",
    path: `${ONE}/key`,
    tag: "Publishing",
    summary: "The workflow's current API key itself",
    description: "Who asked is logged. A viewer is refused.",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    answers: { 200: answerOf("The key.", WholeKey, { apiKey: "trd_EXAMPLE" }) },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  rotateKey: {
    method: "post",
    path: `${ONE}/keys`,
    tag: "Publishing",
    summary: "Replace the API key; the old one works on for the seconds chosen, or ends at once",
    description: "At most 30 days. Keys that were replaced before end at once.",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(KeyRotation, { graceSeconds: 86_400 }),
    answers: {
      201: answerOf("The new key.", RotatedKey, {
        apiKey: "trd_EXAMPLE",
        previousKeyExpiresAt: "2026-11-03T08:00:00.412Z",
      }),
    },
    errors: CHANGE_ERRORS,
  },
  endKey: {
    method: "delete",
    path: `${ONE}/keys/{keyId}`,
    tag: "Publishing",
    summary: "End a replaced key before its grace is over",
    description: "The current key is refused with 409: replace it without grace instead.",
    credentials: IN_PERSON,
    parameters: [
      WORKFLOW_ID,
      aPathId(
        "keyId",
        { type: "string", pattern: "^key_[0-9a-f]{16}$", maxLength: 20 },
        "The key, as the list of keys names it.",
      ),
    ],
    answers: { 200: answerOf("Ended.", EndedKey, { keyId: "key_5f0c9d1b7a3e4f6d", ended: true }) },
    errors: ["unauthorized", "workflow_not_found", "not_found", "conflict", "no_capacity"],
  },
  listUnrunnable: {
    method: "get",
    path: "/api/unrunnable-commits",
    tag: "Publishing",
    summary: "Commits that cannot run on this host, and why",
    description: "Such as those whose version of Python is gone. At most 100.",
    credentials: IN_PERSON,
    answers: {
      200: answerOf("The commits.", UnrunnableCommits, {
        commits: [
          {
            workflowId: A_WORKFLOW,
            name: "Sales report",
            commitId: A_COMMIT,
            reason: "Python 3.11 is not installed any more.",
            isBeingMade: false,
          },
        ],
      }),
    },
    errors: ["unauthorized", "no_capacity"],
  },
} satisfies Routes;
