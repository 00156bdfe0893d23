import {
  BuildLog,
  CommitBegun,
  CommitPage,
  Committed,
  Difference,
  NewCommit,
  Restoration,
  ShownCommit,
} from "../../../domain/api/commits.ts";
import { COMMITS_PAGE_MAX } from "../../../domain/api/limits.ts";
import { answerOf, bodyOf, exactly, IN_PERSON } from "./content.ts";
import { WORKFLOW_ID } from "./parameters.ts";
import { A_BUILD, A_COMMIT, COMMIT_EXAMPLE, COMMIT_ID, COMMIT_ID_PARAMETER } from "./parts.ts";
import type { Answer, Routes } from "./route.ts";

const PATH = "/api/workflows/{workflowId}/commits";
const ONE = `${PATH}/{commitId}` as const;

/** What committing answers. */
export const COMMITTED: Readonly<Record<201 | 202, Answer>> = {
  201: answerOf(
    "Committed. `changed` false: the latest commit has exactly these files already, and stays the latest.",
    Committed,
    { commitId: A_COMMIT, changed: true, warnings: [], buildId: A_BUILD },
  ),
  202: answerOf("Its environment is being made: see the build.", CommitBegun, { buildId: A_BUILD }),
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
export const COMMIT_ROUTES = {
  commitDraft: {
    method: "post",
    path: PATH,
    tag: "Publishing",
    summary: "Commit the caller's draft",
    description:
      "Refused with 409 when the latest commit is not `expectedHead` (with `head`), or the draft is not `version` (with `version`). Nothing of the draft is lost; it is gone once it is committed.",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(NewCommit, { message: "Count orders of returned goods", version: 7, expectedHead: A_COMMIT }),
    answers: COMMITTED,
    errors: COMMITTING,
  },
  listCommits: {
    method: "get",
    path: PATH,
    tag: "Publishing",
    summary: "The commits of a workflow, the newest first",
    credentials: IN_PERSON,
    parameters: [
      WORKFLOW_ID,
      {
        name: "limit",
        in: "query",
        description: "At most this many. 30 unless given.",
        schema: { type: "integer", minimum: 1, maximum: COMMITS_PAGE_MAX },
      },
      { name: "cursor", in: "query", description: "`nextCursor` of the page before.", schema: COMMIT_ID },
    ],
    answers: {
      200: answerOf("A page of them.", CommitPage, { commits: [COMMIT_EXAMPLE], nextCursor: null }),
    },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  showCommit: {
    method: "get",
    path: ONE,
    tag: "Publishing",
    summary: "One commit with its manifest and files",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID, COMMIT_ID_PARAMETER],
    answers: {
      200: answerOf("The commit.", ShownCommit, {
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
    tag: "Publishing",
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
    tag: "Publishing",
    summary: "What making a commit's environment said",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID, COMMIT_ID_PARAMETER],
    answers: {
      200: answerOf("As far as this machine has it.", BuildLog, {
        environment: "8d0f3c1a5b7e9246d8f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6",
        log: "Resolved 12 packages in 0.4 s\n",
      }),
    },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  compareCommits: {
    method: "get",
    path: "/api/workflows/{workflowId}/diff",
    tag: "Publishing",
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
      200: answerOf(
        "Texts are null where there is none, and where they are not shown: binary files, and those above 1 MiB.",
        Difference,
        {
          files: [
            {
              path: "main.py",
              status: "changed" as const,
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
