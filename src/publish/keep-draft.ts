import type { CommitAuthor } from "../../db/commits/commits.ts";
import { findDraftCommit, keepDraftCommit } from "../../db/commits/draft-commits.ts";
import type { FileProblem } from "../../domain/errors.ts";
import type { AccountId, CommitId, WorkflowId } from "../../domain/ids.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import { minorVersionOf } from "../../sandbox/interpreter.ts";
import { type CommitFile, createCommit, createTree } from "./git-objects.ts";
import { buildEnvironment, type PublisherDeps } from "./publish.ts";
import { validateCommit } from "./validation.ts";

export interface DraftToKeep {
  readonly workflowId: WorkflowId;
  readonly accountId: AccountId;
  /** The head, on which the draft would become a commit. */
  readonly parentId: CommitId | null;
  readonly files: readonly CommitFile[];
  readonly author: CommitAuthor & { readonly userId: string };
}

export type KeptDraft =
  | { readonly kind: "kept"; readonly commitId: CommitId; readonly manifest: Manifest }
  | { readonly kind: "invalid"; readonly problems: readonly FileProblem[]; readonly buildLog: string }
  | { readonly kind: "unknown_workflow" };

export type KeepDraft = (draft: DraftToKeep) => Promise<KeptDraft>;

/**
 * Keeps a draft so that it can be executed, with the same checks and environment as for publishing. Its commit is never
 * in the history, and no schedule or call of others runs it. The same files of the same person are kept once.
 */
export function createDraftKeeper(deps: PublisherDeps): KeepDraft {
  return async ({ workflowId, accountId, parentId, files, author }) => {
    const validation = await validateCommit(files, deps, { accountId, workflowId });
    if (!validation.ok) return { kind: "invalid", problems: validation.problems, buildLog: "" };
    const { manifest } = validation;
    const { treeId, objects } = createTree(files);
    const known = await findDraftCommit(deps.db, { workflowId, treeId, userId: author.userId });
    if (known !== undefined) return { kind: "kept", commitId: known, manifest };
    const built = await buildEnvironment(deps, validation, { accountId });
    if (!built.ok) return { kind: "invalid", problems: built.problems, buildLog: built.log };
    // The author's name makes it another commit than a published one, or another user's, in the same second.
    const message = `Draft of ${author.userId}`;
    const commit = createCommit({ treeId, parentId, message, committedAt: new Date() });
    const commitId = commit.id as CommitId;
    const isKept = await keepDraftCommit(deps.db, {
      workflowId,
      id: commitId,
      parentId,
      treeId,
      message,
      manifest,
      author,
      environment: built.environment,
      python: minorVersionOf(validation.python),
      objects: [...objects, commit],
    });
    return isKept ? { kind: "kept", commitId, manifest } : { kind: "unknown_workflow" };
  };
}
