import { Execution, Link, LinkRequest } from "../../../domain/api/results.ts";
import { answerOf, BYTES, bodyOf } from "./content.ts";
import { EVENTS } from "./events.ts";
import type { HeaderName } from "./headers.ts";
import { EXECUTION_ID, FILE_NAME, IF_NONE_MATCH, LAST_EVENT_ID } from "./parameters.ts";
import type { Credential, Parameter, Route, Routes } from "./route.ts";

/** A program with the key; or a member of the account. */
const IN_PERSON: readonly Credential[] = ["apiKey", "session", "accessToken"];

/** What makes an address a signed link. */
export const LINK_QUERY: readonly Parameter[] = [
  {
    name: "expires",
    in: "query",
    description: "Of a signed link: until when it is good, in seconds since 1970.",
    schema: { type: "string", pattern: "^[0-9]{1,12}$" },
  },
  {
    name: "signature",
    in: "query",
    description: "Of a signed link: who says so.",
    schema: { type: "string" },
  },
];
const AS_PAGE: Parameter = {
  name: "as",
  in: "query",
  description: "`page`: HTML may be shown in a frame of the editor, without an origin and without scripts.",
  schema: { type: "string", enum: ["page"] },
};
export const FILE_PARTS: readonly Parameter[] = [
  {
    name: "Range",
    in: "header",
    description: "One range of bytes, such as `bytes=0-1023`; several are answered with the whole file.",
    schema: { type: "string" },
  },
  {
    name: "If-Range",
    in: "header",
    description: "The ETag that the caller has a part of: another file is sent whole.",
    schema: { type: "string" },
  },
];
const ABOUT_FILE: readonly HeaderName[] = ["ETag", "Content-Disposition", "Accept-Ranges"];

/** A stored file, a part of it, or that the caller has it. */
export const FILE_ANSWERS = {
  200: { description: "The file. Its ETag is the SHA-256 of its content.", always: ABOUT_FILE, content: BYTES },
  206: {
    description: "The range asked for.",
    always: [...ABOUT_FILE, "Content-Range"],
    content: BYTES,
  },
  304: { description: "The caller has it already.", always: ["ETag"] },
} satisfies Route["answers"];

/** What became of an execution. */
export const RUN_LOG_ROUTES = {
  showExecution: {
    method: "get",
    path: "/api/run-logs/{executionId}",
    tag: "Executions",
    summary: "State and result of an execution",
    credentials: IN_PERSON,
    parameters: [EXECUTION_ID],
    answers: {
      200: answerOf("The execution, in any state.", Execution, undefined, { sometimes: ["Retry-After"] }),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  readLog: {
    method: "get",
    path: "/api/run-logs/{executionId}/logs",
    tag: "Executions",
    summary: "The log of an execution, as text or as events while it is written",
    credentials: IN_PERSON,
    parameters: [EXECUTION_ID, LAST_EVENT_ID],
    answers: {
      200: {
        description: "What there is so far; as events, what comes until the execution ends.",
        content: {
          "text/plain": { schema: { type: "string", description: "A line each of time, stream and text." } },
          "text/event-stream": EVENTS,
        },
      },
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  cancelExecution: {
    method: "post",
    path: "/api/run-logs/{executionId}/cancel",
    tag: "Executions",
    summary: "End an execution",
    description:
      "Its program has a second to put things in order. What it used is charged, its outputs so far are kept.",
    credentials: IN_PERSON,
    parameters: [EXECUTION_ID],
    answers: {
      200: answerOf("It had ended already.", Execution),
      202: answerOf("It is being ended.", Execution, undefined, {
        always: ["Location"],
        sometimes: ["Retry-After"],
      }),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  readFiles: {
    method: "get",
    path: "/api/run-logs/{executionId}/files",
    tag: "Executions",
    summary: "All output files, as one zip",
    credentials: IN_PERSON,
    parameters: [EXECUTION_ID],
    answers: {
      200: {
        description:
          "A zip of the files, not compressed. Characters that some system does not take in a name are `_`. A file that cannot be read ends the answer early.",
        always: ["Content-Disposition"],
        content: BYTES,
      },
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  readFile: {
    method: "get",
    path: "/api/run-logs/{executionId}/files/{fileName}",
    tag: "Executions",
    summary: "One output file, or a part of it",
    credentials: [...IN_PERSON, "link"],
    parameters: [EXECUTION_ID, FILE_NAME, AS_PAGE, ...LINK_QUERY, ...FILE_PARTS, IF_NONE_MATCH],
    answers: FILE_ANSWERS,
    errors: ["unauthorized", "not_found", "range_not_satisfiable", "no_capacity"],
  },
  linkFile: {
    method: "post",
    path: "/api/run-logs/{executionId}/files/{fileName}/link",
    tag: "Executions",
    summary: "Make an address of the file that needs no key, for a time",
    credentials: IN_PERSON,
    parameters: [EXECUTION_ID, FILE_NAME],
    body: { ...bodyOf(LinkRequest, { expiresInSeconds: 600 }), required: false },
    answers: {
      200: answerOf("It opens the file without a key.", Link),
    },
    errors: ["unauthorized", "not_found", "payload_too_large", "unsupported_media_type", "no_capacity"],
  },
} satisfies Routes;
