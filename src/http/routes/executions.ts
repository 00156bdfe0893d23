import {
  CancelledExecutions,
  CancelRequest,
  EXECUTIONS_CURSOR,
  ExecutionPage,
  ExecutionRecord,
  STATUSES,
} from "../../../domain/api/executions.ts";
import { CANCELLED_AT_ONCE_MAX, EXECUTIONS_PAGE_MAX, SEARCH_CHARACTERS_MAX } from "../../../domain/api/limits.ts";
import { TRIGGERS } from "../../../domain/execution.ts";
import type { JsonObject } from "../../../domain/manifest/json-values.ts";
import type { JsonSchema } from "../../../domain/manifest/value-schema.ts";
import { CALL_ROUTES } from "./calls.ts";
import { answerOf, bodyOf, IN_PERSON, TIME } from "./content.ts";
import { ACCOUNT, EXECUTION_ID, LAST_EVENT_ID } from "./parameters.ts";
import type { Parameter, Routes } from "./route.ts";

const STATUS: JsonSchema = { type: "string", enum: [...STATUSES] };
const TRIGGER: JsonSchema = { type: "string", enum: [...TRIGGERS] };

const SUMMARY_EXAMPLE = {
  executionId: "ex_06d1k7q2m8v3r5t9w0x4y6z8a1",
  workflowId: "wf_06d1k7q2m8v3r5t9w0x4y6z8a1",
  workflowName: "Report",
  status: "success" as const,
  trigger: "form" as const,
  draft: false,
  commitId: "0123456789abcdef0123456789abcdef01234567",
  createdAt: "2026-11-02T08:00:00.000Z",
  startedAt: "2026-11-02T08:00:00.120Z",
  finishedAt: "2026-11-02T08:00:01.400Z",
  duration: 1.234,
  message: "",
  failure: null,
};

const RECORD_EXAMPLE = {
  ...SUMMARY_EXAMPLE,
  cost: { compute: 0.01234, total: 0.01334, atMost: 3.001 },
  inputs: { region: "EU", options: { rows: 10 }, password: "•••" },
  inputTexts: { options: '{"rows": 10}' },
  inputFiles: [{ input: "orders", position: 0, fileName: "orders.csv", bytes: 1042, contentType: "text/csv" }],
  outputs: {},
  files: [],
  attempts: [],
  nextAttemptAt: null,
  limits: { timeoutSeconds: 300, memoryBytes: 512_000_000, cpu: 1, attemptsMax: 1 },
  logBytes: 812,
  queuePosition: null,
  slotPosition: null,
  progress: null,
  temporalUrl: null,
  uploadedAt: "2026-11-02T08:00:01.391Z",
  cancelRequestedAt: null,
  cancelRequestedBy: null,
  filesRemovedAt: null,
  logRemovedAt: null,
  estimate: { credits: 0.0134, basedOn: 42 },
};

function aFilter(name: string, description: string, schema: JsonSchema): Parameter {
  return { name, in: "query", description, schema };
}

const FILTERS: readonly Parameter[] = [
  aFilter("workflow", "Of this workflow.", { type: "string", pattern: "^(wf_[0-9a-z]{16,40})?$", maxLength: 43 }),
  aFilter("commit", "Of this commit of the workflow: its id, or how it begins.", {
    type: "string",
    pattern: "^([0-9a-f]{4,40})?$",
    maxLength: 40,
  }),
  aFilter("state", "In this state.", STATUS),
  aFilter("trigger", "Started by this.", TRIGGER),
  aFilter("from", "Accepted then or later.", TIME),
  aFilter("to", "Accepted before.", TIME),
  aFilter("text", "In the workflow's name or the message, or what the id begins with; case does not count.", {
    type: "string",
    maxLength: SEARCH_CHARACTERS_MAX,
  }),
  aFilter("limit", "At most this many. 50 unless given.", {
    type: "integer",
    minimum: 1,
    maximum: EXECUTIONS_PAGE_MAX,
  }),
  aFilter("cursor", "Of the next page: `nextCursor` of the one before.", {
    type: "string",
    pattern: EXECUTIONS_CURSOR.source,
  }),
];

/** Returns the same answers with examples of a draft's execution. */
function markDraft({ 200: ended, 202: accepted }: typeof CALL_ROUTES.executeWorkflow.answers) {
  const mark = <Marked extends typeof ended | typeof accepted>(answer: Marked): Marked => {
    const json = answer.content["application/json"];
    const marked = { ...json, example: { ...(json.example as JsonObject), draft: true } };
    return { ...answer, content: { ...answer.content, "application/json": marked } };
  };
  return { 200: mark(ended), 202: mark(accepted) };
}

/** Executions as people look at them. */
export const EXECUTION_ROUTES = {
  listExecutions: {
    method: "get",
    path: "/api/executions",
    tag: "Executions",
    summary: "Executions of the account, the newest first",
    description:
      "Of those that the most selective filter leaves, 5,000 are looked through for one page: it may have fewer than `limit`, even none, and still a `nextCursor` to look further.",
    credentials: IN_PERSON,
    parameters: [ACCOUNT, ...FILTERS],
    answers: {
      200: answerOf("A page of them.", ExecutionPage, {
        executions: [{ ...SUMMARY_EXAMPLE, cost: 0.01334 }],
        nextCursor: "1793606400000000.ex_06d1k7q2m8v3r5t9w0x4y6z8a1",
      }),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  // Before the next one, for which `cancel` would be an id.
  cancelExecutions: {
    method: "post",
    path: "/api/executions/cancel",
    tag: "Executions",
    summary: "End several executions",
    description: `At most ${CANCELLED_AT_ONCE_MAX} at once.`,
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    body: bodyOf(CancelRequest, { executionIds: [SUMMARY_EXAMPLE.executionId] }),
    answers: {
      200: answerOf(
        "What became of each: it is being ended, it had ended, or the account has none of that id.",
        CancelledExecutions,
        { cancelled: [SUMMARY_EXAMPLE.executionId], ended: [], unknown: [] },
      ),
    },
    errors: ["unauthorized", "not_found", "payload_too_large", "unsupported_media_type", "no_capacity"],
  },
  showExecutionRecord: {
    method: "get",
    path: "/api/executions/{executionId}",
    tag: "Executions",
    summary: "The record of an execution in full",
    credentials: IN_PERSON,
    parameters: [EXECUTION_ID, ACCOUNT],
    answers: { 200: answerOf("As it is now.", ExecutionRecord, RECORD_EXAMPLE) },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  executeDraft: {
    ...CALL_ROUTES.executeWorkflow,
    path: "/api/workflows/{workflowId}/draft/execute",
    tag: "Executions",
    summary: "Execute the caller's draft without committing it",
    description:
      "As `execute`, of the files as the caller has them: they are checked, and their environment is made, before the body is read. The execution is marked as a draft's; what others call and schedule stays as it is.",
    credentials: IN_PERSON,
    parameters: [...CALL_ROUTES.executeWorkflow.parameters, ACCOUNT],
    answers: markDraft(CALL_ROUTES.executeWorkflow.answers),
    // Of an account that there is not.
    errors: [...CALL_ROUTES.executeWorkflow.errors, "not_found"],
  },
  followEvents: {
    method: "get",
    path: "/api/events",
    tag: "Executions",
    summary: "What happens in the account, as server-sent events",
    description:
      "`execution` whenever one is accepted, begins or ends; `workflow` whenever one is made, committed, renamed or deleted; `resync` when something may have been missed: ask again for what is shown. A stream ends after ten minutes. Connect again with `Last-Event-ID` to go on behind it.",
    credentials: IN_PERSON,
    parameters: [ACCOUNT, { ...LAST_EVENT_ID, description: "The id of the last event that the caller has." }],
    answers: {
      200: {
        description: "One event after the other.",
        content: {
          "text/event-stream": {
            schema: {
              type: "object",
              properties: {
                id: { type: "string" },
                event: { type: "string", enum: ["execution", "workflow", "resync"] },
                data: {
                  type: "string",
                  contentMediaType: "application/json",
                  description: "`{executionId, workflowId, status}`, `{workflowId}`, or `{}`.",
                },
                retry: { type: "integer" },
              },
              required: ["data"],
            },
          },
        },
      },
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
} satisfies Routes;
