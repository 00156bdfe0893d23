import type { JsonSchema } from "../../../domain/manifest/value-schema.ts";
import { TARGET_CHARACTERS_MAX } from "../../../domain/notices.ts";
import { describeId } from "./content.ts";
import type { Parameter } from "./route.ts";
import { refer } from "./schemas.ts";

// Without examples: pages for trying would send them with every call.

export const WORKFLOW_ID: Parameter = {
  name: "workflowId",
  in: "path",
  required: true,
  description: "The workflow, as publishing it has named it.",
  schema: describeId("wf"),
};

export const EXECUTION_ID: Parameter = {
  name: "executionId",
  in: "path",
  required: true,
  description: "The execution, as execute has answered it.",
  schema: refer("ExecutionId"),
};

export const FILE_NAME: Parameter = {
  name: "fileName",
  in: "path",
  required: true,
  description: "The name of an output file: one segment of the path, `/` in it as `%2F`.",
  schema: { type: "string", minLength: 1 },
};

export const IDEMPOTENCY_KEY: Parameter = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "Makes a call safe to repeat: another call with the same key and inputs gets the execution and the answer of the first. A UUID is a good one. Kept for 30 days.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[^\\x00-\\x1f\\x7f]*$" },
};

export const WEBHOOK_URL: Parameter = {
  name: "Webhook-Url",
  in: "header",
  description:
    "Where the result is sent as well, once the execution has ended: a POST of JSON, `type` `run.ended`, with what its address answers as `data`. Of a host that the operator allows.",
  schema: { type: "string", format: "uri", maxLength: TARGET_CHARACTERS_MAX },
};

export const WEBHOOK_SECRET: Parameter = {
  name: "Webhook-Secret",
  in: "header",
  description: "What that message is signed with, as Standard Webhooks say: `whsec_` and 24 to 64 bytes in base64.",
  schema: { type: "string", maxLength: 94, pattern: "^whsec_[A-Za-z0-9+/]{32,86}={0,2}$" },
};

export const PREFER: Parameter = {
  name: "Prefer",
  in: "header",
  description:
    "How to wait (RFC 7240). `respond-async`: answered 202 as soon as it has started. `wait=N`: waits N seconds at most, then 202. `early-hints`: 103 with the execution's id as soon as it has started.",
  schema: { type: "string" },
};

export const LAST_EVENT_ID: Parameter = {
  name: "Last-Event-ID",
  in: "header",
  description: "Of server-sent events: goes on behind the line of this number. What is no number is ignored.",
  schema: { type: "string" },
};

export const IF_NONE_MATCH: Parameter = {
  name: "If-None-Match",
  in: "header",
  description: "ETags that the caller has: 304 when one of them is right.",
  schema: { type: "string" },
};

export const ACCOUNT: Parameter = {
  name: "account",
  in: "query",
  description:
    "The name of the account that is meant: for the operator's token, which means the first one otherwise. Others name their own or none.",
  schema: { type: "string", minLength: 1, maxLength: 200 },
};

/** An id that the path ends with. */
export function aPathId(name: string, schema: JsonSchema, description: string): Parameter {
  return { name, in: "path", required: true, description, schema };
}
