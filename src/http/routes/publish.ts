import { MESSAGE_CHARACTERS_MAX } from "../../../domain/api/limits.ts";
import { Published, PublishPreview } from "../../../domain/api/publish.ts";
import { Script, ScriptFolder } from "../../../domain/api/scripts.ts";
import { answerOf, bodyOf, describeId, IN_PERSON } from "./content.ts";
import { ACCOUNT } from "./parameters.ts";
import { A_COMMIT, A_WORKFLOW, COMMIT_ID } from "./parts.ts";
import type { Content, Parameter, Route, Routes } from "./route.ts";

const TARGET: readonly Parameter[] = [
  {
    name: "workflow",
    in: "query",
    description: "The workflow to publish to. Without it, publishing makes one.",
    schema: describeId("wf"),
  },
  ACCOUNT,
  {
    name: "name",
    in: "query",
    description: "What a new workflow is called whose config.yaml has no name.",
    schema: { type: "string", maxLength: 255 },
  },
  {
    name: "message",
    in: "query",
    description: "What changed.",
    schema: { type: "string", maxLength: MESSAGE_CHARACTERS_MAX },
  },
  {
    name: "expectedHead",
    in: "query",
    description: "The commit that the folder was published as before. When the workflow has another by now: 409.",
    schema: COMMIT_ID,
  },
];
const FOLDER: NonNullable<Route["body"]> = {
  required: true,
  // Not application/x-tar, which the service takes as well: generators of clients know no other name for bytes.
  content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
};
const ERRORS = [
  "invalid_request",
  "unauthorized",
  "workflow_not_found",
  "not_found",
  "conflict",
  "payload_too_large",
  "unsupported_media_type",
  "storage_full",
  "no_capacity",
] as const;

const PUBLISHED = answerOf("Published.", Published, {
  workflowId: A_WORKFLOW,
  commitId: A_COMMIT,
  created: false,
  changed: true,
  warnings: [],
});
const PUBLISH_EVENTS: Content = {
  schema: {
    type: "object",
    description: "Server-sent events, for callers that send `Accept: text/event-stream`.",
    properties: {
      event: {
        type: "string",
        description:
          "`log`: `{text}`. `result`, the last: what the answer would be, also for a new workflow, or `{error, message, details}`.",
      },
      data: { type: "string", contentMediaType: "application/json" },
    },
    required: ["data"],
  },
};

/** Publishing a folder with one call. */
export const PUBLISH_ROUTES = {
  publish: {
    method: "post",
    path: "/api/publish",
    tag: "Publishing",
    summary: "Make a folder the latest commit of a workflow",
    description:
      "The body is a tar of the folder, such as `tar -c -C DIR .` writes. The answer comes when the packages are installed, which may take minutes. With `Accept: text/event-stream` what the installer prints comes as server-sent events meanwhile; a folder for which nothing is installed gets the usual answer.",
    credentials: IN_PERSON,
    parameters: TARGET,
    body: FOLDER,
    answers: {
      200: { ...PUBLISHED, content: { ...PUBLISHED.content, "text/event-stream": PUBLISH_EVENTS } },
      201: answerOf("Published as a new workflow, with its API key.", Published, {
        workflowId: A_WORKFLOW,
        commitId: A_COMMIT,
        created: true,
        changed: true,
        warnings: [],
        apiKey: "trd_EXAMPLE",
      }),
    },
    errors: ERRORS,
  },
  readScript: {
    method: "post",
    path: "/api/scripts",
    tag: "Publishing",
    summary: "Make the files of a workflow out of a Python script, and store nothing",
    description:
      "The inputs come from the parameters of its `main`, or from what it reads with argparse, click or typer; the packages from its imports. The script is parsed in a sandbox and not run.",
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    body: bodyOf(Script, { name: "report.py", text: "def main(region: str):\n    return region\n" }),
    answers: {
      200: answerOf("The files.", ScriptFolder, {
        files: [
          { path: "config.yaml", text: "name: Report\nentrypoint: report.py\n" },
          { path: "report.py", text: "def main(region: str):\n    return region\n" },
        ],
        notes: [],
      }),
    },
    errors: [
      "invalid_request",
      "unauthorized",
      "not_found",
      "payload_too_large",
      "unsupported_media_type",
      "no_capacity",
    ],
  },
  previewPublish: {
    method: "post",
    path: "/api/publish/preview",
    tag: "Publishing",
    summary: "Show what publishing a folder would change, and change nothing",
    description: "The same checks as publishing, but no packages are installed.",
    credentials: IN_PERSON,
    parameters: TARGET,
    body: FOLDER,
    answers: {
      200: answerOf("What would change.", PublishPreview, {
        workflowId: A_WORKFLOW,
        head: A_COMMIT,
        files: [{ path: "main.py", change: "changed", linesAdded: 2, linesRemoved: 1 }],
        inputs: [{ input: "region", change: "added", breaking: true, message: "new and required" }],
        scheduleChange: null,
        nextRuns: [],
        warnings: [],
      }),
    },
    errors: ERRORS,
  },
} satisfies Routes;
