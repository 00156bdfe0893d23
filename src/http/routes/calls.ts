import { Accepted, Success, Validity } from "../../../domain/api/results.ts";
import { ANY_OBJECT, answerOf } from "./content.ts";
import { EVENTS } from "./events.ts";
import type { HeaderName } from "./headers.ts";
import { IDEMPOTENCY_KEY, IF_NONE_MATCH, PREFER, WEBHOOK_SECRET, WEBHOOK_URL, WORKFLOW_ID } from "./parameters.ts";
import type { Contents, Credential, Parameter, Routes } from "./route.ts";
import { refer } from "./schemas.ts";

/** A program with the key; or a member of the account, whose executions have the trigger `form`. */
const IN_PERSON: readonly Credential[] = ["apiKey", "session", "accessToken"];
const RATES: readonly HeaderName[] = ["RateLimit-Policy", "RateLimit"];
const REPEATED: readonly HeaderName[] = ["Idempotent-Replayed", "Preference-Applied"];
const RESULT_EXAMPLE = {
  status: "success" as const,
  executionId: "ex_06d1k7q2m8v3r5t9w0x4y6z8a1",
  duration: 1.234,
  outputs: { report: "https://localhost:8443/api/run-logs/ex_06d1k7q2m8v3r5t9w0x4y6z8a1/files/report.pdf" },
  cost: { compute: 0.01234, total: 0.01334 },
};

const ENDED = answerOf(
  "It has ended with success; or, as events, it is being followed until it ends.",
  Success,
  RESULT_EXAMPLE,
);
const UNDER_WAY = answerOf("It goes on. Ask again at `Location`.", Accepted, {
  ...RESULT_EXAMPLE,
  status: "running" as const,
  duration: 0,
  outputs: {},
  cost: { compute: 0, total: 0 },
});

/** Of any workflow. Its own document says which inputs. */
const INPUTS: Contents = {
  "application/json": { schema: refer("WorkflowInputs"), example: { region: "EU", count: 3 } },
  "multipart/form-data": { schema: refer("WorkflowForm") },
};

/**
 * Validate takes what execute takes. It is named although it changes nothing, for openapi-python-client. That makes a
 * module that cannot be imported of an operation with two bodies and no optional parameter.
 */
const PREFER_OF_EXECUTE: Parameter = { ...PREFER, description: "As for execute, and without effect: nothing waits." };

/** What callers do with a workflow. */
export const CALL_ROUTES = {
  executeWorkflow: {
    method: "post",
    path: "/api/workflows/{workflowId}/execute",
    tag: "Workflows",
    summary: "Execute the workflow's latest commit",
    description:
      "Waits for the result, at most 300 seconds unless the operator has set another time, then answers 202. When the caller goes away, the execution goes on. With `Accept: text/event-stream` the log, the progress and the result come as server-sent events.",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID, IDEMPOTENCY_KEY, PREFER, WEBHOOK_URL, WEBHOOK_SECRET],
    body: { required: true, content: INPUTS },
    answers: {
      200: {
        ...ENDED,
        always: ["X-Execution-Id", "Location"],
        sometimes: [...RATES, ...REPEATED, "Server-Timing"],
        content: { ...ENDED.content, "text/event-stream": EVENTS },
      },
      202: {
        ...UNDER_WAY,
        always: ["X-Execution-Id", "Location", "Retry-After", "Server-Timing"],
        sometimes: [...RATES, ...REPEATED],
      },
    },
    errors: [
      "unauthorized",
      "insufficient_credits",
      "storage_full",
      "api_trigger_disabled",
      "workflow_not_found",
      "conflict",
      "payload_too_large",
      "unsupported_media_type",
      "rate_limited",
      "too_many_executions",
      "execution_failed",
      "no_capacity",
    ],
    lateHeaders: ["X-Execution-Id", "Location", "Server-Timing", ...RATES, ...REPEATED],
  },
  validateInputs: {
    method: "post",
    path: "/api/workflows/{workflowId}/validate",
    tag: "Workflows",
    summary: "Validate what execute would get, and start nothing",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID, PREFER_OF_EXECUTE],
    body: { required: true, content: INPUTS },
    answers: {
      200: answerOf("Execute would take it.", Validity, {
        valid: true,
        nextRuns: [{ utc: "2026-05-04T07:00:00Z", local: "2026-05-04T09:00:00+02:00" }],
        schedule: { description: "every weekday at 09:00, Europe/Berlin", paused: false },
        estimate: { credits: 0.0134, basedOn: 42 },
      }),
    },
    errors: [
      "unauthorized",
      "api_trigger_disabled",
      "workflow_not_found",
      "payload_too_large",
      "unsupported_media_type",
      "rate_limited",
      "no_capacity",
    ],
  },
  describeWorkflow: {
    method: "get",
    path: "/api/workflows/{workflowId}/openapi.json",
    tag: "Workflows",
    summary: "The OpenAPI document of one workflow, with its own inputs and outputs",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID, IF_NONE_MATCH],
    answers: {
      200: {
        description: "OpenAPI 3.1, of the latest commit.",
        always: ["ETag"],
        content: { "application/json": { schema: ANY_OBJECT } },
      },
      304: { description: "The caller has it already.", always: ["ETag"] },
    },
    errors: ["unauthorized", "workflow_not_found", "no_capacity"],
  },
  showWorkflowDocs: {
    method: "get",
    path: "/api/workflows/{workflowId}/docs",
    tag: "Workflows",
    summary: "A page on which one workflow can be read about and tried",
    description:
      "The page is there for every id that a workflow may have; it asks for the key when you are not signed in.",
    credentials: [],
    parameters: [WORKFLOW_ID],
    answers: { 200: { description: "The page.", content: { "text/html": { schema: { type: "string" } } } } },
    errors: ["workflow_not_found"],
  },
} satisfies Routes;
