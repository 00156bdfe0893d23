import type { Activities } from "../activities/index.ts";
import type { Spool } from "../activities/spool.ts";
import type { Storage } from "../activities/storage/storage.ts";
import type { Db } from "../db/connect.ts";
import { findLastOutcome, listEnded, listKnown, listOpenExecutions, type OpenExecution } from "../db/executions.ts";
import { isExecutionId } from "../domain/ids.ts";
import type { Log } from "./log.ts";
import type { Driver } from "./temporal.ts";

const INTERVAL_MS = 10_000;
const BATCH = 200;
const FAULTS_MAX = 5;
/** An accepted execution is started within milliseconds; one that has not been by now has lost whoever accepted it. */
const OPEN_SECONDS = 20;
/** What a request without an execution left in storage is certainly abandoned by now. */
const ABANDONED_SECONDS = 3_600;

export interface SweeperDeps {
  readonly db: Db;
  readonly driver: Driver;
  readonly activities: Pick<Activities, "settleCredits" | "releaseCredits">;
  readonly spool: Spool;
  readonly storage: Storage;
  readonly log: Log;
}

/** Repairs what no live process can: accepted but never started, ended without saying so, files without an execution. */
export function createSweeper(deps: SweeperDeps) {
  let sweeping: Promise<void> | undefined;

  /** One sweep; a call during one joins it. Every repair is logged. */
  function sweep(options: { openSeconds: number } = { openSeconds: OPEN_SECONDS }): Promise<void> {
    sweeping ??= sweepOnce(deps, options).finally(() => {
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

async function sweepOnce(deps: SweeperDeps, options: { openSeconds: number }): Promise<void> {
  const open = await listOpenExecutions(deps.db, { olderThanSeconds: options.openSeconds, limit: BATCH });
  const faults: unknown[] = [];
  for (const execution of open) {
    await repairOpen(deps, execution).catch((error: unknown) => faults.push(error));
    // One that cannot be repaired must not keep the others; when nothing goes, Temporal or the database is away.
    if (faults.length === FAULTS_MAX) break;
  }
  await removeSpooled(deps);
  if (faults.length > 0)
    throw new AggregateError(faults, `Not every execution was repaired: ${faults.map(String).join(" ")}`);
}

async function repairOpen(deps: SweeperDeps, execution: OpenExecution): Promise<void> {
  const state = await deps.driver.describe(execution.id);
  if (state === "running") return;
  const repaired = (repair: string): void => {
    deps.log.warn({ event: "execution.repaired", executionId: execution.id, repair }, "An execution was repaired.");
  };
  if (state === "gone") {
    await deps.driver.start({ ...execution, executionId: execution.id });
    return repaired("started");
  }
  const outcome = await findLastOutcome(deps.db, execution.id);
  if (outcome?.uploaded) {
    await deps.activities.settleCredits({ executionId: execution.id, ...outcome });
    return repaired("settled");
  }
  await deps.activities.releaseCredits({
    executionId: execution.id,
    cause: state === "terminated" ? "terminated" : "internal",
  });
  repaired("released");
}

async function removeSpooled(deps: SweeperDeps): Promise<void> {
  const spooled = await deps.spool.list();
  const ended = new Set(await listEnded(deps.db, spooled));
  for (const executionId of spooled) if (ended.has(executionId)) await deps.spool.remove(executionId);
}

/**
 * Deletes files of requests that never became an execution: their process died between storing and recording.
 * Called at start, because only then nothing younger than the process can be under way here.
 */
export async function removeAbandonedUploads(deps: Pick<SweeperDeps, "db" | "storage" | "log">): Promise<number> {
  const byExecution = new Map<string, string[]>();
  for await (const key of deps.storage.list("executions/")) {
    const id = key.split("/")[1];
    if (id !== undefined && isExecutionId(id)) byExecution.set(id, [...(byExecution.get(id) ?? []), key]);
  }
  const known = new Set<string>(await listKnown(deps.db, [...byExecution.keys()]));
  let removed = 0;
  for (const [id, keys] of byExecution) {
    for (const key of known.has(id) ? [] : keys) {
      const head = await deps.storage.head(key);
      if (head === undefined || Date.now() - head.modifiedAt.getTime() < ABANDONED_SECONDS * 1000) continue;
      await deps.storage.delete(key);
      removed += 1;
    }
  }
  if (removed > 0)
    deps.log.warn(
      { event: "execution.repaired", repair: "uploads removed", removed },
      "Abandoned uploads were removed.",
    );
  return removed;
}
