import { DraftChanges } from "../../editor/draft-changes.ts";
import { DraftVersion, SettledFile } from "../../editor/drafts.ts";
import { BYTES, bodyOf, describeFields, IN_PERSON, listOf, orNull, TEXT, TIME } from "../content.ts";
import { WORKFLOW_ID } from "../parameters.ts";
import type { Routes } from "../route.ts";
import { refer } from "../schemas.ts";
import { A_COMMIT, A_WORKFLOW, answer, COMMIT_ID, COUNT, FILE, FILE_PROBLEM, FLAG } from "./parts.ts";

const PATH = "/api/editor/workflows/{workflowId}/draft";

const CONFLICTS = {
  ...listOf(describeFields({ path: TEXT, commitId: COMMIT_ID })),
  description:
    "Files that somebody else has changed as well, in that commit, when it was taken over; until the caller says that they are settled, or commits.",
};
const DRAFT = describeFields({
  workflowId: TEXT,
  base: { ...orNull(COMMIT_ID), description: "The commit it began with." },
  head: { ...orNull(COMMIT_ID), description: "The latest: another than `base` when somebody else committed." },
  changed: { ...FLAG, description: "Whether its files differ from those of `base`." },
  updatedAt: orNull(TIME),
  version: { ...COUNT, description: "0: there is no draft, these are the files of the latest commit." },
  files: listOf(FILE),
  conflicts: CONFLICTS,
  problems: { ...listOf(FILE_PROBLEM), description: "What publishing would refuse; packages are not looked for yet." },
});
const DRAFT_EXAMPLE = {
  workflowId: A_WORKFLOW,
  base: A_COMMIT,
  head: A_COMMIT,
  changed: true,
  updatedAt: "2026-11-02T08:00:00.412Z",
  version: 7,
  files: [{ path: "main.py", bytes: 12, text: "print('hi')\n", executable: false }],
  conflicts: [{ path: "main.py", commitId: A_COMMIT }],
  problems: [{ file: "config.yaml", line: 3, column: 1, message: "There is no key tmeout; timeout is meant." }],
};

const LINES = orNull(COUNT);
const DIFFERENCE = listOf(describeFields({ path: TEXT, linesAdded: LINES, linesRemoved: LINES }));
const CHANGING = [
  "unauthorized",
  "workflow_not_found",
  "not_found",
  "conflict",
  "payload_too_large",
  "unsupported_media_type",
  "no_capacity",
] as const;

/** What somebody writes before it is committed. */
export const EDITOR_DRAFT_ROUTES = {
  showDraft: {
    method: "get",
    path: PATH,
    tag: "Editor",
    summary: "The caller's draft of a workflow, or the files of its latest commit",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    answers: { 200: answer("The draft.", DRAFT, DRAFT_EXAMPLE) },
    errors: ["unauthorized", "forbidden", "workflow_not_found", "not_found", "no_capacity"],
  },
  changeDraft: {
    method: "post",
    path: PATH,
    tag: "Editor",
    summary: "Change files of the draft: all changes or none",
    description:
      "`version` is the one that the caller has seen: another is 409, with the stored one. 0 makes the draft from the latest commit. `renameTo` and `delete` of a folder's path are for all files in it.",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(DraftChanges, { version: 7, changes: [{ path: "main.py", text: "print('hello')\n" }] }),
    answers: {
      200: answer(
        "Saved.",
        describeFields({ version: COUNT, updatedAt: TIME, changed: FLAG, problems: listOf(FILE_PROBLEM) }),
        {
          version: 8,
          updatedAt: "2026-11-02T08:00:00.412Z",
          changed: true,
          problems: [],
        },
      ),
    },
    errors: CHANGING,
  },
  discardDraft: {
    method: "delete",
    path: PATH,
    tag: "Editor",
    summary: "Forget the draft: the files are those of the latest commit again",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    answers: { 200: answer("There is none.", describeFields({ discarded: FLAG }), { discarded: true }) },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  rebaseDraft: {
    method: "post",
    path: `${PATH}/rebase`,
    tag: "Editor",
    summary: "Take over what others committed in files that the draft has not changed",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(DraftVersion, { version: 7 }),
    answers: {
      200: answer(
        "The draft goes on from the latest commit.",
        describeFields({
          draft: DRAFT,
          conflicts: { ...listOf(TEXT), description: "Files that both have changed: the draft keeps its own." },
        }),
        { draft: DRAFT_EXAMPLE, conflicts: ["main.py"] },
      ),
    },
    errors: CHANGING,
  },
  settleDraft: {
    method: "post",
    path: `${PATH}/settle`,
    tag: "Editor",
    summary: "Say that a file which somebody else has changed as well is as it should be",
    description:
      "Nothing of the file changes. What has been noted of it since, with another commit, stays to be settled; what is not noted is settled.",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(SettledFile, { path: "main.py", commitId: A_COMMIT }),
    answers: {
      200: answer("What is still to be settled.", describeFields({ conflicts: CONFLICTS }), {
        conflicts: [{ path: "config.yaml", commitId: A_COMMIT }],
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
  readDraftFile: {
    method: "get",
    path: `${PATH}/files/{path}`,
    tag: "Editor",
    summary: "One file of the draft, for keeping",
    credentials: IN_PERSON,
    parameters: [
      WORKFLOW_ID,
      {
        name: "path",
        in: "path",
        required: true,
        description: "The file: one segment of the path, `/` in it as `%2F`.",
        schema: { type: "string", minLength: 1 },
      },
    ],
    answers: {
      200: {
        description: "The file.",
        always: ["Content-Disposition"],
        content: BYTES,
      },
    },
    errors: ["unauthorized", "forbidden", "workflow_not_found", "not_found", "no_capacity"],
  },
  previewDraft: {
    method: "get",
    path: `${PATH}/preview`,
    tag: "Editor",
    summary: "What committing the draft would change, for files, callers and schedule; and what is wrong with it",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    answers: {
      200: answer(
        "Against the latest commit.",
        describeFields({
          head: orNull(COMMIT_ID),
          problems: listOf(FILE_PROBLEM),
          warnings: listOf(FILE_PROBLEM),
          files: describeFields({ added: DIFFERENCE, changed: DIFFERENCE, removed: DIFFERENCE }),
          inputs: {
            ...listOf(
              describeFields({
                input: TEXT,
                change: { type: "string", enum: ["added", "changed", "removed"] },
                breaking: { ...FLAG, description: "Calls that are right before may be refused after." },
                message: TEXT,
              }),
            ),
            description: "Empty while there are problems, as is what follows.",
          },
          schedule: orNull(
            describeFields({
              change: { type: "string", enum: ["added", "removed", "changed", "paused", "resumed"] },
              before: orNull(TEXT),
              after: orNull(TEXT),
            }),
          ),
          nextRuns: { type: "array", maxItems: 10, items: refer("NextRun") },
        }),
        {
          head: A_COMMIT,
          problems: [],
          warnings: [],
          files: { added: [], changed: [{ path: "main.py", linesAdded: 2, linesRemoved: 1 }], removed: [] },
          inputs: [{ input: "region", change: "added", breaking: true, message: "new and required" }],
          schedule: {
            change: "added",
            before: null,
            after: "every weekday at 09:00, Europe/Berlin",
          },
          nextRuns: [{ utc: "2026-11-03T08:00:00Z", local: "2026-11-03T09:00:00+01:00" }],
        },
      ),
    },
    errors: ["unauthorized", "forbidden", "workflow_not_found", "not_found", "no_capacity"],
  },
} satisfies Routes;
