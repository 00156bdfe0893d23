import { setTimeout as sleep } from "node:timers/promises";
import type { Response } from "express";
import type { CommitId } from "../../../domain/ids.ts";
import { beginBuild } from "../../publish/builds.ts";
import type { CommitFile } from "../../publish/git-objects.ts";
import type { Publication } from "../../publish/publish.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { demandStorageForCommit } from "../room.ts";
import type { Access } from "./workflow-access.ts";

export type CommittingDeps = Pick<AppDeps, "db" | "editor" | "log" | "keptBytesMax" | "contact">;

/** What is to become a commit, and on what. */
export interface Committed {
  readonly files: readonly CommitFile[];
  readonly message: string;
  readonly expectedHead: CommitId | null;
  /** Done when there is a commit, before anybody hears of it. */
  readonly afterwards?: (commitId: CommitId) => Promise<void>;
}

/** Commits files as whoever calls, unless the storage of the account is full: 201 with the commit when that is quick, else 202 with the build, which goes on by itself. */
export async function commitFiles(
  deps: CommittingDeps,
  { caller, workflow }: Access,
  { files, message, expectedHead, afterwards }: Committed,
  response: Response,
): Promise<void> {
  const { db, editor, log } = deps;
  const { userId, email } = caller;
  await demandStorageForCommit(deps, workflow.accountId);
  const { buildId, ended } = await beginBuild(
    { db, publish: editor.publish, log },
    {
      workflowId: workflow.id,
      accountId: workflow.accountId,
      name: workflow.name,
      ...{ files, message, expectedHead },
      author: { userId, email },
    },
    async (publication) => {
      if (publication.kind === "published") await afterwards?.(publication.commitId);
    },
  );
  const publication = await within(editor.quickBuildMs, ended);
  if (publication === undefined) {
    response.status(202).json({ buildId });
    return;
  }
  const { commitId, changed, warnings } = demandPublished(publication, buildId);
  response.status(201).json({ commitId, changed, warnings, buildId });
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  const over = new AbortController();
  try {
    return await Promise.race([promise, sleep(ms, undefined, { signal: over.signal }).catch(() => undefined)]);
  } finally {
    over.abort();
  }
}

function demandPublished(publication: Publication, buildId: string): Extract<Publication, { kind: "published" }> {
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
    "Somebody else committed meanwhile. Look at what changed, take it over, and commit again.",
    { head },
  );
}
