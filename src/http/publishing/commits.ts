import type { Request, RequestHandler } from "express";
import { z } from "zod";
import { concludeDraft } from "../../../db/commits/drafts.ts";
import { findNewestEnvironmentKey } from "../../../db/commits/environments.ts";
import { findCommitHistory, listHistory, type PastCommit } from "../../../db/commits/history.ts";
import type { Db } from "../../../db/connect.ts";
import { BuildLog, CommitPage, NewCommit, Restoration, ShownCommit } from "../../../domain/api/commits.ts";
import { GivenCommitId } from "../../../domain/api/fields.ts";
import { COMMITS_PAGE_MAX } from "../../../domain/api/limits.ts";
import { isCommitId, type WorkflowId } from "../../../domain/ids.ts";
import { readCommit, readWorkingCopy } from "../../publish/drafts.ts";
import { parseRequest, readBody, sendAnswer } from "../answers/body.ts";
import { authorizeAccountWorkflow } from "../auth/workflow-access.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { type CommittingDeps, commitFiles } from "./building.ts";
import { toCommitDocument } from "./commit-document.ts";
import { targetOf, versionMoved } from "./drafts.ts";
import { sendFiles } from "./file-answers.ts";

const COMMITS_DEFAULT = 30;
const SHORT_ID_CHARACTERS = 12;

const Page = z.object({
  limit: z.coerce.number().int().min(1).max(COMMITS_PAGE_MAX).default(COMMITS_DEFAULT),
  cursor: GivenCommitId.optional(),
});

/** `POST …/commits`: the caller's draft becomes the latest commit, when that is still the one the caller knows. */
export function createCommitRoute(deps: CommittingDeps): RequestHandler {
  const { db } = deps;
  return async (request, response) => {
    const access = await authorizeAccountWorkflow(db, request, "write");
    const { message, version, expectedHead } = await readBody(request, NewCommit);
    const { draftId, files, ...copy } = await readWorkingCopy(db, targetOf(access));
    if (copy.version !== version) throw versionMoved(copy.version);
    await commitFiles(
      deps,
      access,
      {
        files,
        message,
        expectedHead,
        async afterwards(commitId) {
          if (draftId !== null) await concludeDraft(db, { id: draftId, version, commitId });
        },
      },
      response,
    );
  };
}

/** `POST …/commits/:commitId/restore`: the files of an earlier commit become the latest one. */
export function createRestoreRoute(deps: CommittingDeps): RequestHandler {
  const { db } = deps;
  return async (request, response) => {
    const access = await authorizeAccountWorkflow(db, request, "write");
    const { expectedHead, message } = await readBody(request, Restoration);
    const commit = await getCommit(db, access.workflow.id, request.params.commitId);
    const files = await readCommit(db, access.workflow.id, commit.id);
    const [subject = ""] = commit.message.split("\n");
    const said = message ?? `Restore ${commit.id.slice(0, SHORT_ID_CHARACTERS)}: ${subject}`;
    await commitFiles(deps, access, { files, message: said, expectedHead }, response);
  };
}

/** `GET …/commits`: the newest first, page by page. */
export function createCommitsRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { workflow } = await authorizeAccountWorkflow(db, request, "read");
    const { limit, cursor } = parseRequest(Page, request.query);
    const found = await listHistory(db, { workflowId: workflow.id, after: cursor ?? null, limit: limit + 1 });
    const commits = found.slice(0, limit);
    const nextCursor = found.length > limit ? (commits.at(-1)?.id ?? null) : null;
    sendAnswer(response, CommitPage, { commits: commits.map(toCommitDocument), nextCursor });
  };
}

/** `GET …/commits/:commitId`: one commit with its manifest and files. */
export function createCommitShowRoute({ db, threads }: Pick<AppDeps, "db" | "threads">): RequestHandler {
  return async (request, response) => {
    const { workflow } = await authorizeAccountWorkflow(db, request, "read");
    const commit = await getCommit(db, workflow.id, request.params.commitId);
    const files = await readCommit(db, workflow.id, commit.id);
    const manifest = commit.manifest as Record<string, unknown>;
    const document = { ...toCommitDocument(commit), manifest, files: [] };
    await sendFiles({ threads, owner: workflow.accountId, response }, ShownCommit, { document, files });
  };
}

/** `GET …/commits/:commitId/build-log`: its environment, null when there was nothing to make, and what making it said, null when nothing is left. */
export function createBuildLogRoute({ db, editor }: Pick<AppDeps, "db" | "editor">): RequestHandler {
  return async (request, response) => {
    const { workflow } = await authorizeAccountWorkflow(db, request, "read");
    const environment = await findNewestEnvironmentKey(db, await getCommit(db, workflow.id, request.params.commitId));
    const log = environment === null ? undefined : await editor.environments.readLog(environment);
    sendAnswer(response, BuildLog, { environment, log: log ?? null });
  };
}

/** A commit of a workflow by its whole id. */
async function getCommit(
  db: Db,
  workflowId: WorkflowId,
  commitId: Request["params"][string] | undefined,
): Promise<PastCommit> {
  const commit =
    typeof commitId === "string" && isCommitId(commitId)
      ? await findCommitHistory(db, workflowId, commitId)
      : undefined;
  if (commit === undefined)
    throw new ApiError("not_found", "The workflow has no such commit. List its commits and choose one.");
  return commit;
}
