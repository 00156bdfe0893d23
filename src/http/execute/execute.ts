import type { Request, RequestHandler, Response } from "express";
import { findExecution } from "../../../db/executions/executions.ts";
import type { ExecutionResult } from "../../../domain/execution.ts";
import type { ExecutionId, WorkflowId } from "../../../domain/ids.ts";
import { executionUrl } from "../../executions/envelope.ts";
import { createWaitingCalls, type WaitingCalls } from "../../executions/waiting-calls.ts";
import { listGrantedEndpoints } from "../../notices/granted-endpoints.ts";
import { requireCapacity, requireHost, requirePlace, requireRate, requireStorage } from "../admission/requirements.ts";
import { wantsEvents } from "../answers/open-answer.ts";
import { type Authenticated, authenticate } from "../auth/authenticate.ts";
import { toRateHeaders } from "../auth/rates.ts";
import type { AppDeps } from "../deps.ts";
import { sendEvents } from "../results/log-events.ts";
import { startTiming, type Timing } from "../server/timing.ts";
import { createTurns, type TakeTurn } from "../server/turns.ts";
import { acceptCall } from "./accept.ts";
import { answerExecution } from "./execution-answer.ts";
import { parseIdempotencyKey } from "./idempotency-key.ts";
import { chooseWait, parsePrefer, type Wait } from "./prefer.ts";
import { requireBodyKind } from "./receive-inputs.ts";
import { requireCreditsOrRecord } from "./refused-run.ts";
import { startAgain, startExecution } from "./starting.ts";
import { readWebhookUrl } from "./webhook-url.ts";

/** All that is kept of a call while it waits: there may be thousands. */
interface WaitingCall {
  readonly executionId: ExecutionId;
  /** Undefined when the caller follows the execution's events, for which no preference counts. */
  readonly wait: Wait | undefined;
  readonly timing: Timing;
  readonly workflowId: WorkflowId;
  /** Settles when the execution has ended, the time is over, or the caller is gone. Never rejects. */
  readonly over: Promise<ExecutionResult | boolean>;
  readonly gone: AbortSignal;
  readonly accessId: string | undefined;
  readonly leave: () => void;
}

/** `POST /workflows/:workflowId/execute`: a column of stages, each with one way to say no. */
export function createExecuteRoute(deps: AppDeps, choose: Choose = authenticate): RequestHandler {
  const room: Room = { places: createWaitingCalls(deps.waitingCallsMax), takeTurn: createTurns() };
  return async (request, response) => {
    const call = await startCall(deps, { ...room, choose }, { request, response }).catch((error: unknown) => {
      deps.refusedCalls.note(request, error);
      throw error;
    });
    const { wait, executionId } = call;
    if (wait === undefined) {
      if (call.gone.aborted) return call.leave();
      response.once("close", call.leave);
      response.set("Server-Timing", call.timing.toHeader());
      return sendEvents(deps, { request, response, executionId, accessId: call.accessId });
    }
    const ended = await call.over;
    call.leave();
    // Nobody is there to answer. The execution goes on: its id and its idempotency key lead to it.
    if (call.gone.aborted) return;
    call.timing.mark("wait");
    response.set("Server-Timing", call.timing.toHeader());
    const result = typeof ended === "object" ? ended : undefined;
    await answerExecution(deps, { executionId, workflowId: call.workflowId, wait, result }, response);
  };
}

/** Who calls, and which commit is to be executed. */
type Choose = (
  deps: AppDeps,
  request: Request,
  call: { right: "write"; idempotencyKey: string | null },
) => Promise<Authenticated>;

/** What the calls of this process share. */
interface Room {
  readonly places: WaitingCalls;
  readonly takeTurn: TakeTurn;
}

/** Everything before the waiting: who calls, is there room, what with, and the start. */
async function startCall(
  deps: AppDeps,
  { places, takeTurn, choose }: Room & { choose: Choose },
  { request, response }: { request: Request; response: Response },
): Promise<WaitingCall> {
  const timing = startTiming();
  const wait = wantsEvents(request) ? undefined : chooseWait(parsePrefer(request.get("prefer")), deps.waitMaxSeconds);
  const seconds = wait?.seconds ?? 0;
  const idempotencyKey = parseIdempotencyKey(request);
  const target = await choose(deps, request, { right: "write", idempotencyKey: idempotencyKey.value });
  timing.mark("authenticate");
  if (idempotencyKey.problem !== undefined) throw idempotencyKey.problem;
  const wanted = await readWebhookUrl(request, deps.notices, () => listGrantedEndpoints(deps.db, target.accountId));
  const kind = requireBodyKind(request);
  // A repeated call starts nothing and costs nothing: all it takes is room to wait.
  const isRepeated = target.keyedId !== null;
  if (!isRepeated) requireRate(target.rateState, deps.contact);
  if (!isRepeated) requireCapacity(deps, target.accountId);
  if (!isRepeated) requireHost(deps, target);
  const leave = wait?.seconds === 0 ? () => undefined : requirePlace(deps, places, target.accountId);
  try {
    if (!isRepeated) requireStorage(deps, target);
    if (!isRepeated) await requireCreditsOrRecord(deps, target);
    const accepted = await acceptCall(deps, { request, kind, target, timing, takeTurn, wanted });
    const { executionId } = accepted;
    response.set({
      ...toRateHeaders(accepted.rates),
      "X-Execution-Id": executionId,
      Location: executionUrl(deps.apiUrl(), executionId),
      ...(accepted.kind === "known" ? { "Idempotent-Replayed": "true" } : {}),
    });
    const gone = watchCaller(response);
    // Waiting begins before the start, so that an end in between is not missed.
    const ended = seconds === 0 ? undefined : deps.executions.waitForEnd(executionId, seconds * 1000, gone.signal);
    let over: Promise<ExecutionResult | boolean> = Promise.resolve(false);
    if (accepted.kind === "accepted") {
      if (accepted.begin !== undefined) accepted.begin();
      else if (accepted.admitted) await startExecution(deps, { executionId, target });
      over = ended ?? over;
    } else if (!accepted.keyed.ended) {
      if (accepted.keyed.unstarted) await startAgain(deps, executionId);
      // It may have ended just before anybody here listened.
      if ((await findExecution(deps.db, executionId))?.finishedAt === null) over = ended ?? over;
    }
    timing.mark("start");
    if (wait?.earlyHints === true) hintEarly(request, response);
    const { accessId, workflowId } = target;
    return { executionId, workflowId, wait, timing, over, gone: gone.signal, accessId, leave };
  } catch (error) {
    leave();
    throw error;
  }
}

/** Aborted when the connection closes, also after the answer: then nothing listens any more. */
function watchCaller(response: Response): AbortController {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  if (response.destroyed) gone.abort();
  return gone;
}

/**
 * Sends 103 with the headers known so far, so that the caller has the execution's id before it ends. Only a caller that
 * asks gets it. Other clients take an informational answer for the last one (RFC 8297 3), as Python's http.client does.
 */
function hintEarly(request: Request, response: Response): void {
  if (request.httpVersion === "1.0" || response.destroyed) return;
  const location = String(response.getHeader("Location"));
  response.writeEarlyHints({
    link: `<${location}>; rel="status"`,
    location,
    "x-execution-id": String(response.getHeader("X-Execution-Id")),
  });
}
