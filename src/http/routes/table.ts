import type { RequestHandler } from "express";
import { ABOUT_ROUTES } from "./about.ts";
import { ACCESS_ROUTES } from "./access.ts";
import { ACCOUNT_ROUTES } from "./account.ts";
import { BUILD_ROUTES } from "./builds.ts";
import { CALL_ROUTES } from "./calls.ts";
import { COMMIT_ROUTES } from "./commits.ts";
import { DESTINATION_ROUTES } from "./destinations.ts";
import { DEVICE_CODE_ROUTES } from "./device-codes.ts";
import { DRAFT_ROUTES } from "./drafts.ts";
import { EXECUTION_ROUTES } from "./executions.ts";
import { INPUT_FILE_ROUTES } from "./input-files.ts";
import { MEMBER_ROUTES } from "./members.ts";
import { NOTICE_ROUTES } from "./notices.ts";
import { PUBLISH_ROUTES } from "./publish.ts";
import type { Route } from "./route.ts";
import { RUN_LOG_ROUTES } from "./run-logs.ts";
import { SCHEDULE_LIST_ROUTES } from "./schedule-list.ts";
import { SCHEDULE_SWITCH_ROUTES } from "./schedule-switch.ts";
import { SCHEDULE_ROUTES } from "./schedules.ts";
import { SERVICE_ROUTES } from "./service.ts";
import { SESSION_ROUTES } from "./session.ts";
import { UPLOAD_ROUTES } from "./uploads.ts";
import { VALUE_ROUTES } from "./values.ts";
import { WORKFLOW_ROUTES } from "./workflows.ts";

const TABLE = {
  ...CALL_ROUTES,
  ...UPLOAD_ROUTES,
  ...RUN_LOG_ROUTES,
  ...SCHEDULE_ROUTES,
  ...SCHEDULE_SWITCH_ROUTES,
  ...SCHEDULE_LIST_ROUTES,
  ...EXECUTION_ROUTES,
  ...INPUT_FILE_ROUTES,
  ...SESSION_ROUTES,
  ...ACCOUNT_ROUTES,
  ...MEMBER_ROUTES,
  ...ACCESS_ROUTES,
  ...DEVICE_CODE_ROUTES,
  ...VALUE_ROUTES,
  ...NOTICE_ROUTES,
  ...DESTINATION_ROUTES,
  ...PUBLISH_ROUTES,
  ...WORKFLOW_ROUTES,
  ...DRAFT_ROUTES,
  ...COMMIT_ROUTES,
  ...BUILD_ROUTES,
  ...ABOUT_ROUTES,
  ...SERVICE_ROUTES,
};

/** The name of a route: its `operationId` in the documents. */
export type RouteName = keyof typeof TABLE;

/** Every route for callers. What is mounted and what is documented are both made of it. */
export const ROUTES: Readonly<Record<RouteName, Route>> = TABLE;

export const ROUTE_NAMES = Object.keys(TABLE) as RouteName[];

/** What each route does; undefined for one that this process does not have. */
export type Handlers = Readonly<Record<RouteName, RequestHandler | undefined>>;
