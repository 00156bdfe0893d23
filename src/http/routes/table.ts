import type { RequestHandler } from "express";
import { ACCESS_ROUTES } from "./editor/access.ts";
import { ACCOUNT_ROUTES } from "./editor/account.ts";
import { EDITOR_BUILD_ROUTES } from "./editor/builds.ts";
import { EDITOR_COMMIT_ROUTES } from "./editor/commits.ts";
import { EDITOR_DRAFT_ROUTES } from "./editor/drafts.ts";
import { EDITOR_EXECUTION_ROUTES } from "./editor/executions.ts";
import { EDITOR_INPUT_FILE_ROUTES } from "./editor/input-files.ts";
import { MEMBER_ROUTES } from "./editor/members.ts";
import { EDITOR_SCHEDULE_ROUTES } from "./editor/schedule.ts";
import { EDITOR_SERVICE_ROUTES } from "./editor/service.ts";
import { EDITOR_WORKFLOW_ROUTES } from "./editor/workflows.ts";
import { EXECUTION_ROUTES } from "./executions.ts";
import type { Route } from "./route.ts";
import { SCHEDULE_ROUTES } from "./schedules.ts";
import { SERVICE_ROUTES } from "./service.ts";
import { SESSION_ROUTES } from "./session.ts";
import { WORKFLOW_ROUTES } from "./workflows.ts";

const TABLE = {
  ...WORKFLOW_ROUTES,
  ...EXECUTION_ROUTES,
  ...SCHEDULE_ROUTES,
  ...EDITOR_EXECUTION_ROUTES,
  ...EDITOR_INPUT_FILE_ROUTES,
  ...SESSION_ROUTES,
  ...ACCOUNT_ROUTES,
  ...MEMBER_ROUTES,
  ...ACCESS_ROUTES,
  ...EDITOR_WORKFLOW_ROUTES,
  ...EDITOR_DRAFT_ROUTES,
  ...EDITOR_COMMIT_ROUTES,
  ...EDITOR_BUILD_ROUTES,
  ...EDITOR_SERVICE_ROUTES,
  ...EDITOR_SCHEDULE_ROUTES,
  ...SERVICE_ROUTES,
};

/** The name of a route: its `operationId` in the documents. */
export type RouteName = keyof typeof TABLE;

/** Every route for callers. What is mounted and what is documented are both made of it. */
export const ROUTES: Readonly<Record<RouteName, Route>> = TABLE;

export const ROUTE_NAMES = Object.keys(TABLE) as RouteName[];

/** What each route does; undefined for one that this process does not have. */
export type Handlers = Readonly<Record<RouteName, RequestHandler | undefined>>;
