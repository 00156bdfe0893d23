import express, { Router } from "express";
import type { Environments } from "../../../activities/environments/builder.ts";
import type { CommitEnvironments } from "../../../activities/environments/commit-environments.ts";
import type { Ticks } from "../../../activities/ticks.ts";
import type { Db } from "../../../db/connect.ts";
import type { SecretBox } from "../../keys/secret-box.ts";
import type { Log } from "../../log.ts";
import type { PreviewPublish } from "../../publish/preview.ts";
import type { Publish } from "../../publish/publish.ts";
import { ApiError } from "../errors.ts";
import type { RateLimits } from "../rates.ts";
import { createAccountRoutes } from "./accounts.ts";
import { createAuthorization } from "./caller.ts";
import { createExecutionRoutes } from "./executions.ts";
import { createPublishRoutes } from "./publish.ts";
import { createRateRoutes } from "./rates.ts";
import { createScheduleRoutes } from "./schedules.ts";
import { createStorageRoutes } from "./storage.ts";
import { createUnrunnableRoutes } from "./unrunnable.ts";
import { createWorkflowRoutes } from "./workflows.ts";

const JSON_BYTES_MAX = 65_536;

export interface OperatorDeps {
  readonly db: Db;
  readonly secretBox: SecretBox;
  readonly publish: Publish;
  readonly preview: PreviewPublish;
  readonly environments: Pick<Environments, "readLog">;
  readonly ticks: Pick<Ticks, "backfill">;
  /** Commits that cannot run on this host. */
  readonly commitProblems?: CommitEnvironments["problems"];
  /** For how many days the record of a tick is kept; null: for ever. */
  readonly tickDays: number | null;
  /** Of accounts with whom nothing else was agreed. */
  readonly rateLimits: RateLimits;
  /** Bytes that they may keep; 0: any number. */
  readonly keptBytesMax: number;
  readonly log: Log;
}

/** What the command line calls: everything under `/operator`, for holders of a personal access token only. */
export function createOperatorRouter(deps: OperatorDeps): Router {
  const operator = Router();
  operator.use(createAuthorization(deps.db));
  operator.use(express.json({ limit: JSON_BYTES_MAX, inflate: false }));
  operator.use(
    createPublishRoutes(deps),
    createUnrunnableRoutes(deps),
    createWorkflowRoutes(deps),
    createAccountRoutes(deps),
    createRateRoutes(deps),
    createExecutionRoutes(deps),
    createScheduleRoutes(deps),
    createStorageRoutes(deps),
  );
  operator.use(() => {
    throw new ApiError("not_found", "There is no such operator route. Is the command line newer than the service?");
  });
  const router = Router();
  router.use("/operator", operator);
  return router;
}
