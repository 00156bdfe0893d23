import { TRIGGERS } from "../../../../domain/execution.ts";
import type { JsonSchema } from "../../../../domain/manifest/value-schema.ts";
import {
  CANCELLED_AT_ONCE_MAX,
  CancelRequest,
  EXECUTIONS_CURSOR,
  EXECUTIONS_PAGE_MAX,
  SEARCH_TEXT_MAX,
  STATUSES,
} from "../../editor/executions.ts";
import { ANY_OBJECT, answerWith, bodyOf, CREDITS, describeFields, IN_PERSON, orNull, TEXT, TIME } from "../content.ts";
import { ACCOUNT, EXECUTION_ID, LAST_EVENT_ID } from "../parameters.ts";
import type { Parameter, Routes } from "../route.ts";
import { refer } from "../schemas.ts";
import { WORKFLOW_ROUTES } from "../workflows.ts";

const SECONDS: JsonSchema = { type: "number", minimum: 0 };
const COUNT: JsonSchema = { type: "integer", minimum: 0 };
const STATUS: JsonSchema = { type: "string", enum: STATUSES };
const TRIGGER: JsonSchema = { type: "string", enum: TRIGGERS };
const IDS: JsonSchema = { type: "array", items: refer("ExecutionId") };

/** What the list and the record in full both say. */
const SUMMARY = {
  executionId: refer("ExecutionId"),
  workflowId: TEXT,
  workflowName: TEXT,
  status: STATUS,
  trigger: TRIGGER,
  draft: { type: "boolean", description: "It is of a draft: its commit is in no history." },
  commitId: TEXT,
  createdAt: TIME,
  startedAt: { ...orNull(TIME), description: "Null: its program has not begun." },
  finishedAt: { ...orNull(TIME), description: "Null: it goes on." },
  duration: { ...orNull(SECONDS), description: "Seconds that the program ran. Null while it goes on." },
  message: { type: "string", description: "Why it did not succeed; otherwise empty." },
} satisfies Record<string, JsonSchema>;

const SUMMARY_EXAMPLE = {
  ...{
    executionId: "ex_06d1k7q2m8v3r5t9w0x4y6z8a1",
    workflowId: "wf_06d1k7q2m8v3r5t9w0x4y6z8a1",
    workflowName: "Report",
  },
  ...{ status: "success", trigger: "form", draft: false, commitId: "0123456789abcdef0123456789abcdef01234567" },
  ...{ createdAt: "2026-11-02T08:00:00.000Z", startedAt: "2026-11-02T08:00:00.120Z" },
  ...{ finishedAt: "2026-11-02T08:00:01.400Z", duration: 1.234, message: "" },
};

const FILE = { fileName: TEXT, bytes: COUNT, contentType: TEXT } satisfies Record<string, JsonSchema>;

const RECORD: JsonSchema = describeFields({
  ...SUMMARY,
  failure: {
    ...orNull({ type: "string", enum: ["internal", "insufficient_credits", "no_capacity"] }),
    description: "When the fault is ours, or it was refused. It costs nothing then.",
  },
  cost: {
    ...describeFields({ compute: CREDITS, total: CREDITS, atMost: CREDITS }),
    description: "`atMost` is what was, or would have been, held for it.",
  },
  inputs: {
    ...ANY_OBJECT,
    description: "By input; of a secret only that one was given: `•••`. Null: nothing was given.",
  },
  inputTexts: {
    type: "object",
    additionalProperties: TEXT,
    description:
      "Inputs of kind `json` as the texts that were sent, for clients whose JSON changes digits or the order of keys. None for older executions.",
  },
  inputFiles: { type: "array", items: describeFields({ input: TEXT, position: COUNT, ...FILE }) },
  outputs: { type: "object", additionalProperties: { type: "string", format: "uri" } },
  files: { type: "array", items: describeFields({ name: TEXT, ...FILE, sha256: TEXT, url: TEXT }) },
  attempts: {
    type: "array",
    items: describeFields({
      ...{ attempt: COUNT, startedAt: TIME, endedAt: orNull(TIME) },
      status: { ...orNull(TEXT), description: "Null with an end: the worker was lost." },
      ...{ message: TEXT, secondsUsed: SECONDS },
    }),
  },
  limits: describeFields({ timeoutSeconds: SECONDS, cpu: { type: "number" }, attemptsMax: COUNT }),
  logBytes: COUNT,
  queuePosition: { ...orNull(COUNT), description: "1: the next to begin. Null: it waits for no others." },
  slotPosition: {
    ...orNull(COUNT),
    description: "1: the next to get a free slot of the process that answers. Null: it waits for no slot there.",
  },
  progress: {
    ...orNull(describeFields({ fraction: { type: "number" }, message: TEXT })),
    description: "What the program says, where it runs in the process that answers.",
  },
  temporalUrl: { ...orNull(TEXT), description: "Where to look at it in Temporal. Null: not ours to say." },
  cancelRequestedAt: orNull(TIME),
  cancelRequestedBy: orNull(TEXT),
  filesRemovedAt: { ...orNull(TIME), description: "Since when its files are not kept any more." },
  logRemovedAt: orNull(TIME),
  estimate: {
    ...orNull(describeFields({ credits: CREDITS, basedOn: COUNT })),
    description: "What an execution of the workflow usually costs, and how many it is taken from.",
  },
});

const RECORD_EXAMPLE = {
  ...SUMMARY_EXAMPLE,
  ...{ failure: null, cost: { compute: 0.01234, total: 0.01334, atMost: 3.001 } },
  inputs: { region: "EU", options: { rows: 10 }, password: "•••" },
  inputTexts: { options: '{"rows": 10}' },
  inputFiles: [{ input: "orders", position: 0, fileName: "orders.csv", bytes: 1042, contentType: "text/csv" }],
  ...{ outputs: {}, files: [], attempts: [], limits: { timeoutSeconds: 300, cpu: 1, attemptsMax: 1 } },
  ...{ logBytes: 812, queuePosition: null, slotPosition: null, progress: null, temporalUrl: null },
  ...{ cancelRequestedAt: null, cancelRequestedBy: null, filesRemovedAt: null, logRemovedAt: null },
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
    maxLength: SEARCH_TEXT_MAX,
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

/** The same answers with examples of a draft's execution. */
function markDraft({ 200: ended, 202: accepted }: typeof WORKFLOW_ROUTES.executeWorkflow.answers) {
  const mark = <Answer extends typeof ended | typeof accepted>(answer: Answer): Answer => {
    const json = answer.content["application/json"];
    const marked = { ...json, example: { ...json.example, draft: true } };
    return { ...answer, content: { ...answer.content, "application/json": marked } };
  };
  return { 200: mark(ended), 202: mark(accepted) };
}

/** Executions as people look at them. */
export const EDITOR_EXECUTION_ROUTES = {
  listExecutions: {
    method: "get",
    path: "/api/editor/executions",
    tag: "Runs",
    summary: "Executions of the account, the newest first",
    description:
      "Of those that the most selective filter leaves, 5,000 are looked through for one page: it may have fewer than `limit`, even none, and still a `nextCursor` to look further.",
    credentials: IN_PERSON,
    parameters: [ACCOUNT, ...FILTERS],
    answers: {
      200: {
        description: "A page of them.",
        content: answerWith(
          describeFields({
            executions: {
              type: "array",
              items: describeFields({
                ...SUMMARY,
                cost: { ...orNull(CREDITS), description: "In all. Null while it goes on." },
              }),
            },
            nextCursor: { ...orNull(TEXT), description: "Null: there is no other page." },
          }),
          {
            executions: [{ ...SUMMARY_EXAMPLE, cost: 0.01334 }],
            nextCursor: "1793606400000000.ex_06d1k7q2m8v3r5t9w0x4y6z8a1",
          },
        ),
      },
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  // Before the next one, for which `cancel` would be an id.
  cancelExecutions: {
    method: "post",
    path: "/api/editor/executions/cancel",
    tag: "Runs",
    summary: "End several executions",
    description: `At most ${CANCELLED_AT_ONCE_MAX} at once.`,
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    body: bodyOf(CancelRequest, { executionIds: [SUMMARY_EXAMPLE.executionId] }),
    answers: {
      200: {
        description: "What became of each: it is being ended, it had ended, or the account has none of that id.",
        content: answerWith(describeFields({ cancelled: IDS, ended: IDS, unknown: IDS }), {
          ...{ cancelled: [SUMMARY_EXAMPLE.executionId], ended: [], unknown: [] },
        }),
      },
    },
    errors: ["unauthorized", "not_found", "payload_too_large", "unsupported_media_type", "no_capacity"],
  },
  showExecutionRecord: {
    method: "get",
    path: "/api/editor/executions/{executionId}",
    tag: "Runs",
    summary: "The record of an execution in full",
    credentials: IN_PERSON,
    parameters: [EXECUTION_ID, ACCOUNT],
    answers: { 200: { description: "As it is now.", content: answerWith(RECORD, RECORD_EXAMPLE) } },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  executeDraft: {
    ...WORKFLOW_ROUTES.executeWorkflow,
    path: "/api/editor/workflows/{workflowId}/draft/execute",
    tag: "Runs",
    summary: "Execute the caller's draft without committing it",
    description:
      "As `execute`, of the files as the caller has them: they are checked, and their environment is made, before the body is read. The execution is marked as a draft's; what others call and schedule stays as it is.",
    credentials: IN_PERSON,
    parameters: [...WORKFLOW_ROUTES.executeWorkflow.parameters, ACCOUNT],
    answers: markDraft(WORKFLOW_ROUTES.executeWorkflow.answers),
    // Of an account that there is not.
    errors: [...WORKFLOW_ROUTES.executeWorkflow.errors, "not_found"],
  },
  followEvents: {
    method: "get",
    path: "/api/editor/events",
    tag: "Runs",
    summary: "What happens in the account, as server-sent events",
    description:
      "`execution` whenever one is accepted, begins or ends; `workflow` whenever one is made, committed, renamed or deleted; `resync` when something may have been missed: ask again for what is shown. A stream ends after ten minutes; whoever connects again with `Last-Event-ID` goes on behind it.",
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
