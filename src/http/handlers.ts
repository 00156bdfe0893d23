import { createDestinationHandlers } from "./accounts/destinations.ts";
import { createEventsRoute } from "./accounts/events.ts";
import { createAccountHandlers } from "./accounts/handlers.ts";
import { createNoticeHandlers } from "./accounts/notice-handlers.ts";
import { createValueHandlers } from "./accounts/values.ts";
import { createSessionRoute, createSignInRoute, createSignOutRoute } from "./auth/sessions.ts";
import { createSignInThrottle } from "./auth/sign-in-throttle.ts";
import type { AppDeps } from "./deps.ts";
import { createAssetRoute } from "./docs/assets.ts";
import { createDocsRoute } from "./docs/page.ts";
import { createExecuteRoute } from "./execute/execute.ts";
import { createValidateRoute } from "./execute/validate.ts";
import { createExecutionRecordRoute } from "./executions/execution-record.ts";
import { createBulkCancelRoute, createExecutionsRoute } from "./executions/executions.ts";
import { createInputFileRoute } from "./executions/input-files.ts";
import { createServiceDocumentRoute, createWorkflowDocumentRoute } from "./openapi/serving.ts";
import { chooseDraft } from "./publishing/draft-execution.ts";
import { createEditorHandlers } from "./publishing/handlers.ts";
import { createScheduleRoute, createTicksRoute } from "./publishing/schedule.ts";
import { createArchiveRoute } from "./results/archive.ts";
import { createLogRoute } from "./results/execution-log.ts";
import { createCancelRoute, createExecutionRoute } from "./results/executions.ts";
import { createLinkRoute } from "./results/file-link.ts";
import { createFileRoute } from "./results/files.ts";
import type { Handlers } from "./routes/table.ts";
import { createMetricsRoute, createReadinessRoute, showAlive } from "./service/health.ts";
import { createHostsRoute, createServiceRoute } from "./service/installation.ts";
import { createUploadHandlers } from "./uploads/uploads.ts";

/** What each route of the table does. */
export function createHandlers(deps: AppDeps): Handlers {
  // One for all that is guessed at: who may not sign in any more may not try elsewhere.
  const throttle = createSignInThrottle(deps.db);
  return {
    executeWorkflow: createExecuteRoute(deps),
    validateInputs: createValidateRoute(deps),
    describeWorkflow: createWorkflowDocumentRoute(deps),
    showWorkflowDocs: createDocsRoute("workflow"),

    showExecution: createExecutionRoute(deps),
    readLog: createLogRoute(deps),
    cancelExecution: createCancelRoute(deps),
    readFile: createFileRoute(deps),
    readFiles: createArchiveRoute(deps),
    linkFile: createLinkRoute(deps),

    showSchedule: createScheduleRoute(deps),
    listTicks: createTicksRoute(deps),

    signIn: createSignInRoute(deps, throttle),
    showSession: createSessionRoute(deps),
    signOut: createSignOutRoute(deps),

    listExecutions: createExecutionsRoute(deps),
    showExecutionRecord: createExecutionRecordRoute(deps),
    readInputFile: createInputFileRoute(deps),
    cancelExecutions: createBulkCancelRoute(deps),
    followEvents: createEventsRoute(deps),
    executeDraft: createExecuteRoute(deps, chooseDraft),

    ...createUploadHandlers(deps),
    ...createAccountHandlers(deps, throttle),
    ...createValueHandlers(deps),
    ...createNoticeHandlers(deps),
    ...createDestinationHandlers(deps),
    ...createEditorHandlers(deps),

    describeInstallation: createServiceRoute(deps),
    listHosts: createHostsRoute(deps),
    showAlive,
    showReadiness: createReadinessRoute(deps.readiness),
    readMetrics: deps.metrics && createMetricsRoute(deps.metrics),
    describeService: createServiceDocumentRoute(deps),
    showDocs: createDocsRoute("service"),
    readDocsAsset: createAssetRoute(),
  };
}
