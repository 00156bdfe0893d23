import { minorVersionOf } from "../../activities/environments/lock.ts";
import type { CommitAuthor } from "../../db/commits.ts";
import { findDraftCommit, keepDraftCommit } from "../../db/draft-commits.ts";
import type { FileProblem } from "../../domain/errors.ts";
import type { AccountId, CommitId, WorkflowId } from "../../domain/ids.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import { checkCandidate } from "./candidate.ts";
import { type CommitFile, createCommit, createTree } from "./git-objects.ts";
import { buildEnvironment, type PublisherDeps } from "./publish.ts";

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
 * Keeps a draft so that it can be executed: the same checks and the same environment as for publishing, and a commit that nobody
 * else's call, schedule or history ever comes to. The same files of the same person are kept once.
 */
export function createDraftKeeper(deps: PublisherDeps): KeepDraft {
  return async ({ workflowId, accountId, parentId, files, author }) => {
    const candidate = await checkCandidate(files, deps, accountId);
    if (!candidate.ok) return { kind: "invalid", problems: candidate.problems, buildLog: "" };
    const { manifest } = candidate;
    const { treeId, objects } = createTree(files);
    const known = await findDraftCommit(deps.db, { workflowId, treeId, userId: author.userId });
    if (known !== undefined) return { kind: "kept", commitId: known, manifest };
    const built = await buildEnvironment(deps, candidate, { accountId });
    if (!built.ok) return { kind: "invalid", problems: built.problems, buildLog: built.log };
    // The author's name makes it another commit than one that is published, or somebody else's, in the same second.
    const message = `Draft of ${author.userId}`;
    const commit = createCommit({ treeId, parentId, message, committedAt: new Date() });
    const commitId = commit.id as CommitId;
    const isKept = await keepDraftCommit(deps.db, {
      ...{ workflowId, id: commitId, parentId, treeId, message, manifest, author },
      ...{ environment: built.environment, python: minorVersionOf(candidate.python) },
      objects: [...objects, commit],
    });
    return isKept ? { kind: "kept", commitId, manifest } : { kind: "unknown_workflow" };
  };
}
