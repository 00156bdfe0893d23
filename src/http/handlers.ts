import type { AppDeps } from "./deps.ts";
import { createAssetRoute } from "./docs/assets.ts";
import { createDocsRoute } from "./docs/page.ts";
import { createAccountHandlers } from "./editor/account-handlers.ts";
import { chooseDraft } from "./editor/draft-execution.ts";
import { createEventsRoute } from "./editor/events.ts";
import { createExecutionRecordRoute } from "./editor/execution-record.ts";
import { createBulkCancelRoute, createExecutionsRoute } from "./editor/executions.ts";
import { createEditorHandlers } from "./editor/handlers.ts";
import { createInputFileRoute } from "./editor/input-files.ts";
import { createExecuteRoute } from "./execute.ts";
import { createLogRoute } from "./execution-log.ts";
import { createCancelRoute, createExecutionRoute } from "./executions.ts";
import { createLinkRoute } from "./file-link.ts";
import { createFileRoute } from "./files.ts";
import { createMetricsRoute, createReadinessRoute, showAlive } from "./health.ts";
import { createServiceDocumentRoute, createWorkflowDocumentRoute } from "./openapi/serving.ts";
import type { Handlers } from "./routes/table.ts";
import { createScheduleRoute, createTicksRoute } from "./schedules.ts";
import { createSessionRoute, createSignInRoute, createSignOutRoute } from "./sessions.ts";
import { createSignInThrottle } from "./sign-in-throttle.ts";
import { createValidateRoute } from "./validate.ts";

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

    ...createAccountHandlers(deps, throttle),
    ...createEditorHandlers(deps),

    showAlive,
    showReadiness: createReadinessRoute(deps.readiness),
    readMetrics: deps.metrics && createMetricsRoute(deps.metrics),
    describeService: createServiceDocumentRoute(deps),
    showDocs: createDocsRoute("service"),
    readDocsAsset: createAssetRoute(),
  };
}
