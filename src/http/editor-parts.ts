import type { Ticks } from "../../activities/ticks.ts";
import type { Environments } from "../../environments/builder.ts";
import type { CommitEnvironments } from "../../environments/commit-environments.ts";
import type { KeepDraft } from "../publish/keep-draft.ts";
import type { PreviewPublish } from "../publish/preview.ts";
import type { Publish } from "../publish/publish.ts";
import type { ReadScript } from "../publish/script-folder.ts";
import type { Abilities } from "../publish/validation.ts";

/** What the editor's routes need beyond what all routes do. */
export interface EditorParts {
  readonly publish: Publish;
  readonly preview: PreviewPublish;
  readonly keepDraft: KeepDraft;
  /** What this installation can do for a workflow. */
  readonly abilities: Abilities;
  /** Undefined on a host without sandboxes. */
  readonly readScript?: ReadScript | undefined;
  readonly environments: Pick<Environments, "readLog">;
  readonly ticks: Pick<Ticks, "backfill">;
  /** For how many days the record of a tick is kept; null: for ever. */
  readonly tickDays: number | null;
  /** Commits that cannot run on this host. */
  readonly commitProblems?: CommitEnvironments["problems"] | undefined;
  /** The folder whose folders are templates of workflows. */
  readonly examplesDir: string;
  /** A commit that takes longer is answered with its build, in milliseconds. */
  readonly quickBuildMs: number;
}

export const QUICK_BUILD_MS = 2_000;
