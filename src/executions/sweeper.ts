import type { Activities, createActivities } from "../../activities/index.ts";
import type { Spool } from "../../activities/spool.ts";
import type { Db } from "../../db/connect.ts";
import {
  findLastOutcome,
  findStartable,
  isRunning,
  type LongOpenExecution,
  listEnded,
  listOpenExecutions,
  requestCancel,
} from "../../db/executions/executions.ts";
import { countRepairs, type Repair } from "../../db/executions/repairs.ts";
import type { Stranded } from "../../db/executions/stranded.ts";
import { giveLease, type Lease, takeLease } from "../../db/leases.ts";
import { releaseStrayHolds } from "../../db/ledger/audit.ts";
import { toCredits } from "../../domain/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { forEachAtOnce } from "../../system/at-once.ts";
import { repeat } from "../../system/repeating.ts";
import type { Log } from "../log.ts";
import type { TemporalClient, WorkflowState } from "../temporal/client.ts";
import { createStrandedWatch } from "./stranded.ts";

const INTERVAL_MS = 10_000;
const PAGE = 200;
/** Temporal serves callers, too. */
const CALLS_MAX = 8;
const ERRORS_MAX = 5;
/**
 * An accepted execution is started within milliseconds; one that has not been by now has lost the process that accepted
 * it.
 */
const OPEN_SECONDS = 20;
/** Far more than a page takes; after that long another process takes over from one that died. */
const LEASE_SECONDS = 60;
const STRAY_HOLDS_EVERY_MS = 60_000;

export interface SweeperDeps {
  readonly db: Db;
  readonly temporalClient: TemporalClient;
  readonly activities: Pick<Activities, "settleCredits" | "releaseCredits">;
  readonly keeping: ReturnType<typeof createActivities>["keeping"];
  readonly spool: Spool;
  /** The host of this process. */
  readonly hostId: string;
  readonly processId: string;
  /** After how long without a process a host is given up. */
  readonly hostGoneSeconds: number;
  readonly log: Log;
}

interface SweepOptions {
  readonly openSeconds: number;
}

/**
 * Repairs what no live process can: accepted but never started, ended without saying so, credits held for nothing. Of all
 * processes one does so at a time. Every repair is logged and counted.
 */
export function createSweeper(deps: SweeperDeps) {
  let sweeping: Promise<void> | undefined;
  const lastLook = { strayHoldsAt: Number.NEGATIVE_INFINITY };
  const watchStranded = createStrandedWatch(deps.hostGoneSeconds);

  /** One sweep; a call during one joins it. */
  function sweep(options: SweepOptions = { openSeconds: OPEN_SECONDS }): Promise<void> {
    sweeping ??= sweepOnce({ ...deps, watchStranded }, options, lastLook).finally(() => {
      sweeping = undefined;
    });
    return sweeping;
  }

  const repeating = repeat(() => sweep(), {
    everyMs: INTERVAL_MS,
    first: "later",
    onError: (error) => deps.log.warn({ event: "fault", error }, "A sweep failed; the next one tries again."),
  });

  return {
    sweep,
    async close() {
      await repeating.close();
      await sweeping?.catch(() => undefined);
    },
  };
}

type SweepDeps = SweeperDeps & { readonly watchStranded: ReturnType<typeof createStrandedWatch> };

async function sweepOnce(
  deps: SweepDeps,
  { openSeconds }: SweepOptions,
  lastLook: { strayHoldsAt: number },
): Promise<void> {
  const errors: unknown[] = [];
  // None of them keeps the others: a spool on a full disk, say, no execution.
  for (const task of [
    () => lookForStrayHolds(deps, openSeconds, lastLook),
    () => sweepWhatIsOpen(deps, openSeconds),
    () => removeSpooled(deps),
  ])
    await task().catch((error: unknown) => errors.push(error));
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, errors.map(String).join(" "));
}

async function sweepWhatIsOpen(deps: SweepDeps, openSeconds: number): Promise<void> {
  // Nothing is written where nothing is open.
  const open = await listOpenExecutions(deps.db, { olderThanSeconds: openSeconds, limit: 1 });
  const lease: Lease = { name: "sweep", holder: deps.processId };
  if (open.length === 0 || !(await takeLease(deps.db, { ...lease, seconds: LEASE_SECONDS }))) return;
  try {
    const onEnded = (execution: Stranded): Promise<void> => reportStranded(deps, execution);
    const onRepeated = (executionId: ExecutionId): Promise<void> =>
      report(deps, "repeated", { executionId }, "An execution is run again: its outputs are on a host that is gone.");
    try {
      await deps.watchStranded({ ...deps, onEnded, onRepeated });
    } finally {
      await sweepOpen(deps, lease, openSeconds);
    }
  } finally {
    await giveLease(deps.db, lease);
  }
}

/** All open executions, page by page. One that cannot be repaired keeps none of the others. */
async function sweepOpen(deps: SweeperDeps, lease: Lease, openSeconds: number): Promise<void> {
  const errors: unknown[] = [];
  let looks = 0;
  // When nothing goes, Temporal or the database is away.
  const isHopeless = (): boolean => errors.length >= ERRORS_MAX && errors.length === looks;
  const look = async (execution: LongOpenExecution): Promise<void> => {
    if (isHopeless()) return;
    await repairOpen(deps, execution).catch((error: unknown) => errors.push(error));
    looks += 1;
  };
  for (let after: ExecutionId | undefined, isLast = false; !isLast && !isHopeless(); ) {
    const page = await listOpenExecutions(deps.db, { olderThanSeconds: openSeconds, limit: PAGE, after });
    await forEachAtOnce(page, CALLS_MAX, look);
    after = page.at(-1)?.id;
    isLast = page.length < PAGE || !(await takeLease(deps.db, { ...lease, seconds: LEASE_SECONDS }));
  }
  if (errors.length > 0) {
    const reported = errors.slice(0, ERRORS_MAX);
    throw new AggregateError(
      reported,
      `${errors.length} executions were not repaired: ${reported.map(String).join(" ")}`,
    );
  }
}

async function repairOpen(deps: SweeperDeps, execution: LongOpenExecution): Promise<void> {
  const { id: executionId } = execution;
  const state = await deps.temporalClient.describe(executionId);
  if (state === "running") return;
  // It may have ended normally between the two checks: the record is written before Temporal knows.
  if ((await findStartable(deps.db, executionId)) === undefined) return;
  const repair = await repairOne(deps, execution, state);
  if (repair === undefined) return;
  await report(deps, repair, { executionId }, "An execution was repaired.");
}

async function repairOne(
  deps: SweeperDeps,
  execution: LongOpenExecution,
  state: Exclude<WorkflowState, "running">,
): Promise<Repair | undefined> {
  const { id: executionId } = execution;
  if (state === "gone") {
    await deps.temporalClient.start({ ...execution, executionId });
    return execution.begun ? "restarted" : "started";
  }
  if (state === "terminated" && (await isRunning(deps.db, executionId))) {
    // Its program ends as cancelled, with its log and what it used; the process that runs it settles it.
    await requestCancel(deps.db, executionId, "temporal");
    return undefined;
  }
  const outcome = await findLastOutcome(deps.db, executionId);
  if (outcome !== undefined && (outcome.uploaded || (await isUploadedHere(deps, executionId)))) {
    await deps.activities.settleCredits({ executionId, ...outcome });
    return "settled";
  }
  // Its own process is most likely about to settle it.
  if (state === "terminated" && outcome?.isFresh === true) return undefined;
  await deps.activities.releaseCredits({ executionId, cause: state === "terminated" ? "terminated" : "internal" });
  return state === "completed" ? "released" : state;
}

/** Whether the outputs could be stored now, which takes the host that made them. Nobody else does it when its workflow has ended. */
async function isUploadedHere({ keeping, log }: SweeperDeps, executionId: ExecutionId): Promise<boolean> {
  return keeping.upload(executionId).then(
    ({ kind }) => kind === "uploaded",
    (error: unknown) => {
      log.warn({ event: "execution.fault", executionId, error }, "Outputs could not be stored.");
      return false;
    },
  );
}

async function lookForStrayHolds(
  deps: SweeperDeps,
  olderThanSeconds: number,
  lastLook: { strayHoldsAt: number },
): Promise<void> {
  if (performance.now() - lastLook.strayHoldsAt < STRAY_HOLDS_EVERY_MS) return;
  lastLook.strayHoldsAt = performance.now();
  for (const { amount, ...hold } of await releaseStrayHolds(deps.db, { olderThanSeconds })) {
    const freed = { ...hold, credits: toCredits(amount) };
    await report(deps, "reservation_released", freed, "Credits that were held for no execution were freed.");
  }
}

/** Logs and counts the end of an execution that waited for a host that is gone. */
export function reportStranded(deps: Pick<SweeperDeps, "db" | "log">, { id, hostId }: Stranded): Promise<void> {
  return report(
    deps,
    "stranded",
    { executionId: id, hostId },
    "An execution was ended that waited for a host that is gone.",
  );
}

/** A repair that cannot be counted has been made all the same. */
async function report(
  { db, log }: Pick<SweeperDeps, "db" | "log">,
  repair: Repair,
  what: Readonly<Record<string, unknown>>,
  words: string,
): Promise<void> {
  log.warn({ event: "execution.repaired", repair, ...what }, words);
  await countRepairs(db, repair);
}

async function removeSpooled(deps: SweeperDeps): Promise<void> {
  const spooled = await deps.spool.list();
  const ended = new Set(await listEnded(deps.db, spooled));
  const errors: unknown[] = [];
  for (const executionId of spooled) {
    if (!ended.has(executionId)) continue;
    // What a program wrote whose execution was ended from outside, or given up, is kept all the same. None keeps the others.
    await deps.keeping
      .keepLog(executionId)
      .then(() => deps.keeping.dropUnrecorded(executionId))
      .then(() => deps.spool.remove(executionId))
      .catch((error: unknown) => errors.push(error));
  }
  if (errors.length > 0) throw new AggregateError(errors, `${errors.length} spool folders could not be removed.`);
}
