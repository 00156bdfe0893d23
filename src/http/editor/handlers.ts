import type { AppDeps } from "../deps.ts";
import type { Handlers } from "../routes/table.ts";
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
import { createKeyEndRoute, createKeyRotationRoute, createKeyRoute } from "./key.ts";
import { createScheduleSwitchRoute } from "./schedule.ts";
import { createServiceRoute } from "./service.ts";
import { createTemplatesRoute } from "./templates.ts";
import {
  createDeleteRoute,
  createNewWorkflowRoute,
  createRenameRoute,
  createWorkflowRoute,
  createWorkflowsRoute,
} from "./workflows.ts";

/** What the editor's routes of workflows, drafts and commits do. */
export function createEditorHandlers(deps: AppDeps) {
  return {
    listEditorWorkflows: createWorkflowsRoute(deps),
    listTemplates: createTemplatesRoute(deps),
    createEditorWorkflow: createNewWorkflowRoute(deps),
    showEditorWorkflow: createWorkflowRoute(deps),
    renameWorkflow: createRenameRoute(deps),
    deleteWorkflow: createDeleteRoute(deps),
    showKey: createKeyRoute(deps),
    rotateKey: createKeyRotationRoute(deps),
    endPreviousKeys: createKeyEndRoute(deps),

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
    showBuild: createBuildRoute(deps),
    showEditorService: createServiceRoute(deps),
  } satisfies Partial<Handlers>;
}
