import { Router } from "express";
import { z } from "zod";
import { findCommit } from "../../../db/commits.ts";
import type { Db } from "../../../db/connect.ts";
import { listScheduledManifests } from "../../../db/head-manifests.ts";
import type { Workflow } from "../../../db/workflows.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { findNextRuns } from "../../publish/next-runs.ts";
import { ApiError } from "../errors.ts";
import { parseRequest, sendDocument } from "./body.ts";
import { callerOf, getWorkflow } from "./caller.ts";

const NEXT_RUNS_MAX = 100;
const Range = z.object({ count: z.coerce.number().int().min(1).max(NEXT_RUNS_MAX).default(10) });

/** Schedules as the latest commits declare them. */
export function createScheduleRoutes(deps: { db: Db }): Router {
  const { db } = deps;
  const router = Router();

  router.get("/schedules", async (_request, response) => {
    const heads = await listScheduledManifests(db, callerOf(response).accountId);
    sendDocument(response, {
      schedules: heads.map(({ workflowId, manifest }) => toDocument(workflowId, manifest as Manifest)),
    });
  });

  router.get("/schedules/:workflowId/next", async (request, response) => {
    const workflow = await getWorkflow(db, callerOf(response), request.params.workflowId);
    const { count } = parseRequest(Range, request.query);
    sendDocument(response, { nextRuns: findNextRuns(await getScheduledManifest(db, workflow), new Date(), count) });
  });

  router.get("/schedules/:workflowId/ticks", async (request, response) => {
    const workflow = await getWorkflow(db, callerOf(response), request.params.workflowId);
    await getScheduledManifest(db, workflow);
    // Nothing fires schedules yet, so no time that one was due has a record.
    sendDocument(response, { ticks: [] });
  });

  return router;
}

async function getScheduledManifest(db: Db, workflow: Workflow): Promise<Manifest> {
  const commit = workflow.head === null ? undefined : await findCommit(db, workflow.id, workflow.head);
  const manifest = commit?.manifest as Manifest | undefined;
  if (manifest?.triggers.schedule) return manifest;
  throw new ApiError("not_found", "The workflow's latest commit declares no schedule.");
}

function toDocument(workflowId: string, manifest: Manifest) {
  const { schedule } = manifest.triggers;
  const paused = schedule?.enabled !== true;
  return {
    workflowId,
    cron: schedule?.cron,
    timezone: schedule?.timezone,
    nextRun: findNextRuns(manifest, new Date(), 1)[0]?.local ?? null,
    paused,
    reason: paused ? "enabled is false in config.yaml" : null,
  };
}
