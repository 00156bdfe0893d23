import type { AppDeps } from "../deps.ts";
import type { Handlers } from "../routes/table.ts";
import { createBackfillRoute } from "./backfills.ts";
import { createBuildRoute } from "./builds.ts";
import {
  createBuildLogRoute,
  createCommitRoute,
  createCommitShowRoute,
  createCommitsRoute,
  createRestoreRoute,
} from "./commits.ts";
import { createDiffRoute } from "./diff.ts";
import {
  createDiscardRoute,
  createDraftChangeRoute,
  createDraftFileRoute,
  createDraftRoute,
  createPreviewRoute,
  createRebaseRoute,
  createSettleRoute,
} from "./drafts.ts";
import {
  createKeyEndRoute,
  createKeyRotationRoute,
  createKeyRoute,
  createKeysRoute,
  createRefusedCallsRoute,
} from "./keys.ts";
import { createPublishPreviewRoute, createPublishRoute } from "./publish.ts";
import { createScheduleDeclarationRoute } from "./schedule-declaration.ts";
import { createSchedulesRoute } from "./schedule-list.ts";
import { createScheduleSwitchRoute } from "./schedule-switch.ts";
import { createScriptRoute } from "./scripts.ts";
import { createTemplatesRoute } from "./templates.ts";
import { createUnrunnableRoute } from "./unrunnable.ts";
import {
  createDeleteRoute,
  createNewWorkflowRoute,
  createOverviewRoute,
  createRenameRoute,
  createWorkflowRoute,
  createWorkflowsRoute,
} from "./workflows.ts";

/** What the editor's routes of workflows, drafts and commits do. */
export function createEditorHandlers(deps: AppDeps) {
  return {
    listWorkflows: createWorkflowsRoute(deps),
    listTemplates: createTemplatesRoute(deps),
    readScript: createScriptRoute(deps),
    createWorkflow: createNewWorkflowRoute(deps),
    showWorkflow: createWorkflowRoute(deps),
    renameWorkflow: createRenameRoute(deps),
    deleteWorkflow: createDeleteRoute(deps),
    showKey: createKeyRoute(deps),
    rotateKey: createKeyRotationRoute(deps),
    listKeys: createKeysRoute(deps),
    showOverview: createOverviewRoute(deps),
    listRefusedCalls: createRefusedCallsRoute(deps),
    endKey: createKeyEndRoute(deps),
    listUnrunnable: createUnrunnableRoute(deps),
    publish: createPublishRoute(deps),
    previewPublish: createPublishPreviewRoute(deps),
    listSchedules: createSchedulesRoute(deps),
    backfill: createBackfillRoute(deps),

    showDraft: createDraftRoute(deps),
    changeDraft: createDraftChangeRoute(deps),
    discardDraft: createDiscardRoute(deps),
    rebaseDraft: createRebaseRoute(deps),
    settleDraft: createSettleRoute(deps),
    readDraftFile: createDraftFileRoute(deps),
    previewDraft: createPreviewRoute(deps),

    commitDraft: createCommitRoute(deps),
    listCommits: createCommitsRoute(deps),
    showCommit: createCommitShowRoute(deps),
    restoreCommit: createRestoreRoute(deps),
    readBuildLog: createBuildLogRoute(deps),
    compareCommits: createDiffRoute(deps),
    switchSchedule: createScheduleSwitchRoute(deps),
    declareSchedule: createScheduleDeclarationRoute(deps),
    showBuild: createBuildRoute(deps),
  } satisfies Partial<Handlers>;
}
