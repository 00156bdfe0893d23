import type { Content } from "./route.ts";

/** Server-sent events. The schema is that of one event, as is usual where OpenAPI 3.1 has no word for a stream of them. */
export const EVENTS: Content = {
  schema: {
    type: "object",
    description:
      "Server-sent events, one after the other, for callers that send `Accept: text/event-stream`. Lines of the log have their number as id.",
    properties: {
      id: {
        type: "string",
        description: "Of a line of the log: what `Last-Event-ID` resumes behind.",
        pattern: "^[0-9]+$",
      },
      event: {
        type: "string",
        description:
          "`status`: `{executionId, status, queuePosition, slotPosition}`. None, or `message`: a line, `{time, stream, text}`. `progress`: `{fraction, message}`. `result`, the last: the result of the execution.",
      },
      data: { type: "string", contentMediaType: "application/json" },
      retry: { type: "integer" },
    },
    required: ["data"],
  },
};
