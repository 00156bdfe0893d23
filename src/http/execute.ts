import type { RequestHandler, Response } from "express";
import { sqlState } from "../../db/connect.ts";
import { findBalance, release } from "../../db/credits.ts";
import { type ExecutionRecord, findExecution, insertExecution } from "../../db/executions.ts";
import { chargeMax, type MicroCredits, microCredits, toCredits } from "../../domain/credits.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { createExecutionId } from "../ids.ts";
import { type Authenticated, authenticate } from "./authenticate.ts";
import type { AppDeps } from "./deps.ts";
import { executionUrl, failureCode, failureMessage, toResult } from "./envelope.ts";
import { ApiError } from "./errors.ts";
import { demandBodyKind, type ReceivedInputs, receiveInputs } from "./receive-inputs.ts";
import { startTiming } from "./timing.ts";
import { createUploads, type Uploads } from "./uploads.ts";

const LOOK_AGAIN_SECONDS = 5;

/** `POST /workflows/:workflowId/execute`: a column of stages, each with one way to say no. */
export function createExecuteRoute(deps: AppDeps): RequestHandler {
  return async (request, response) => {
    const timing = startTiming();
    const target = await authenticate(deps.db, request);
    timing.mark("authenticate");
    const kind = demandBodyKind(request);
    demandCapacity(deps);
    const most = demandCredits(deps, target);
    const executionId = createExecutionId();
    const uploads = createUploads(deps.storage, executionId);
    let recording = false;
    try {
      const received = await receiveInputs(request, { kind, manifest: target.manifest, uploads, limits: deps.limits });
      timing.mark("receive");
      recording = true;
      await recordExecution(deps, { executionId, target, received, most });
      timing.mark("record");
    } catch (error) {
      if (!recording || isRefusedByDatabase(error)) await discardUploads(deps, executionId, uploads);
      throw error;
    }
    response.set({ "X-Execution-Id": executionId, Location: executionUrl(deps.apiUrl(), executionId) });
    deps.log.info({
      event: "execution.accepted",
      executionId,
      workflowId: target.workflowId,
      commitId: target.commitId,
      accountId: target.accountId,
      trigger: "api",
    });

    // Waiting begins before the start, so that an end in between is not missed.
    const ended = deps.executions.waitForEnd(executionId, deps.waitMaxSeconds * 1000);
    await startExecution(deps, { executionId, target, response });
    timing.mark("start");
    await ended;
    timing.mark("wait");
    const execution = await findExecution(deps.db, executionId);
    if (execution === undefined) throw new Error(`${executionId} is not in the record.`);
    response.set("Server-Timing", timing.toHeader());
    await answer(deps, execution, response);
  };
}

function demandCapacity(deps: AppDeps): void {
  const { accepting, retryAfterSeconds } = deps.executions.capacity();
  if (accepting) return;
  throw new ApiError(
    "no_capacity",
    `No more executions can be taken just now. Nothing was charged; try again in ${retryAfterSeconds} seconds.`,
    {},
    { "Retry-After": String(retryAfterSeconds) },
  );
}

/** Advice before anything is stored, the most it can cost being known; the reservation decides, with the same answer. */
function demandCredits(deps: AppDeps, target: Authenticated): MicroCredits {
  const { limits, retry } = target.manifest;
  const most = chargeMax({ cpu: limits.cpu, timeoutSeconds: limits.timeoutSeconds * retry.attemptsMax }, deps.prices);
  if (target.available < most)
    throw insufficientCredits(deps, { needed: most, available: microCredits(target.available) });
  return most;
}

function insufficientCredits(
  deps: AppDeps,
  amounts: { needed: MicroCredits; available: MicroCredits; executionId?: ExecutionId },
): ApiError {
  const needed = toCredits(amounts.needed);
  const available = toCredits(amounts.available);
  const contact = deps.contact === undefined ? "" : ` Ask ${deps.contact}.`;
  const message = `This execution may cost up to ${needed} credits, and the account has ${available} available. Top up the account, or lower the workflow's time-out or cpu.${contact}`;
  return new ApiError("insufficient_credits", message, {
    needed,
    available,
    ...(amounts.executionId === undefined ? {} : { executionId: amounts.executionId }),
  });
}

async function recordExecution(
  deps: AppDeps,
  accepted: { executionId: ExecutionId; target: Authenticated; received: ReceivedInputs; most: MicroCredits },
): Promise<void> {
  const { executionId, target, received } = accepted;
  const { limits, retry } = target.manifest;
  const hasSecrets = Object.keys(received.secrets).length > 0;
  await insertExecution(deps.db, {
    id: executionId,
    accountId: target.accountId,
    workflowId: target.workflowId,
    commitId: target.commitId,
    trigger: "api",
    inputs: received.inputs,
    secretInputs: hasSecrets ? deps.secretBox.seal(JSON.stringify(received.secrets), executionId) : null,
    timeoutSeconds: limits.timeoutSeconds,
    cpu: limits.cpu,
    attemptsMax: retry.attemptsMax,
    chargeMax: accepted.most,
    acceptedBy: deps.processId,
    files: received.files,
  });
}

/** False when the database may have recorded the execution, its answer lost: then the files may be needed. */
function isRefusedByDatabase(error: unknown): boolean {
  return /^(?!08|57)[0-9A-Z]{5}$/.test(sqlState(error) ?? "");
}

/** What cannot be deleted now is found by the next start of the service; the caller hears of the first problem. */
async function discardUploads(deps: AppDeps, executionId: ExecutionId, uploads: Uploads): Promise<void> {
  await uploads.discard().catch((error: unknown) => {
    deps.log.warn({ event: "fault", executionId, error }, "The files of a refused request could not be deleted yet.");
  });
}

/**
 * Starts what was recorded. A start that failed may have happened, its answer lost: when the record shows that the
 * execution goes on, so does the call. Otherwise the execution is closed, so that it cannot begin any more, and 503 says
 * that it may be sent again. When even that fails, the sweeper decides later, and the answer says where to look.
 */
async function startExecution(
  deps: AppDeps,
  started: { executionId: ExecutionId; target: Authenticated; response: Response },
): Promise<void> {
  const { executionId, target } = started;
  const { limits, retry, name } = target.manifest;
  try {
    await deps.executions.start({
      executionId,
      workflowId: target.workflowId,
      commitId: target.commitId,
      accountId: target.accountId,
      trigger: "api",
      timeoutSeconds: limits.timeoutSeconds,
      attemptsMax: retry.attemptsMax,
      workflowName: name ?? target.workflowId,
    });
  } catch (error) {
    deps.log.error({ event: "execution.fault", executionId, error }, "An execution could not be started.");
    const { retryAfterSeconds } = deps.executions.capacity();
    const headers = { "Retry-After": String(retryAfterSeconds) };
    const closed = await closeUnstarted(deps, executionId).catch((failure: unknown) => {
      deps.log.error(
        { event: "execution.fault", executionId, error: failure },
        "An execution that could not be started could not be closed either.",
      );
      throw new ApiError(
        "no_capacity",
        "The execution was accepted, but it is not known whether it started. Look at its address before sending it again.",
        { executionId },
        headers,
      );
    });
    if (!closed) return;
    throw new ApiError(
      "no_capacity",
      `The execution could not be started. Nothing was charged; send it again in ${retryAfterSeconds} seconds.`,
      { executionId },
      headers,
    );
  }
}

async function closeUnstarted(deps: AppDeps, executionId: ExecutionId): Promise<boolean> {
  const execution = await findExecution(deps.db, executionId);
  if (execution?.state !== "queued") return false;
  return release(deps.db, {
    executionId,
    status: "failed",
    failure: "no_capacity",
    message: "It could not be started.",
  });
}

async function answer(deps: AppDeps, execution: ExecutionRecord, response: Response): Promise<void> {
  const code = failureCode(execution);
  if (execution.finishedAt === null) {
    response.status(202).set("Retry-After", String(LOOK_AGAIN_SECONDS));
    return void response.json({ ...toResult(execution, deps.apiUrl()), status: "running" });
  }
  deps.log.info({
    event: "execution.ended",
    executionId: execution.id,
    workflowId: execution.workflowId,
    status: execution.state,
  });
  if (code === undefined) return void response.status(200).json(toResult(execution, deps.apiUrl()));
  if (code === "insufficient_credits") {
    throw insufficientCredits(deps, {
      needed: execution.chargeMax,
      available: await findAvailable(deps, execution.accountId),
      executionId: execution.id,
    });
  }
  const retry =
    code === "no_capacity" ? { "Retry-After": String(deps.executions.capacity().retryAfterSeconds) } : undefined;
  throw new ApiError(code, failureMessage(execution), { ...toResult(execution, deps.apiUrl()) }, retry);
}

async function findAvailable(deps: AppDeps, accountId: AccountId): Promise<MicroCredits> {
  return (await findBalance(deps.db, accountId))?.available ?? microCredits(0n);
}
