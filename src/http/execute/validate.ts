import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import type { RequestHandler } from "express";
import { findUsage } from "../../../db/executions/usage.ts";
import { findCostEstimate } from "../../../db/ledger/estimate.ts";
import { Validity } from "../../../domain/api/results.ts";
import { TooLargeError } from "../../../storage/storage.ts";
import { describeNamedTimetables, describeTimetable, findNextRuns } from "../../publish/next-runs.ts";
import { sendAnswer } from "../answers/body.ts";
import { authenticate } from "../auth/authenticate.ts";
import { requireOwnRate } from "../auth/rates.ts";
import type { AppDeps } from "../deps.ts";
import { toEstimate } from "./cost-estimate.ts";
import { keepFor } from "./kept-files.ts";
import { receiveInputs, requireBodyKind } from "./receive-inputs.ts";
import type { Uploads } from "./uploads.ts";
import { toUsageDocument } from "./usage-document.ts";

const NEXT_RUNS = 10;

/**
 * `POST /workflows/:workflowId/validate`: validates what `execute` would get, by the same code, and starts nothing.
 * Returns the next times the workflow's schedule is due and what it usually costs, or 400 with every problem.
 */
export function createValidateRoute(deps: AppDeps): RequestHandler {
  return async (request, response) => {
    const target = await authenticate(deps, request, { right: "read", idempotencyKey: null });
    const { manifest, workflowId, accountId } = target;
    await requireOwnRate(deps.db, target.rates, "validate");
    const kind = requireBodyKind(request);
    const keep = keepFor(deps, target, false);
    const { limits, threads } = deps;
    await receiveInputs(request, { kind, manifest, uploads: createSink(), limits, keep, threads, accountId });
    const [cost, used] = await Promise.all([findCostEstimate(deps.db, workflowId), findUsage(deps.db, workflowId)]);
    const usage = toUsageDocument(used, manifest.limits);
    const { schedule } = manifest.triggers;
    const now = new Date();
    const nextRuns = findNextRuns(schedule, now, NEXT_RUNS);
    const named = describeNamedTimetables(manifest, now, NEXT_RUNS);
    const described = Object.assign(describeTimetable(schedule), named, toEstimate(cost));
    sendAnswer(response, Validity, Object.assign({ valid: true as const, nextRuns, usage }, described));
  };
}

/** Takes files as storage does, and keeps nothing of them. */
function createSink(): Uploads {
  return {
    async put(content: Readable, { bytesMax, signal }) {
      const hash = createHash("sha256");
      let bytes = 0;
      for await (const chunk of content as AsyncIterable<Buffer>) {
        signal.throwIfAborted();
        bytes += chunk.length;
        if (bytes > bytesMax) throw new TooLargeError(`More than ${bytesMax} bytes.`);
        hash.update(chunk);
      }
      return { storageKey: "nowhere", bytes, sha256: hash.digest("hex") };
    },
    copy: async () => "nowhere",
    remove: async () => undefined,
    discard: async () => undefined,
  };
}
