import {
  DiscardedDraft,
  Draft,
  DraftChanges,
  DraftConflicts,
  DraftPreview,
  DraftVersion,
  RebasedDraft,
  SavedDraft,
  SettledFile,
} from "../../../domain/api/drafts.ts";
import { answerOf, BYTES, bodyOf, IN_PERSON } from "./content.ts";
import { WORKFLOW_ID } from "./parameters.ts";
import { A_COMMIT, A_WORKFLOW } from "./parts.ts";
import type { Routes } from "./route.ts";

const PATH = "/api/workflows/{workflowId}/draft";

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
  warnings: [{ file: "main.py", line: 1, column: 8, message: "`os` imported but unused (Ruff F401)." }],
};

const CHANGING = [
  "unauthorized",
  "workflow_not_found",
  "not_found",
  "conflict",
  "payload_too_large",
  "unsupported_media_type",
  "no_capacity",
] as const;

/** What a member writes before it is committed. */
export const DRAFT_ROUTES = {
  showDraft: {
    method: "get",
    path: PATH,
    tag: "Publishing",
    summary: "The caller's draft of a workflow, or the files of its latest commit",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    answers: { 200: answerOf("The draft.", Draft, DRAFT_EXAMPLE) },
    errors: ["unauthorized", "forbidden", "workflow_not_found", "not_found", "no_capacity"],
  },
  changeDraft: {
    method: "patch",
    path: PATH,
    tag: "Publishing",
    summary: "Change files of the draft: all changes or none",
    description:
      "`version` is the one that the caller has seen: another is 409, with the stored one. 0 makes the draft from the latest commit. `renameTo` and `delete` of a folder's path are for all files in it.",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(DraftChanges, { version: 7, changes: [{ path: "main.py", text: "print('hello')\n" }] }),
    answers: {
      200: answerOf("Saved.", SavedDraft, {
        version: 8,
        updatedAt: "2026-11-02T08:00:00.412Z",
        changed: true,
        problems: [],
        warnings: [],
      }),
    },
    errors: CHANGING,
  },
  discardDraft: {
    method: "delete",
    path: PATH,
    tag: "Publishing",
    summary: "Forget the draft: the files are those of the latest commit again",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    answers: { 200: answerOf("There is none.", DiscardedDraft, { discarded: true }) },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  rebaseDraft: {
    method: "post",
    path: `${PATH}/rebase`,
    tag: "Publishing",
    summary: "Take over what others committed in files that the draft has not changed",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(DraftVersion, { version: 7 }),
    answers: {
      200: answerOf("The draft goes on from the latest commit.", RebasedDraft, {
        draft: DRAFT_EXAMPLE,
        conflicts: ["main.py"],
      }),
    },
    errors: CHANGING,
  },
  settleDraft: {
    method: "post",
    path: `${PATH}/settle`,
    tag: "Publishing",
    summary: "Settle a file that another member has changed as well",
    description:
      "Nothing of the file changes. What has been noted of it since, with another commit, stays to be settled; what is not noted is settled.",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(SettledFile, { path: "main.py", commitId: A_COMMIT }),
    answers: {
      200: answerOf("What is still to be settled.", DraftConflicts, {
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
    tag: "Publishing",
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
    tag: "Publishing",
    summary: "What committing the draft would change, for files, callers and schedule; and what is wrong with it",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    answers: {
      200: answerOf("Against the latest commit.", DraftPreview, {
        head: A_COMMIT,
        problems: [],
        warnings: [],
        files: { added: [], changed: [{ path: "main.py", linesAdded: 2, linesRemoved: 1 }], removed: [] },
        inputs: [{ input: "region", change: "added" as const, breaking: true, message: "new and required" }],
        schedule: {
          change: "added" as const,
          before: null,
          after: "every weekday at 09:00, Europe/Berlin",
        },
        nextRuns: [{ utc: "2026-11-03T08:00:00Z", local: "2026-11-03T09:00:00+01:00" }],
      }),
    },
    errors: ["unauthorized", "forbidden", "workflow_not_found", "not_found", "no_capacity"],
  },
} satisfies Routes;
