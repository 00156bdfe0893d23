import { ERROR_TEXT, type ErrorCode } from "../../../domain/errors.ts";
import { EXECUTION_ENDS } from "../../../domain/execution.ts";
import { CATCHUPS, OVERLAPS } from "../../../domain/manifest/manifest.ts";
import type { JsonSchema } from "../../../domain/manifest/value-schema.ts";
import { ROLES } from "../../../domain/members.ts";
import { TICK_OUTCOMES, TICK_SOURCES } from "../../../domain/schedules/ticks.ts";
import { ALWAYS_TRUE, ANY_OBJECT, describeFields, describeId, exactly, TIME } from "./content.ts";

const EXECUTION_ID = describeId("ex");
const MESSAGE: JsonSchema = { type: "string", description: "For a person: what is wrong and what to do. May change." };
const CREDITS: JsonSchema = { type: "number", minimum: 0 };

/** A component of the documents by its name. */
export function refer(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

const SECONDS: JsonSchema = { type: "number", minimum: 0 };
const NEXT_RUNS: JsonSchema = {
  type: "array",
  maxItems: 10,
  items: refer("NextRun"),
  description: "When the schedule is due next; empty without one, and while it is paused.",
};

const RESULT = {
  status: { type: "string", enum: ["queued", "running", ...EXECUTION_ENDS] },
  executionId: refer("ExecutionId"),
  duration: { type: "number", minimum: 0, description: "Seconds that the program ran: what is billed." },
  outputs: {
    type: "object",
    additionalProperties: { type: "string", format: "uri" },
    description: "Output name to the address of its file.",
  },
  cost: {
    ...describeFields({ compute: CREDITS, total: CREDITS }),
    description: "In credits; `total` is `compute` and the fee of an execution.",
  },
} satisfies Record<string, JsonSchema>;
/** What a result may have beside. */
const REMARKS = {
  draft: {
    type: "boolean",
    description: "True: it is of somebody's draft, and its commit is in no history. Only then.",
  },
  queuePosition: {
    type: "integer",
    minimum: 1,
    description: "1: the next to begin. Only while it waits for others of its workflow.",
  },
  filesRemovedAt: { type: "string", format: "date-time", description: "Since when its files are not kept any more." },
  logRemovedAt: { type: "string", format: "date-time", description: "Since when its log is not kept any more." },
} satisfies Record<string, JsonSchema>;
const REMARK_NAMES = Object.keys(REMARKS);
/** What a refusal for want of credits says. */
const AMOUNTS = {
  needed: { ...CREDITS, description: "The most that this execution may cost." },
  available: { type: "number", description: "What the account had." },
} satisfies Record<string, JsonSchema>;

/** What an error has beside `error` and `message`, and what of that it may lack. */
const ERROR_FIELDS: Partial<Record<ErrorCode, { fields: Record<string, JsonSchema>; optional?: readonly string[] }>> = {
  invalid_request: {
    fields: {
      details: {
        type: "array",
        items: { anyOf: [refer("InputProblem"), refer("FileProblem")] },
        description: "Every problem at once.",
      },
      buildId: { type: "string", description: "Of a commit: the record of how it was made." },
      buildLog: { type: "string", description: "Of a commit: what making its environment said." },
    },
    optional: ["details", "buildId", "buildLog"],
  },
  insufficient_credits: {
    fields: {
      ...AMOUNTS,
      executionId: { ...refer("ExecutionId"), description: "Where it was accepted before it was refused." },
    },
    optional: ["executionId"],
  },
  conflict: {
    fields: {
      executionId: { ...refer("ExecutionId"), description: "The execution that the Idempotency-Key belongs to." },
      head: {
        anyOf: [{ type: "string" }, { type: "null" }],
        description: "Of a commit: the workflow's latest, when it is another than expected.",
      },
      version: { type: "integer", minimum: 0, description: "Of a draft: the stored version, when it is another." },
    },
    optional: ["executionId", "head", "version"],
  },
  execution_failed: { fields: { ...RESULT, ...REMARKS }, optional: REMARK_NAMES },
  internal: {
    fields: {
      requestId: { type: "string", description: "Where the operator finds it in the log." },
      ...RESULT,
      ...REMARKS,
    },
    optional: ["requestId", ...Object.keys(RESULT), ...REMARK_NAMES],
  },
  no_capacity: { fields: { ...RESULT, ...REMARKS }, optional: [...Object.keys(RESULT), ...REMARK_NAMES] },
};

/** The name of an error's component: `invalid_request` is `InvalidRequest`. */
export function nameError(code: ErrorCode): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_all, letter: string) => letter.toUpperCase());
}

function describeError(code: ErrorCode): JsonSchema {
  const { fields = {}, optional = [] } = ERROR_FIELDS[code] ?? {};
  return describeFields({ error: exactly(ERROR_TEXT[code]), message: MESSAGE, ...fields }, optional);
}

/** Everything that several answers share. Answers may get more fields; callers leave out what they do not know. */
export const SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ExecutionId: EXECUTION_ID,
  WorkflowInputs: {
    ...ANY_OBJECT,
    description:
      'Input names and values, as the workflow declares them; at most 1 MB and 64 levels. `{"inputs": {…}}` is read as the same.',
  },
  WorkflowForm: {
    ...ANY_OBJECT,
    description: "A part for each input. One with a file name is a file, other parts are JSON text or plain text.",
  },
  Success: describeFields({ ...RESULT, ...REMARKS, status: exactly("success") }, REMARK_NAMES),
  Accepted: describeFields(
    { ...RESULT, ...REMARKS, status: { type: "string", enum: ["queued", "running"] } },
    REMARK_NAMES,
  ),
  Execution: describeFields(
    {
      ...RESULT,
      ...REMARKS,
      error: { type: "string", description: "Only of an execution that did not succeed." },
      message: { ...MESSAGE, description: "Why it did not succeed." },
      ...AMOUNTS,
    },
    [...REMARK_NAMES, "error", "message", ...Object.keys(AMOUNTS)],
  ),
  InputProblem: describeFields({
    input: { type: "string", description: "Empty: the whole request." },
    message: MESSAGE,
  }),
  FileProblem: describeFields(
    {
      file: { type: "string" },
      line: { type: "integer", minimum: 1 },
      column: { type: "integer", minimum: 1 },
      message: MESSAGE,
      input: { type: "string", description: "Of a change to a draft: the file once more, as inputs are named." },
    },
    ["input"],
  ),
  Validity: describeFields(
    {
      valid: ALWAYS_TRUE,
      nextRuns: NEXT_RUNS,
      schedule: {
        ...describeFields({ description: { type: "string" }, paused: { type: "boolean" } }),
        description: "The schedule in plain words, where the workflow has one.",
      },
      estimate: {
        ...describeFields({ credits: CREDITS, basedOn: { type: "integer", minimum: 1 } }),
        description: "What it may cost, from so many earlier executions. Advice: never what is reserved.",
      },
    },
    ["estimate", "schedule"],
  ),
  NextRun: describeFields(
    {
      utc: TIME,
      local: { ...TIME, description: "In the schedule's own zone." },
      note: { type: "string", description: "What a change of the clock does to it; only then." },
    },
    ["note"],
  ),
  Tick: describeFields({
    nominalAt: { ...TIME, description: "When it was due." },
    local: { ...TIME, description: "The same, in the zone of the schedule that holds now; in UTC without one." },
    outcome: { type: "string", enum: [...TICK_OUTCOMES], description: "See docs/schedules.md." },
    reason: { type: "string", description: "For a person: why it did not start. Empty when it did." },
    lateSeconds: { type: "number", description: "From when it was due until its record." },
    executionId: { anyOf: [refer("ExecutionId"), { type: "null" }] },
    source: { type: "string", enum: [...TICK_SOURCES], description: "Who found out." },
    decidedAt: TIME,
  }),
  Schedule: describeFields({
    schedule: {
      anyOf: [
        describeFields({
          cron: { type: "string" },
          timezone: { type: "string" },
          description: { type: "string", description: "In plain words." },
          overlap: { type: "string", enum: [...OVERLAPS] },
          catchup: { type: "string", enum: [...CATCHUPS] },
          maxLatenessSeconds: SECONDS,
          jitterSeconds: SECONDS,
          since: { ...TIME, description: "Since when it has been declared just so." },
        }),
        { type: "null" },
      ],
      description: "As the latest commit declares it; null without one.",
    },
    paused: { type: "boolean" },
    reason: { anyOf: [{ type: "string" }, { type: "null" }], description: "Why it is paused." },
    nextRuns: NEXT_RUNS,
    lastTicks: { type: "array", maxItems: 10, items: refer("Tick"), description: "The newest first." },
  }),
  Ticks: describeFields({
    ticks: { type: "array", items: refer("Tick"), description: "The newest first." },
    nextBefore: { anyOf: [TIME, { type: "null" }], description: "`before` of the next page; null: there is none." },
  }),
  Link: describeFields({ url: { type: "string", format: "uri" }, expiresAt: { type: "string", format: "date-time" } }),
  Session: describeFields({
    email: { type: "string" },
    accountId: describeId("acct"),
    accountName: { type: "string" },
    userId: describeId("usr"),
    role: refer("Role"),
    temporalUiUrl: { anyOf: [{ type: "string" }, { type: "null" }], description: "Where to look into Temporal." },
    contact: { anyOf: [{ type: "string" }, { type: "null" }], description: "Whom to ask for credits." },
  }),
  Role: { type: "string", enum: [...ROLES], description: "What somebody may do: see docs/accounts.md." },
  Readiness: describeFields({
    ready: { type: "boolean" },
    checks: {
      type: "object",
      additionalProperties: describeFields({ ok: { type: "boolean" }, message: { type: "string" } }),
    },
  }),
  ...Object.fromEntries((Object.keys(ERROR_TEXT) as ErrorCode[]).map((code) => [nameError(code), describeError(code)])),
};
