import type { Db } from "../db/connect.ts";
import {
  acceptExecution,
  type Conditions,
  type NewExecution,
  type StartedTick,
  WAITING_MAX,
} from "../db/executions/acceptance.ts";
import { requestCancel } from "../db/executions/executions.ts";
import { isStorageFull } from "../db/executions/kept-bytes.ts";
import { recordRefusedExecution } from "../db/executions/refused.ts";
import { releaseAll } from "../db/ledger/credits.ts";
import type { TickGround, TickTarget } from "../db/schedules/ticks.ts";
import { chargeMax, microCredits, type Prices } from "../domain/credits.ts";
import type { ExecutionId } from "../domain/ids.ts";
import { limitsWithin, type ManifestBounds } from "../domain/manifest/bounds.ts";
import { findJsonTexts, flattenBody, parseInputs, splitBody } from "../domain/manifest/inputs.ts";
import type { JsonObject } from "../domain/manifest/json-values.ts";
import type { Manifest, Overlap } from "../domain/manifest/manifest.ts";
import { listFedInputs } from "../domain/manifest/named-values.ts";
import { tellsOfRuns } from "../domain/manifest/notify.ts";
import { findDeclaredSchedule, MAIN_SCHEDULE, type ScheduleRef } from "../domain/schedules/names.ts";
import { decideOverlap, QUEUED_TICKS_MAX } from "../domain/schedules/overlap.ts";
import { resolvePayload, type TickTimes } from "../domain/schedules/tick-values.ts";
import type { TickOutcome } from "../domain/schedules/ticks.ts";
import type { LedExecution, RunCommit } from "./lead.ts";

/** Who is noted as having asked when a tick cancels the executions before it. */
const CANCELLED_BY = "schedule";

export interface DecisionDeps {
  readonly prices: Prices;
  /** What a manifest may ask for; `DEFAULT_BOUNDS` unless given. */
  readonly bounds?: ManifestBounds;
  /** How many bytes an account may keep with which nothing else was agreed; 0: any number. */
  readonly keptBytesMax: number;
  /** The process that accepts, for the record. */
  readonly processId: string;
  readonly createExecutionId: () => ExecutionId;
  /** Begins executions before Temporal knows of them. Absent: Temporal starts each. */
  readonly headStart?: TickHeadStart | undefined;
}

export interface TickHeadStart {
  /** Whether an execution of a commit would begin now. It is recorded with `headStart` then. */
  beginsAtOnce(execution: LedExecution, commit: RunCommit): boolean;
  /** Begins one that was recorded so. Resolves when it has ended, or is left to its workflow; never rejects. */
  begin(execution: LedExecution, commit: RunCommit): Promise<void>;
}

/** What became of a tick that may start. `admitted`: its execution is to be started now. */
export interface Decision {
  readonly outcome: TickOutcome;
  readonly reason: string;
  readonly executionId: ExecutionId | null;
  readonly admitted: boolean;
  /** Set where it was recorded with `headStart`, and is to be begun now. */
  readonly begins?: { readonly execution: LedExecution; readonly commit: RunCommit } | undefined;
}

/** Takes back what its transaction wrote: another firing has recorded the tick. */
export class RecordedMeanwhile extends Error {
  override readonly name = "RecordedMeanwhile";

  constructor() {
    super("Another firing recorded the tick at the same time.");
  }
}

/**
 * Starts the execution for a tick, with the payload of the workflow's latest commit, and records the tick with it. Returns a refusal
 * when the account lacks credits, the workflow is at its concurrency limit, or the overlap policy blocks it: that the caller records.
 * Ticks of the clock wait only for ticks of the clock, and backfills only for backfills. In the caller's transaction, who has locked
 * the schedule. Throws RecordedMeanwhile.
 */
export async function decideTick(
  tx: Db,
  deps: DecisionDeps,
  given: Required<ScheduleRef> & {
    readonly overlap: Overlap;
    readonly ground: TickGround;
    readonly tick: StartedTick;
  },
): Promise<Decision> {
  const { workflowId, overlap, ground, tick } = given;
  const execution = describeExecution(deps, { ...given, target: ground.target });
  if (typeof execution === "string") return ended("no_commit", execution);
  const { available, manifest, kept } = ground.target as TickTarget;
  if (available < execution.chargeMax) {
    await recordRefusedExecution(tx, execution, { available: microCredits(available) });
    return {
      ...ended("refused_credits", "The account had too few credits when the schedule was due."),
      executionId: execution.id,
    };
  }
  if (isStorageFull(kept, deps.keptBytesMax))
    return ended("refused_storage", "The account kept as many bytes as it may.");
  const refusal = await makeRoom(tx, overlap, ground);
  if (refusal !== undefined) return ended("skipped_overlap", refusal);
  const { concurrency } = manifest as Manifest;
  const led = { executionId: execution.id, accountId: execution.accountId };
  const commit = { workflowId, commitId: execution.commitId, manifest: manifest as Manifest };
  const headStart = deps.headStart?.beginsAtOnce(led, commit) === true;
  const acceptance = await acceptExecution(
    tx,
    { ...execution, headStart, tick },
    conditionsOf(concurrency, overlap, tick),
  );
  if (acceptance.kind === "accepted") {
    if (!acceptance.recorded) throw new RecordedMeanwhile();
    const { admitted } = acceptance;
    const begins = headStart && admitted ? { execution: led, commit } : undefined;
    return { outcome: "started", reason: "", executionId: execution.id, admitted, begins };
  }
  const most = concurrency?.executionsMax ?? 0;
  return ended("refused_concurrency", `As many executions of the workflow were under way as it allows: ${most}.`);
}

function ended(outcome: TickOutcome, reason: string): Decision {
  return { outcome, reason, executionId: null, admitted: false };
}

function conditionsOf(
  concurrency: Manifest["concurrency"],
  overlap: Overlap,
  { source }: Pick<StartedTick, "source">,
): Conditions {
  return {
    idempotency: null,
    rates: { key: null, account: null },
    concurrency: concurrency && {
      executionsMax: concurrency.executionsMax,
      waitingMax: concurrency.whenFull === "queue" ? WAITING_MAX : 0,
    },
    follows: overlap !== "allow",
    backfilled: source === "backfill",
  };
}

/** The execution that a tick begins, or why the latest commit has none. */
function describeExecution(
  deps: DecisionDeps,
  given: Required<ScheduleRef> & { readonly target: TickTarget | undefined; readonly tick: TickTimes },
): NewExecution | string {
  const { workflowId, scheduleName, target, tick } = given;
  const manifest = target?.manifest as Manifest | null | undefined;
  if (target === undefined) return "The workflow was deleted.";
  if (target.commitId === null || !manifest) return "The workflow had no commit.";
  const schedule = findDeclaredSchedule(manifest, scheduleName);
  if (schedule === undefined)
    return `The latest commit declared no schedule${scheduleName === MAIN_SCHEDULE ? "" : ` ${scheduleName}`}.`;
  const { payload, payloadText = "" } = resolvePayload(schedule, tick);
  // The worker has their values when an attempt begins.
  const fed = listFedInputs(manifest.inputs, payload);
  const declared = { inputs: manifest.inputs.filter(({ name }) => !fed.has(name)) };
  const parsed = parseInputs(declared, leaveOut(flattenBody(manifest, payload) as JsonObject, fed));
  if (!parsed.ok) {
    const [problem] = parsed.problems;
    return `The latest commit's payload is not valid: ${problem?.input}: ${problem?.message}`;
  }
  const limits = limitsWithin(manifest.limits, deps.bounds);
  return {
    id: deps.createExecutionId(),
    accountId: target.accountId,
    workflowId,
    commitId: target.commitId,
    trigger: "schedule",
    scheduleName: scheduleName === MAIN_SCHEDULE ? undefined : scheduleName,
    inputs: parsed.inputs,
    inputTexts: findJsonTexts(manifest, parsed.inputs, splitBody(manifest, payload, payloadText)),
    // A payload holds none: it may name them.
    secretInputs: null,
    timeoutSeconds: limits.timeoutSeconds,
    cpu: limits.cpu,
    attemptsMax: manifest.retry.attemptsMax,
    chargeMax: chargeMax(limits, deps.prices),
    acceptedBy: deps.processId,
    files: [],
    notifies: tellsOfRuns(manifest.notify),
  };
}

function leaveOut(payload: JsonObject, names: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries(Object.entries(payload).filter(([name]) => !names.has(name)));
}

/** Does with the executions of earlier ticks what the policy says. Answers why the tick must be skipped for them, if it must. */
async function makeRoom(
  tx: Db,
  overlap: Overlap,
  { underWay, waiting }: Pick<TickGround, "underWay" | "waiting">,
): Promise<string | undefined> {
  if (overlap === "allow") return undefined;
  const decision = decideOverlap(overlap, { executions: underWay, queuedCount: waiting.length });
  if (decision.kind === "skip") {
    return overlap === "queue"
      ? `${QUEUED_TICKS_MAX} earlier ticks were waiting already.`
      : `${underWay[0] ?? waiting[0]} of an earlier tick was still under way.`;
  }
  if (decision.kind === "cancel") await cancelEarlier(tx, { waiting, underWay });
  return undefined;
}

/** Accounts are locked before executions, as everywhere: so what waits is ended first. */
async function cancelEarlier(
  tx: Db,
  { waiting, underWay }: { waiting: readonly ExecutionId[]; underWay: readonly ExecutionId[] },
): Promise<void> {
  const message = "Cancelled before it ran: the next tick of its schedule came.";
  if (waiting.length > 0) {
    await releaseAll(
      tx,
      waiting.map((executionId) => ({ executionId, status: "cancelled", failure: null, message })),
    );
  }
  for (const id of underWay) await requestCancel(tx, id, CANCELLED_BY);
}
