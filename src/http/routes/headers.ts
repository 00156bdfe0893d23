import type { JsonSchema } from "../../../domain/manifest/value-schema.ts";

interface Header {
  readonly description: string;
  readonly schema: JsonSchema;
}

const TEXT: JsonSchema = { type: "string" };
const SECONDS: JsonSchema = { type: "string", pattern: "^[0-9]+$" };

/** Every header of an answer that says something of our own. */
export const HEADERS = {
  "X-Request-Id": {
    description: "Names the request in the service's log. Quote it when you ask for help.",
    schema: { type: "string", pattern: "^req_[0-9a-f]{20}$", maxLength: 24 },
  },
  "X-Execution-Id": {
    description: "The execution that the call started, or that it repeats.",
    schema: { $ref: "#/components/schemas/ExecutionId" },
  },
  Location: { description: "Where the execution is found.", schema: { type: "string", format: "uri" } },
  "Retry-After": { description: "In how many seconds to ask again.", schema: SECONDS },
  "RateLimit-Policy": {
    description:
      'The limits that count for the call, as in draft-ietf-httpapi-ratelimit-headers-11: `"key";q=120;w=60` are 120 executions in 60 seconds.',
    schema: TEXT,
  },
  RateLimit: {
    description:
      "How those limits stand: `r` more executions may start now; after `t` seconds all that may start at once may again.",
    schema: TEXT,
  },
  "Idempotent-Replayed": {
    description: "The call repeats an earlier one with the same `Idempotency-Key`: nothing new was started or charged.",
    schema: { type: "string", const: "true" },
  },
  "Preference-Applied": { description: "What was done of the header `Prefer` (RFC 7240).", schema: TEXT },
  "Server-Timing": { description: "Where the time of the call went, in milliseconds.", schema: TEXT },
  ETag: { description: "Names the content; `If-None-Match` with it answers 304.", schema: TEXT },
  "WWW-Authenticate": {
    description: "What is missing: `ApiKey`, the key of the workflow in `x-api-key`, or `Bearer`, an access token.",
    schema: TEXT,
  },
  "Content-Range": { description: "Which bytes of how many.", schema: { type: "string", pattern: "^bytes " } },
  "Content-Disposition": { description: "The file's own name, and whether a browser may show it.", schema: TEXT },
  "Accept-Ranges": { description: "Parts may be asked for with `Range`.", schema: { type: "string", const: "bytes" } },
  "Set-Cookie": { description: "The session, `__Host-session`: Secure, HttpOnly, SameSite=Lax.", schema: TEXT },
} as const satisfies Readonly<Record<string, Header>>;

export type HeaderName = keyof typeof HEADERS;
