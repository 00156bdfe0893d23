/** Routes that no document shows, and why: each is mounted by a router of its own, under `/api`. */
export interface InternalRoutes {
  readonly prefix: `/api/${string}`;
  readonly reason: string;
  readonly routes: readonly `${"GET" | "POST" | "PUT" | "DELETE"} /${string}`[];
}

export const INTERNAL_ROUTES: readonly InternalRoutes[] = [
  {
    prefix: "/api/operator",
    reason:
      "The command line's own, for holders of a personal access token: it comes with the service and changes with it. docs/cli.md is what people rely on.",
    routes: [
      "POST /publish",
      "GET /workflows",
      "POST /workflows",
      "GET /workflows/{workflowId}",
      "DELETE /workflows/{workflowId}",
      "GET /workflows/{workflowId}/build-log",
      "GET /workflows/{workflowId}/key",
      "POST /workflows/{workflowId}/key/rotate",
      "GET /unrunnable",
      "GET /accounts",
      "POST /accounts",
      "GET /credits",
      "POST /credits/grants",
      "POST /credits/adjustments",
      "GET /rates",
      "PUT /rates",
      "GET /storage",
      "PUT /storage",
      "GET /executions",
      "GET /executions/{executionId}",
      "GET /schedules",
      "GET /schedules/{workflowId}/next",
      "GET /schedules/{workflowId}/ticks",
      "POST /schedules/{workflowId}/backfill",
    ],
  },
];
