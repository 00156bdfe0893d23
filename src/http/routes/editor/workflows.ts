import { KeyRotation } from "../../editor/key.ts";
import { NewWorkflow, WorkflowName } from "../../editor/workflows.ts";
import { ANY_OBJECT, bodyOf, CREDITS, describeFields, IN_PERSON, listOf, orNull, TEXT, TIME } from "../content.ts";
import { ACCOUNT, WORKFLOW_ID } from "../parameters.ts";
import type { Routes } from "../route.ts";
import { A_COMMIT, A_WORKFLOW, answer, COMMIT, COMMIT_EXAMPLE, COMMIT_ID, COUNT, FLAG } from "./parts.ts";

const PATH = "/api/editor/workflows";
const ONE = `${PATH}/{workflowId}` as const;

const WORKFLOW = {
  workflowId: TEXT,
  name: TEXT,
  description: TEXT,
  commitId: { ...orNull(COMMIT_ID), description: "The latest; null: there is none yet." },
  createdAt: TIME,
  lastExecution: orNull(describeFields({ executionId: TEXT, status: TEXT, createdAt: TIME })),
  nextRun: { ...orNull(describeFields({ utc: TIME, local: TIME, timezone: TEXT })), description: "By its schedule." },
  schedulePaused: FLAG,
  apiEnabled: FLAG,
  spentThisMonth: { ...CREDITS, description: "In credits, of executions that ended since the month began in UTC." },
  executionsThisMonth: { ...COUNT, description: "Those that ended." },
};
const WORKFLOW_EXAMPLE = {
  workflowId: A_WORKFLOW,
  name: "Sales report",
  description: "Turns an order export into a PDF",
  commitId: A_COMMIT,
  createdAt: "2026-10-30T14:21:07.031Z",
  lastExecution: {
    executionId: "ex_06d1k7q2m8v3r5t9w0x4y6z8a1",
    status: "success",
    createdAt: "2026-11-02T08:00:00.412Z",
  },
  nextRun: { utc: "2026-11-03T08:00:00Z", local: "2026-11-03T09:00:00+01:00", timezone: "Europe/Berlin" },
  schedulePaused: false,
  apiEnabled: true,
  spentThisMonth: 1.2345,
  executionsThisMonth: 87,
};

/** Workflows as the editor shows and changes them. */
export const EDITOR_WORKFLOW_ROUTES = {
  listEditorWorkflows: {
    method: "get",
    path: PATH,
    tag: "Editor",
    summary: "The workflows of the account, by name",
    credentials: IN_PERSON,
    parameters: [
      ACCOUNT,
      {
        name: "search",
        in: "query",
        description: "Only those whose name has this text, in whatever case.",
        schema: { type: "string", maxLength: 200 },
      },
    ],
    answers: {
      200: answer("All of them.", describeFields({ workflows: listOf(describeFields(WORKFLOW)) }), {
        workflows: [WORKFLOW_EXAMPLE],
      }),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  listTemplates: {
    method: "get",
    path: "/api/editor/templates",
    tag: "Editor",
    summary: "What a new workflow can begin with",
    credentials: IN_PERSON,
    answers: {
      200: answer(
        "The templates.",
        describeFields({
          templates: listOf(describeFields({ templateId: TEXT, name: TEXT, description: TEXT, files: listOf(TEXT) })),
        }),
        {
          templates: [
            {
              templateId: "hello",
              name: "Hello",
              description: "Greets somebody by name",
              files: ["config.yaml", "main.py"],
            },
          ],
        },
      ),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  createEditorWorkflow: {
    method: "post",
    path: PATH,
    tag: "Editor",
    summary: "Make a workflow without a commit; the files of a template become the caller's draft",
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    body: bodyOf(NewWorkflow, { name: "Sales report", templateId: "sales-report" }),
    answers: { 201: answer("Made.", describeFields({ workflowId: TEXT }), { workflowId: A_WORKFLOW }) },
    errors: ["unauthorized", "not_found", "payload_too_large", "unsupported_media_type", "storage_full", "no_capacity"],
  },
  showEditorWorkflow: {
    method: "get",
    path: ONE,
    tag: "Editor",
    summary: "One workflow with its latest commit",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    answers: {
      200: answer(
        "The workflow.",
        describeFields({
          ...WORKFLOW,
          manifest: { ...orNull(ANY_OBJECT), description: "The parsed config.yaml." },
          head: orNull(describeFields(COMMIT)),
          estimate: orNull(describeFields({ credits: CREDITS, basedOn: COUNT })),
          executeUrl: { type: "string", format: "uri" },
          docsUrl: { type: "string", format: "uri" },
        }),
        {
          ...WORKFLOW_EXAMPLE,
          manifest: { name: "Sales report", inputs: [] },
          head: COMMIT_EXAMPLE,
          estimate: { credits: 0.0134, basedOn: 42 },
          executeUrl: `https://localhost:8443/api/workflows/${A_WORKFLOW}/execute`,
          docsUrl: `https://localhost:8443/api/workflows/${A_WORKFLOW}/docs`,
        },
      ),
    },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  renameWorkflow: {
    method: "post",
    path: ONE,
    tag: "Editor",
    summary: "Give a workflow another name",
    description: "A `name` in config.yaml is its name again with the next commit.",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(WorkflowName, { name: "Sales report" }),
    answers: {
      200: answer("Renamed.", describeFields({ workflowId: TEXT, name: TEXT }), {
        workflowId: A_WORKFLOW,
        name: "Sales report",
      }),
    },
    errors: [
      "unauthorized",
      "workflow_not_found",
      "not_found",
      "payload_too_large",
      "unsupported_media_type",
      "no_capacity",
    ],
  },
  deleteWorkflow: {
    method: "delete",
    path: ONE,
    tag: "Editor",
    summary: "Delete a workflow: its key and schedule end at once, its executions stay on record",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    answers: {
      200: answer("Deleted.", describeFields({ workflowId: TEXT, deleted: FLAG }), {
        workflowId: A_WORKFLOW,
        deleted: true,
      }),
    },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  showKey: {
    method: "get",
    path: `${ONE}/key`,
    tag: "Editor",
    summary: "The workflow's API key: enough to know it again, and all of it when asked for",
    credentials: IN_PERSON,
    parameters: [
      WORKFLOW_ID,
      {
        name: "reveal",
        in: "query",
        description: "`true`: with the key itself. A viewer is refused.",
        schema: { type: "string", enum: ["true", "false"] },
      },
    ],
    answers: {
      200: answer(
        "The key.",
        describeFields({ masked: TEXT, apiKey: TEXT, previousKeyExpiresAt: orNull(TIME), apiEnabled: FLAG }, [
          "apiKey",
        ]),
        { masked: "trd_••••••••x4Qz", previousKeyExpiresAt: null, apiEnabled: true },
      ),
    },
    errors: ["unauthorized", "forbidden", "workflow_not_found", "not_found", "no_capacity"],
  },
  rotateKey: {
    method: "post",
    path: `${ONE}/key/rotate`,
    tag: "Editor",
    summary: "Replace the API key; the old one works on for the days chosen, or ends at once",
    description: "Keys that were replaced before end at once.",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(KeyRotation, { graceDays: 1 }),
    answers: {
      200: answer("The new key.", describeFields({ apiKey: TEXT, previousKeyExpiresAt: orNull(TIME) }), {
        apiKey: "trd_EXAMPLE",
        previousKeyExpiresAt: "2026-11-03T08:00:00.412Z",
      }),
    },
    errors: [
      "unauthorized",
      "workflow_not_found",
      "not_found",
      "payload_too_large",
      "unsupported_media_type",
      "no_capacity",
    ],
  },
  endPreviousKeys: {
    method: "post",
    path: `${ONE}/key/end-previous`,
    tag: "Editor",
    summary: "End the keys that were replaced and still work, before their time; the current one stays",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    answers: { 200: answer("How many those were.", describeFields({ ended: COUNT }), { ended: 1 }) },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
} satisfies Routes;
