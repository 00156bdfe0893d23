import type { Activities, createActivities } from "../activities/index.ts";
import type { Spool } from "../activities/spool.ts";
import type { Db } from "../db/connect.ts";
import { releaseStrayHolds } from "../db/credits/audit.ts";
import {
  findLastOutcome,
  findStartable,
  isRunning,
  type LongOpenExecution,
  listEnded,
  listOpenExecutions,
  requestCancel,
} from "../db/executions.ts";
import { giveLease, type Lease, takeLease } from "../db/leases.ts";
import { countRepairs, type Repair } from "../db/repairs.ts";
import type { Stranded } from "../db/stranded.ts";
import { toCredits } from "../domain/credits.ts";
import type { ExecutionId } from "../domain/ids.ts";
import type { Log } from "./log.ts";
import { createStrandedWatch } from "./stranded.ts";
import type { Driver, DriverState } from "./temporal.ts";

const INTERVAL_MS = 10_000;
const PAGE = 200;
/** Temporal serves callers, too. */
const CALLS_MAX = 8;
const FAULTS_MAX = 5;
/** An accepted execution is started within milliseconds; one that has not been by now has lost whoever accepted it. */
const OPEN_SECONDS = 20;
/** Far more than a page takes; after that long another process takes over from one that died. */
const LEASE_SECONDS = 60;
const STRAY_HOLDS_EVERY_MS = 60_000;

export interface SweeperDeps {
  readonly db: Db;
  readonly driver: Driver;
  readonly activities: Pick<Activities, "settleCredits" | "releaseCredits">;
  readonly keeping: ReturnType<typeof createActivities>["keeping"];
  readonly spool: Spool;
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

  const timer = setInterval(() => {
    sweep().catch((error: unknown) =>
      deps.log.warn({ event: "fault", error }, "A sweep failed; the next one tries again."),
    );
  }, INTERVAL_MS).unref();

  return {
    sweep,
    async close() {
      clearInterval(timer);
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
  const faults: unknown[] = [];
  // None of them keeps the others: a spool on a full disk, say, no execution.
  for (const task of [
    () => lookForStrayHolds(deps, openSeconds, lastLook),
    () => sweepWhatIsOpen(deps, openSeconds),
    () => removeSpooled(deps),
  ])
    await task().catch((error: unknown) => faults.push(error));
  if (faults.length === 1) throw faults[0];
  if (faults.length > 1) throw new AggregateError(faults, faults.map(String).join(" "));
}

async function sweepWhatIsOpen(deps: SweepDeps, openSeconds: number): Promise<void> {
  // Nothing is written where nothing is open.
  const open = await listOpenExecutions(deps.db, { olderThanSeconds: openSeconds, limit: 1 });
  const lease: Lease = { name: "sweep", holder: deps.processId };
  if (open.length === 0 || !(await takeLease(deps.db, { ...lease, seconds: LEASE_SECONDS }))) return;
  try {
    const onEnded = ({ id, hostId }: Stranded): Promise<void> =>
      report(deps, "stranded", { executionId: id, hostId }, "An execution waited for a host that is gone.");
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
  const faults: unknown[] = [];
  let looks = 0;
  // When nothing goes, Temporal or the database is away.
  const isHopeless = (): boolean => faults.length >= FAULTS_MAX && faults.length === looks;
  const look = async (execution: LongOpenExecution): Promise<void> => {
    if (isHopeless()) return;
    await repairOpen(deps, execution).catch((error: unknown) => faults.push(error));
    looks += 1;
  };
  for (let after: ExecutionId | undefined, isLast = false; !isLast && !isHopeless(); ) {
    const page = await listOpenExecutions(deps.db, { olderThanSeconds: openSeconds, limit: PAGE, after });
    await forEach(page, CALLS_MAX, look);
    after = page.at(-1)?.id;
    isLast = page.length < PAGE || !(await takeLease(deps.db, { ...lease, seconds: LEASE_SECONDS }));
  }
  if (faults.length > 0) {
    const told = faults.slice(0, FAULTS_MAX);
    throw new AggregateError(told, `${faults.length} executions were not repaired: ${told.map(String).join(" ")}`);
  }
}

/** Does something with each item, so many of them at a time. */
async function forEach<Item>(
  items: readonly Item[],
  atOnce: number,
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const takeNext = async (): Promise<void> => {
    for (const item of left) await act(item);
  };
  await Promise.all(Array.from({ length: atOnce }, takeNext));
}

async function repairOpen(deps: SweeperDeps, execution: LongOpenExecution): Promise<void> {
  const { id: executionId } = execution;
  const state = await deps.driver.describe(executionId);
  if (state === "running") return;
  // It may have come to its end, as it should, between the two looks: the record is written before Temporal hears of it.
  if ((await findStartable(deps.db, executionId)) === undefined) return;
  const repair = await repairOne(deps, execution, state);
  if (repair === undefined) return;
  await report(deps, repair, { executionId }, "An execution was repaired.");
}

async function repairOne(
  deps: SweeperDeps,
  execution: LongOpenExecution,
  state: Exclude<DriverState, "running">,
): Promise<Repair | undefined> {
  const { id: executionId } = execution;
  if (state === "gone") {
    await deps.driver.start({ ...execution, executionId });
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
  const faults: unknown[] = [];
  for (const executionId of spooled) {
    if (!ended.has(executionId)) continue;
    // What a program wrote whose execution was ended from outside, or given up, is kept all the same. None keeps the others.
    await deps.keeping
      .keepLog(executionId)
      .then(() => deps.spool.remove(executionId))
      .catch((error: unknown) => faults.push(error));
  }
  if (faults.length > 0) throw new AggregateError(faults, `${faults.length} spool folders could not be removed.`);
}
