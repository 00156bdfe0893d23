import type { PastCommit } from "../../../db/commits/history.ts";

/** A commit as lists show it. */
export function toCommitDocument(commit: Omit<PastCommit, "manifest">) {
  return {
    commitId: commit.id,
    parentId: commit.parentId,
    message: commit.message,
    author: commit.authorEmail === null ? null : { email: commit.authorEmail },
    createdAt: commit.createdAt,
    executions: commit.executions,
    isHead: commit.isHead,
  };
}
