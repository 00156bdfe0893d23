import type { Request } from "express";
import type { RateState } from "../../../db/accounts/rates.ts";
import { isPoolExhausted, sqlState } from "../../../db/connect.ts";
import {
  type Acceptance,
  acceptExecution,
  type Conditions,
  type NewExecution,
  WAITING_MAX,
} from "../../../db/executions/acceptance.ts";
import type { ExecutionWork } from "../../../db/executions/attempts.ts";
import { findKeyedExecution, type KeyedExecution } from "../../../db/executions/idempotency.ts";
import type { CallReceiver } from "../../../db/notices/call-receivers.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { scratchOnDisk } from "../../../domain/manifest/bounds.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { tellsOfRuns } from "../../../domain/manifest/notify.ts";
import { createExecutionId } from "../../ids.ts";
import { sealReceiver } from "../../notices/results.ts";
import { costAtMost, limitsHere } from "../admission/requirements.ts";
import type { Authenticated } from "../auth/authenticate.ts";
import { rateLimited } from "../auth/rates.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import type { Timing } from "../server/timing.ts";
import type { TakeTurn } from "../server/turns.ts";
import { fingerprintInputs, otherInputs, requireSameInputs } from "./idempotency-key.ts";
import { keepFor } from "./kept-files.ts";
import { type BodyKind, InvalidInputsError, type ReceivedInputs, receiveInputs } from "./receive-inputs.ts";
import { createUploads, type Uploads } from "./uploads.ts";
import type { WantedResult } from "./webhook-url.ts";

const RETRY_AFTER_SECONDS = 5;
/** How often a key is looked for that was given back between two looks. */
const TRIES_MAX = 3;

interface Call {
  readonly request: Request;
  readonly kind: BodyKind;
  readonly target: Authenticated;
  readonly timing: Timing;
  readonly takeTurn: TakeTurn;
  /** Where it wants the result, beside the answer. */
  readonly wanted: WantedResult | undefined;
}

export type Accepted = { readonly executionId: ExecutionId; readonly rates: RateState } & (
  | /** Recorded. When it is not admitted, it waits for its turn and is not to be started. `begin`: it begins here. */
  { readonly kind: "accepted"; readonly admitted: boolean; readonly begin: (() => void) | undefined }
  /** The call repeats one that is recorded already; nothing of it was kept. */
  | { readonly kind: "known"; readonly keyed: KeyedExecution }
);

/** Reads the inputs and records the execution, or finds the one that the call repeats. Of a refused call nothing is left. */
export async function acceptCall(deps: AppDeps, call: Call): Promise<Accepted> {
  const executionId = createExecutionId();
  const uploads = createUploads(deps, executionId);
  const recording = { underWay: false };
  try {
    const { target, timing, takeTurn } = call;
    const keyed = target.keyedId === null ? undefined : await findKeyed(deps, target);
    const accepted =
      keyed === undefined
        ? await recordCall(deps, call, { executionId, uploads, recording, takeTurn })
        : await repeatCall(deps, call, { keyed, uploads });
    if (accepted.kind === "known") await discardUploads(deps, executionId, uploads);
    else logAccepted(deps, accepted, target);
    timing.mark("record");
    return accepted;
  } catch (error) {
    // When the answer of the database is lost, it may have recorded the execution: then the files may be needed.
    if (!recording.underWay || isRefusedByDatabase(error)) await discardUploads(deps, executionId, uploads);
    throw error;
  }
}

/** The execution that the call's idempotency key belongs to, if there is one. */
async function findKeyed(deps: AppDeps, { workflowId, idempotencyKey }: Authenticated) {
  return idempotencyKey === null ? undefined : findKeyedExecution(deps.db, workflowId, idempotencyKey);
}

async function receive(
  deps: AppDeps,
  { request, kind, target, timing }: Call,
  given: { manifest: Manifest; uploads: Uploads; copies: boolean },
): Promise<ReceivedInputs> {
  const { manifest, uploads, copies } = given;
  const { limits, threads } = deps;
  const keep = keepFor(deps, target, copies);
  const { accountId } = target;
  const received = await receiveInputs(request, { kind, manifest, uploads, limits, keep, threads, accountId });
  timing.mark("receive");
  return received;
}

/**
 * The execution that a repeated call belongs to; 409 when the call has other inputs. They are read by the commit of that
 * execution, so that a commit made meanwhile changes nothing. What that commit would refuse was not sent then.
 */
async function repeatCall(
  deps: AppDeps,
  call: Call,
  { keyed, uploads }: { keyed: KeyedExecution; uploads: Uploads },
): Promise<Accepted> {
  const manifest = keyed.manifest as Manifest;
  try {
    requireSameInputs(keyed, await receive(deps, call, { manifest, uploads, copies: false }), deps.secretBox);
  } catch (error) {
    throw error instanceof InvalidInputsError ? otherInputs(keyed) : error;
  }
  return { kind: "known", executionId: keyed.id, keyed, rates: call.target.rateState };
}

interface Recording {
  readonly executionId: ExecutionId;
  readonly recording: { underWay: boolean };
  readonly takeTurn: TakeTurn;
}

async function recordCall(deps: AppDeps, call: Call, given: Recording & { uploads: Uploads }): Promise<Accepted> {
  const { target, wanted } = call;
  const { executionId, recording, uploads } = given;
  const { manifest, accountId } = target;
  const received = await receive(deps, call, { manifest, uploads, copies: true });
  const fingerprint = target.idempotencyKey === null ? null : fingerprintInputs(manifest, received);
  const apiUrl = deps.apiUrl();
  const receiver = wanted && (await sealReceiver(deps, Object.assign({ accountId, executionId, apiUrl }, wanted)));
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    recording.underWay = true;
    const { acceptance, begin } = await recordAndLead(deps, { ...given, target, received, fingerprint, receiver });
    recording.underWay = false;
    const { rates } = acceptance;
    if (acceptance.kind === "accepted")
      return { kind: "accepted", admitted: acceptance.admitted, rates, executionId, begin };
    if (acceptance.kind === "rate_limited") throw rateLimited(rates, deps.contact);
    if (acceptance.kind === "full") throw tooManyExecutions(target);
    const keyed = await findKeyed(deps, target);
    // Undefined: it was refused meanwhile and has given its key back.
    if (keyed === undefined) continue;
    // Its call was read by another commit, and this one's body is read already.
    if (keyed.commitId !== target.commitId) break;
    requireSameInputs(keyed, received, deps.secretBox);
    return { kind: "known", executionId: keyed.id, keyed, rates };
  }
  throw new ApiError(
    "no_capacity",
    "Another call with this Idempotency-Key is being answered at this moment. Send it again.",
    {},
    { "Retry-After": "1" },
  );
}

interface Recorded extends Recording {
  readonly target: Authenticated;
  readonly received: ReceivedInputs;
  readonly fingerprint: Buffer | null;
  readonly receiver: CallReceiver | undefined;
}

/**
 * Records an execution. Where a slot of this process is free it has that one, and its first attempt is open from then on.
 * Where this process runs no programs it is offered to a host that does.
 */
async function recordAndLead(
  deps: AppDeps,
  given: Recorded,
): Promise<{ readonly acceptance: Acceptance; readonly begin: (() => void) | undefined }> {
  const { executionId, target, takeTurn } = given;
  const { accountId, manifest, runtime } = target;
  const { executions } = deps;
  const headStart = executions.beginsAtOnce(target);
  // One with scratch folders on disk waits for their room, which takes a look at the disk.
  const isFree =
    headStart && manifest.concurrency === null && runtime !== undefined && scratchOnDisk(manifest.limits) === 0;
  const lead = isFree ? executions.lead({ executionId, accountId }) : undefined;
  const offeredTo = isFree && lead === undefined ? executions.chooseHost(target) : undefined;
  const execution = toNewExecution(deps, given, { headStart, claim: lead?.claim, offeredTo });
  let isBegun = false;
  try {
    const accept = (): Promise<Acceptance> => acceptExecution(deps.db, execution, conditionsOf(given));
    const acceptance = await (manifest.concurrency === null ? accept() : takeTurn(target.workflowId, accept));
    if (acceptance.kind !== "accepted" || !acceptance.admitted || !headStart) return { acceptance, begin: undefined };
    isBegun = acceptance.begun;
    const own =
      lead && isBegun && runtime ? { lead, work: toFirstWork(execution, { manifest, ...runtime }) } : undefined;
    const begun = offeredTo === undefined ? own : "offered";
    return { acceptance, begin: () => executions.begin({ executionId, accountId }, target, begun) };
  } finally {
    if (!isBegun) lead?.giveUp();
  }
}

/** What the first attempt of an execution has to know: what a claim would read from the record. */
function toFirstWork(
  execution: NewExecution,
  commit: Pick<ExecutionWork, "manifest" | "environmentKey" | "python">,
): ExecutionWork {
  return {
    executionId: execution.id,
    accountId: execution.accountId,
    workflowId: execution.workflowId,
    commitId: execution.commitId,
    attempt: 1,
    attemptsMax: execution.attemptsMax,
    trigger: execution.trigger,
    tick: null,
    cpu: execution.cpu,
    timeoutSeconds: execution.timeoutSeconds,
    chargeMax: execution.chargeMax,
    draft: false,
    manifest: commit.manifest,
    environmentKey: commit.environmentKey,
    python: commit.python,
    inputs: execution.inputs,
    inputTexts: execution.inputTexts ?? {},
    secretInputs: execution.secretInputs,
    files: execution.files,
    previous: null,
  };
}

function toNewExecution(
  deps: AppDeps,
  { executionId, target, received, receiver }: Recorded,
  lead: Pick<NewExecution, "headStart" | "claim" | "offeredTo">,
): NewExecution {
  const limits = limitsHere(deps, target.manifest);
  const hasSecrets = Object.keys(received.secrets).length > 0;
  return {
    id: executionId,
    accountId: target.accountId,
    workflowId: target.workflowId,
    commitId: target.commitId,
    trigger: target.trigger,
    inputs: received.inputs,
    inputTexts: received.inputTexts,
    secretInputs: hasSecrets ? deps.secretBox.seal(JSON.stringify(received.secrets), executionId) : null,
    timeoutSeconds: limits.timeoutSeconds,
    cpu: limits.cpu,
    attemptsMax: target.manifest.retry.attemptsMax,
    chargeMax: costAtMost(deps, target.manifest),
    acceptedBy: deps.processId,
    files: received.files,
    notifies: tellsOfRuns(target.manifest.notify),
    receiver,
    ...lead,
  };
}

function conditionsOf({ target, fingerprint }: Recorded): Conditions {
  const { concurrency } = target.manifest;
  return {
    idempotency:
      target.idempotencyKey === null || fingerprint === null ? null : { key: target.idempotencyKey, fingerprint },
    rates: target.rates,
    concurrency: concurrency && {
      executionsMax: concurrency.executionsMax,
      waitingMax: concurrency.whenFull === "queue" ? WAITING_MAX : 0,
    },
  };
}

function tooManyExecutions({ manifest: { concurrency } }: Authenticated): ApiError {
  const reason =
    concurrency?.whenFull === "reject"
      ? `As many executions of this workflow are under way as it allows: ${concurrency.executionsMax}.`
      : `${WAITING_MAX} executions of this workflow wait for their turn already.`;
  return new ApiError(
    "too_many_executions",
    `${reason} Nothing was started; send it again in ${RETRY_AFTER_SECONDS} seconds.`,
    {},
    { "Retry-After": String(RETRY_AFTER_SECONDS) },
  );
}

function logAccepted(deps: AppDeps, accepted: Accepted & { kind: "accepted" }, target: Authenticated): void {
  deps.log.info({
    event: "execution.accepted",
    executionId: accepted.executionId,
    workflowId: target.workflowId,
    commitId: target.commitId,
    accountId: target.accountId,
    trigger: target.trigger,
    admitted: accepted.admitted,
  });
}

/** False when the database may have recorded the execution, its answer lost. */
function isRefusedByDatabase(error: unknown): boolean {
  return isPoolExhausted(error) || /^(?!08|57)[0-9A-Z]{5}$/.test(sqlState(error) ?? "");
}

/**
 * Deletes the files of a refused request. Housekeeping finds those that are left a day later, so the caller gets the
 * first problem alone.
 */
async function discardUploads(deps: AppDeps, executionId: ExecutionId, uploads: Uploads): Promise<void> {
  await uploads.discard().catch((error: unknown) => {
    deps.log.warn({ event: "fault", executionId, error }, "The files of a refused request could not be deleted yet.");
  });
}
