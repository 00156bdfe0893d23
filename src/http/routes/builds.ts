import { Build } from "../../../domain/api/commits.ts";
import { answerOf, describeId, IN_PERSON } from "./content.ts";
import { aPathId, LAST_EVENT_ID } from "./parameters.ts";
import { A_BUILD, A_COMMIT, A_WORKFLOW } from "./parts.ts";
import type { Content, Routes } from "./route.ts";

const EVENTS: Content = {
  schema: {
    type: "object",
    description: "Server-sent events, for callers that send `Accept: text/event-stream`.",
    properties: {
      id: { type: "string", description: "Of `log`: what `Last-Event-ID` resumes behind.", pattern: "^[0-9]+$" },
      event: {
        type: "string",
        description: "`log`: `{text}`. `result`, the last: `{commitId, changed}` or `{error, message, details}`.",
      },
      data: { type: "string", contentMediaType: "application/json" },
    },
    required: ["data"],
  },
};

const BUILD = answerOf("The build, as it is or as events until its end.", Build, {
  buildId: A_BUILD,
  workflowId: A_WORKFLOW,
  state: "committed" as const,
  log: "Resolved 12 packages in 0.4 s\n",
  createdAt: "2026-11-02T08:00:00.412Z",
  endedAt: "2026-11-02T08:00:09.020Z",
  commitId: A_COMMIT,
  error: null,
  message: null,
  details: [],
});

/** Commits that are being made. */
export const BUILD_ROUTES = {
  showBuild: {
    method: "get",
    path: "/api/builds/{buildId}",
    tag: "Publishing",
    summary: "How far a commit is that is being made, and what making its environment says",
    credentials: IN_PERSON,
    parameters: [
      aPathId("buildId", describeId("bld"), "The build, as committing has answered it. Kept for a week after its end."),
      LAST_EVENT_ID,
    ],
    answers: { 200: { ...BUILD, content: { ...BUILD.content, "text/event-stream": EVENTS } } },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
} satisfies Routes;
