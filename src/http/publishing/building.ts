import type { Response } from "express";
import { CommitBegun, Committed as CommittedDocument } from "../../../domain/api/commits.ts";
import type { CommitId } from "../../../domain/ids.ts";
import { withTimeout } from "../../../system/with-timeout.ts";
import { beginBuild } from "../../publish/builds.ts";
import type { CommitFile } from "../../publish/git-objects.ts";
import type { Publication } from "../../publish/publish.ts";
import { requireStorageForCommit } from "../admission/requirements.ts";
import { sendAnswer } from "../answers/body.ts";
import type { Access } from "../auth/workflow-access.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";

export type CommittingDeps = Pick<AppDeps, "db" | "editor" | "log" | "keptBytesMax" | "contact">;

/** What is to become a commit, and on what. */
export interface Committed {
  readonly files: readonly CommitFile[];
  readonly message: string;
  readonly expectedHead: CommitId | null;
  /** Runs when there is a commit, before the caller gets its answer. */
  readonly afterwards?: (commitId: CommitId) => Promise<void>;
}

/**
 * Commits files in the name of the caller, unless the storage of the account is full. Sends 201 with the commit when
 * that is quick, else 202 with the build, which goes on by itself.
 */
export async function commitFiles(
  deps: CommittingDeps,
  { caller, workflow }: Access,
  { files, message, expectedHead, afterwards }: Committed,
  response: Response,
): Promise<void> {
  const { db, editor, log } = deps;
  const { userId, email } = caller;
  await requireStorageForCommit(deps, workflow.accountId);
  const { buildId, ended } = await beginBuild(
    { db, publish: editor.publish, log },
    {
      workflowId: workflow.id,
      accountId: workflow.accountId,
      name: workflow.name,
      files,
      message,
      expectedHead,
      author: { userId, email },
    },
    async (publication) => {
      if (publication.kind === "published") await afterwards?.(publication.commitId);
    },
  );
  const publication = await withTimeout(ended, editor.quickBuildMs, () => undefined);
  if (publication === undefined) {
    sendAnswer(response, CommitBegun, { buildId }, 202);
    return;
  }
  const { commitId, changed, warnings } = requirePublished(publication, buildId);
  sendAnswer(response, CommittedDocument, { commitId, changed, warnings, buildId }, 201);
}

function requirePublished(publication: Publication, buildId: string): Extract<Publication, { kind: "published" }> {
  switch (publication.kind) {
    case "published":
      return publication;
    case "invalid": {
      const { problems, buildLog } = publication;
      throw new ApiError("invalid_request", "The files cannot be committed.", {
        details: problems,
        buildId,
        ...(buildLog === "" ? {} : { buildLog }),
      });
    }
    case "head_moved":
      throw headMoved(publication.head);
    case "unknown_workflow":
      throw new ApiError("workflow_not_found", "The workflow was deleted meanwhile.");
  }
}

/** The workflow has another head than the caller knows. */
export function headMoved(head: CommitId | null): ApiError {
  return new ApiError(
    "conflict",
    "Another member has committed since then. Look at what changed, take it over, and commit again.",
    { head },
  );
}
