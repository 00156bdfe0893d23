import type { Environments } from "../../../activities/environments/builder.ts";
import type { Abilities } from "../../publish/candidate.ts";
import type { KeepDraft } from "../../publish/keep-draft.ts";
import type { PreviewPublish } from "../../publish/preview.ts";
import type { Publish } from "../../publish/publish.ts";

/** What the editor's routes need beyond what all routes do. */
export interface EditorParts {
  readonly publish: Publish;
  readonly preview: PreviewPublish;
  readonly keepDraft: KeepDraft;
  /** What this installation can do for a workflow. */
  readonly abilities: Abilities;
  readonly environments: Pick<Environments, "readLog">;
  /** The folder whose folders are templates of workflows. */
  readonly examplesDir: string;
  /** A commit that takes longer is answered with its build, in milliseconds. */
  readonly quickBuildMs: number;
}

export const QUICK_BUILD_MS = 2_000;
