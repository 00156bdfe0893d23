import { COMMITS_MAX, NewCommitBody, Restoration } from "../../editor/commits.ts";
import { ANY_OBJECT, bodyOf, describeFields, exactly, IN_PERSON, listOf, orNull, TEXT } from "../content.ts";
import { WORKFLOW_ID } from "../parameters.ts";
import type { Answer, Routes } from "../route.ts";
import {
  A_BUILD,
  A_COMMIT,
  answer,
  COMMIT,
  COMMIT_EXAMPLE,
  COMMIT_ID,
  COMMIT_ID_PARAMETER,
  COUNT,
  FILE,
  FILE_PROBLEM,
  FLAG,
} from "./parts.ts";

const PATH = "/api/editor/workflows/{workflowId}/commits";
const ONE = `${PATH}/{commitId}` as const;

/** What committing answers. */
export const COMMITTED: Readonly<Record<201 | 202, Answer>> = {
  201: answer(
    "Committed. `changed` false: the latest commit has exactly these files already, and stays the latest.",
    describeFields({ commitId: COMMIT_ID, changed: FLAG, warnings: listOf(FILE_PROBLEM), buildId: TEXT }),
    { commitId: A_COMMIT, changed: true, warnings: [], buildId: A_BUILD },
  ),
  202: answer("Its environment is being made: see the build.", describeFields({ buildId: TEXT }), { buildId: A_BUILD }),
};
export const COMMITTING = [
  "unauthorized",
  "workflow_not_found",
  "not_found",
  "conflict",
  "payload_too_large",
  "unsupported_media_type",
  "storage_full",
  "no_capacity",
] as const;

/** Commits: made, looked back at, and gone back to. */
export const EDITOR_COMMIT_ROUTES = {
  commitDraft: {
    method: "post",
    path: PATH,
    tag: "Editor",
    summary: "Commit the caller's draft",
    description:
      "Refused with 409 when the latest commit is not `expectedHead` (with `head`), or the draft is not `version` (with `version`). Nothing of the draft is lost; it is gone once it is committed.",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(NewCommitBody, { message: "Count orders of returned goods", version: 7, expectedHead: A_COMMIT }),
    answers: COMMITTED,
    errors: COMMITTING,
  },
  listCommits: {
    method: "get",
    path: PATH,
    tag: "Editor",
    summary: "The commits of a workflow, the newest first",
    credentials: IN_PERSON,
    parameters: [
      WORKFLOW_ID,
      {
        name: "limit",
        in: "query",
        description: "At most this many. 30 unless given.",
        schema: { type: "integer", minimum: 1, maximum: COMMITS_MAX },
      },
      { name: "cursor", in: "query", description: "`nextCursor` of the page before.", schema: COMMIT_ID },
    ],
    answers: {
      200: answer(
        "A page of them.",
        describeFields({ commits: listOf(describeFields(COMMIT)), nextCursor: orNull(COMMIT_ID) }),
        {
          commits: [COMMIT_EXAMPLE],
          nextCursor: null,
        },
      ),
    },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  showCommit: {
    method: "get",
    path: ONE,
    tag: "Editor",
    summary: "One commit with its manifest and files",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID, COMMIT_ID_PARAMETER],
    answers: {
      200: answer("The commit.", describeFields({ ...COMMIT, manifest: ANY_OBJECT, files: listOf(FILE) }), {
        ...COMMIT_EXAMPLE,
        manifest: { name: "Sales report", inputs: [] },
        files: [{ path: "main.py", bytes: 12, text: "print('hi')\n", executable: false }],
      }),
    },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  restoreCommit: {
    method: "post",
    path: `${ONE}/restore`,
    tag: "Editor",
    summary: "Make the files of an earlier commit the latest commit",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID, COMMIT_ID_PARAMETER],
    body: bodyOf(Restoration, { expectedHead: A_COMMIT }),
    answers: COMMITTED,
    errors: COMMITTING,
  },
  readBuildLog: {
    method: "get",
    path: `${ONE}/build-log`,
    tag: "Editor",
    summary: "What making a commit's environment said",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID, COMMIT_ID_PARAMETER],
    answers: {
      200: answer(
        "As far as this machine has it.",
        describeFields({
          environment: {
            ...orNull(TEXT),
            description: "Null: the commit needs no packages, so there was nothing to make.",
          },
          log: { ...orNull(TEXT), description: "Null when there is none, or it is not on this machine any more." },
        }),
        {
          environment: "8d0f3c1a5b7e9246d8f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6",
          log: "Resolved 12 packages in 0.4 s\n",
        },
      ),
    },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  compareCommits: {
    method: "get",
    path: "/api/editor/workflows/{workflowId}/diff",
    tag: "Editor",
    summary: "The files that two commits, or a commit and the caller's draft, do not have in common",
    credentials: IN_PERSON,
    parameters: [
      WORKFLOW_ID,
      {
        name: "from",
        in: "query",
        description: "A commit; left out or empty: compared with nothing.",
        schema: { anyOf: [COMMIT_ID, exactly("")] },
      },
      {
        name: "to",
        in: "query",
        description: "A commit, or `draft`, as unless given.",
        schema: { anyOf: [COMMIT_ID, exactly("draft")] },
      },
    ],
    answers: {
      200: answer(
        "Texts are null where there is none, and where they are not shown: binary files, and those above 1 MB.",
        describeFields({
          files: listOf(
            describeFields({
              path: TEXT,
              status: { type: "string", enum: ["added", "changed", "removed"] },
              before: orNull(TEXT),
              after: orNull(TEXT),
              binary: FLAG,
              bytesBefore: orNull(COUNT),
              bytesAfter: orNull(COUNT),
            }),
          ),
        }),
        {
          files: [
            {
              path: "main.py",
              status: "changed",
              before: "print('hi')\n",
              after: "print('hello')\n",
              binary: false,
              bytesBefore: 12,
              bytesAfter: 15,
            },
          ],
        },
      ),
    },
    errors: ["unauthorized", "forbidden", "workflow_not_found", "not_found", "no_capacity"],
  },
} satisfies Routes;
