import { findCommit } from "../../db/commits.ts";
import type { Db } from "../../db/connect.ts";
import { findWorkflow } from "../../db/workflows.ts";
import type { FileProblem } from "../../domain/errors.ts";
import type { CommitId, WorkflowId } from "../../domain/ids.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import { type Abilities, checkCandidate } from "./candidate.ts";
import { createCommitReader } from "./commit-files.ts";
import { type FileDifference, findFileDifferences, findInputDifferences, type InputDifference } from "./difference.ts";
import type { CommitFile } from "./git-objects.ts";
import { describeTimetable, findNextRuns, type NextRun } from "./next-runs.ts";

const NEXT_RUNS = 10;

export type Preview =
  | {
      readonly kind: "previewed";
      readonly head: CommitId | null;
      readonly files: readonly FileDifference[];
      readonly inputs: readonly InputDifference[];
      /** Empty without a schedule, and while it is disabled. */
      readonly nextRuns: readonly NextRun[];
      /** In plain words. Undefined without a schedule. */
      readonly schedule?: { readonly description: string; readonly paused: boolean };
      readonly warnings: readonly FileProblem[];
    }
  | { readonly kind: "invalid"; readonly problems: readonly FileProblem[] }
  | { readonly kind: "unknown_workflow" };

export type PreviewPublish = (request: {
  workflowId: WorkflowId | null;
  files: readonly CommitFile[];
}) => Promise<Preview>;

/** What publishing would change, by the same checks. Builds no environment: whether the packages exist is not known yet. */
export function createPreview(deps: Abilities & { readonly db: Db; readonly now?: () => Date }): PreviewPublish {
  const { db, now = () => new Date() } = deps;
  const readCommitFiles = createCommitReader(db);

  return async function preview({ workflowId, files }) {
    const candidate = await checkCandidate(files, deps);
    if (!candidate.ok) return { kind: "invalid", problems: candidate.problems };
    const workflow = workflowId === null ? undefined : await findWorkflow(db, workflowId);
    if (workflow === undefined && workflowId !== null) return { kind: "unknown_workflow" };
    const before: CommitFile[] = [];
    const head = workflow?.head ?? null;
    const old = workflow === undefined || head === null ? undefined : await findCommit(db, workflow.id, head);
    if (old !== undefined) for await (const file of readCommitFiles(old.workflowId, old.id)) before.push(file);
    const { manifest, warnings } = candidate;
    return {
      kind: "previewed",
      head,
      files: findFileDifferences(before, files),
      inputs: findInputDifferences(
        old === undefined ? {} : toInputsByName(old.manifest as Manifest),
        toInputsByName(manifest),
      ),
      nextRuns: findNextRuns(manifest.triggers.schedule, now(), NEXT_RUNS),
      ...describeTimetable(manifest.triggers.schedule),
      warnings,
    };
  };
}

function toInputsByName({ inputs }: Manifest): Record<string, unknown> {
  return Object.fromEntries(inputs.map((input) => [input.name, input]));
}
