import { findCommit } from "../../db/commits/commits.ts";
import { findWorkflow } from "../../db/commits/workflows.ts";
import type { FileProblem } from "../../domain/errors.ts";
import type { AccountId, CommitId, WorkflowId } from "../../domain/ids.ts";
import { findInputChanges, type InputChange } from "../../domain/manifest/changes.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import { findScheduleChange, listNamedChanges, type ScheduleChange } from "../../domain/schedules/changes.ts";
import { createCommitReader } from "./commit-files.ts";
import { compareFolders, type FileDifference } from "./difference.ts";
import type { CommitFile } from "./git-objects.ts";
import { type JudgeDeps, type JudgedCalls, judgeCalls } from "./judged-calls.ts";
import { describeNamedTimetables, describeTimetable, findNextRuns, type NextRun } from "./next-runs.ts";
import { type Abilities, validateCommit } from "./validation.ts";

const NEXT_RUNS = 10;

export type Preview =
  | {
      readonly kind: "previewed";
      readonly head: CommitId | null;
      readonly files: readonly FileDifference[];
      readonly inputs: readonly InputChange[];
      /** Null when the schedule stays as it is. */
      readonly scheduleChange: ScheduleChange | null;
      /** Empty without a schedule, and while it is disabled. */
      readonly nextRuns: readonly NextRun[];
      /** In plain words. Undefined without a schedule. */
      readonly schedule?: { readonly description: string; readonly paused: boolean };
      /** Those of `triggers.schedules`, and what changes in them. Undefined where neither commit has any. */
      readonly schedules?: ReturnType<typeof describeNamedTimetables>["schedules"];
      readonly scheduleChanges?: ReturnType<typeof listNamedChanges>;
      readonly warnings: readonly FileProblem[];
      /** What the commit would do with the last accepted calls. Undefined: there are none. */
      readonly calls?: JudgedCalls | undefined;
    }
  | {
      readonly kind: "invalid";
      readonly head: CommitId | null;
      readonly files: readonly FileDifference[];
      readonly problems: readonly FileProblem[];
    }
  | { readonly kind: "unknown_workflow" };

export type PreviewPublish = (request: {
  workflowId: WorkflowId | null;
  accountId: AccountId;
  files: readonly CommitFile[];
}) => Promise<Preview>;

/** What publishing would change, by the same checks. Builds no environment: whether the packages exist is not known yet. */
export function createPreview(deps: Abilities & JudgeDeps & { readonly now?: () => Date }): PreviewPublish {
  const { db, now = () => new Date() } = deps;
  const readCommitFiles = createCommitReader(db);

  return async function preview({ workflowId, accountId, files }) {
    const workflow = workflowId === null ? undefined : await findWorkflow(db, workflowId);
    if (workflow === undefined && workflowId !== null) return { kind: "unknown_workflow" };
    const before: CommitFile[] = [];
    const head = workflow?.head ?? null;
    const old = workflow === undefined || head === null ? undefined : await findCommit(db, workflow.id, head);
    if (old !== undefined) for await (const file of readCommitFiles(old.workflowId, old.id)) before.push(file);
    const differences = { head, files: await compareFolders(deps.threads, accountId, [before, files]) };
    const validation = await validateCommit(files, deps, { accountId, workflowId });
    if (!validation.ok) return { kind: "invalid", ...differences, problems: validation.problems };
    const { manifest, warnings } = validation;
    const { schedule } = manifest.triggers;
    const oldManifest = (old?.manifest ?? null) as Manifest | null;
    const hasNamed = [oldManifest, manifest].some((each) => each?.triggers.schedules !== undefined);
    const calls =
      workflow === undefined ? undefined : await judgeCalls(deps, { workflowId: workflow.id, accountId }, manifest);
    return {
      kind: "previewed",
      ...differences,
      inputs: findInputChanges(oldManifest, manifest),
      scheduleChange: findScheduleChange(oldManifest?.triggers.schedule ?? null, schedule),
      nextRuns: findNextRuns(schedule, now(), NEXT_RUNS),
      ...describeTimetable(schedule),
      ...(hasNamed ? { schedules: [], scheduleChanges: listNamedChanges(oldManifest, manifest) } : {}),
      ...describeNamedTimetables(manifest, now(), NEXT_RUNS),
      warnings,
      calls,
    };
  };
}
