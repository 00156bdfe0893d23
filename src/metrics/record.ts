import { Counter, Gauge, type Registry } from "prom-client";
import type { Db } from "../../db/connect.ts";
import { findKeptFaults, sumKeptBytes } from "../../db/executions/kept-bytes.ts";
import { findRepairCounts, REPAIRS } from "../../db/executions/repairs.ts";
import { findSmallObjectFigures } from "../../db/executions/small-objects.ts";
import { findStartBacklog } from "../../db/executions/workflow-starts.ts";
import { findOpenFigures } from "../../db/figures.ts";
import { findMoneyFaults } from "../../db/ledger/audit.ts";
import { countScheduleChanges } from "../../db/schedules/changes.ts";
import { withTimeout } from "../../system/with-timeout.ts";

const CACHE_MS = 2_000;
const DATABASE_MS_MAX = 2_000;
/** The money is added up anew this often, and never for more than a thousandth of the time: it reads whole tables. */
const AUDIT_EVERY_MS = 600_000;
const AUDIT_REST_FACTOR = 1_000;
/** Where the tables are small, the first caller gets them already. */
const AUDIT_PATIENCE_MS = 500;
const FAULT_KINDS = ["balance", "reserved", "reservation", "settlement", "days", "kept"] as const;

/**
 * Figures of the whole installation, read from the database on request: every process reports the same. While the
 * database does not answer, those of executions are left out, and the others are the last known.
 */
export function createRecordFigures({ db, registry }: { db: Db; registry: Registry }) {
  const showOpen = createOpenGauges(registry);
  const showRepairs = createRepairCounter(registry);
  const showChanges = createChangeGauges(registry);
  const showStarts = createStartGauges(registry);
  const showSmallObjects = createSmallObjectGauges(registry);
  const audit = createAudit(db, registry);
  const kept = new Gauge({
    name: "treadle_kept_bytes",
    help: "Files and logs of executions that all accounts keep",
    registers: [registry],
  });
  let shownAt = Number.NEGATIVE_INFINITY;

  async function show(): Promise<void> {
    const [open, repairs, changes, bytes, starts, smallObjects] = await Promise.allSettled([
      answerOf(findOpenFigures(db)),
      answerOf(findRepairCounts(db)),
      answerOf(countScheduleChanges(db)),
      answerOf(sumKeptBytes(db)),
      answerOf(findStartBacklog(db)),
      answerOf(findSmallObjectFigures(db)),
    ]);
    showOpen(open.status === "fulfilled" ? open.value : undefined);
    if (repairs.status === "fulfilled") showRepairs(repairs.value);
    if (changes.status === "fulfilled") showChanges(changes.value);
    if (starts.status === "fulfilled") showStarts(starts.value);
    if (smallObjects.status === "fulfilled") showSmallObjects(smallObjects.value);
    if (bytes.status === "fulfilled") kept.set(bytes.value);
    if (open.status === "fulfilled")
      await withTimeout(audit(), AUDIT_PATIENCE_MS, () => undefined).catch(() => undefined);
  }

  /** Never rejects. Frequent requests do not read the database often. */
  return async (): Promise<void> => {
    if (performance.now() - shownAt < CACHE_MS) return;
    shownAt = performance.now();
    await show();
  };
}

function createOpenGauges(registry: Registry) {
  const registers = [registry];
  const open = new Gauge({
    name: "treadle_open_executions",
    help: "Executions of the installation that have not ended: waiting for others of their workflow, queued, running",
    labelNames: ["state"],
    registers,
  });
  const oldest = new Gauge({
    name: "treadle_oldest_execution_seconds",
    help: "Since the oldest open execution was let in, and the oldest that waits for its turn was accepted; 0 without one",
    labelNames: ["state"],
    registers,
  });
  return (figures: Awaited<ReturnType<typeof findOpenFigures>> | undefined): void => {
    open.reset();
    oldest.reset();
    if (figures === undefined) return;
    for (const state of ["waiting", "queued", "running"] as const) open.set({ state }, figures[state]);
    oldest.set({ state: "waiting" }, figures.oldestWaitingSeconds);
    oldest.set({ state: "open" }, figures.oldestOpenSeconds);
  };
}

function createRepairCounter(registry: Registry) {
  const counter = new Counter({
    name: "treadle_repairs_total",
    help: "What the sweeper had to put right, in the installation since there is one",
    labelNames: ["repair"],
    registers: [registry],
  });
  for (const repair of REPAIRS) counter.inc({ repair }, 0);
  return (counts: Awaited<ReturnType<typeof findRepairCounts>>): void => {
    counter.reset();
    for (const repair of REPAIRS) counter.inc({ repair }, counts[repair]);
  };
}

function createChangeGauges(registry: Registry) {
  const registers = [registry];
  const waiting = new Gauge({
    name: "treadle_schedule_changes_waiting",
    help: "Changes of schedules that Temporal was not told yet",
    registers,
  });
  const oldest = new Gauge({
    name: "treadle_schedule_changes_oldest_seconds",
    help: "Since the oldest of them was committed; 0 without one",
    registers,
  });
  return ({ count, oldestSeconds }: Awaited<ReturnType<typeof countScheduleChanges>>): void => {
    waiting.set(count);
    oldest.set(oldestSeconds);
  };
}

function createStartGauges(registry: Registry) {
  const registers = [registry];
  const waiting = new Gauge({
    name: "treadle_workflow_starts_waiting",
    help: "Executions that were begun and that Temporal has yet to learn of",
    registers,
  });
  const oldest = new Gauge({
    name: "treadle_workflow_starts_oldest_seconds",
    help: "Since the oldest of them was accepted; 0 without one",
    registers,
  });
  return ({ count, ageSeconds }: Awaited<ReturnType<typeof findStartBacklog>>): void => {
    waiting.set(count);
    oldest.set(ageSeconds);
  };
}

function createSmallObjectGauges(registry: Registry) {
  const registers = [registry];
  const oldest = new Gauge({
    name: "treadle_small_objects_oldest_seconds",
    help: "Since the oldest output or log that the database keeps still was recorded; 0 without one",
    registers,
  });
  const bytes = new Gauge({
    name: "treadle_small_objects_bytes",
    help: "The size of the table of outputs and logs on their way to storage",
    registers,
  });
  return (figures: Awaited<ReturnType<typeof findSmallObjectFigures>>): void => {
    oldest.set(figures.oldestSeconds);
    bytes.set(figures.bytes);
  };
}

/** Adds the money up when it is time to, one audit at a time; resolves with the one under way, or at once. */
function createAudit(db: Db, registry: Registry): () => Promise<void> {
  const registers = [registry];
  const drift = new Gauge({
    name: "treadle_ledger_drift_accounts",
    help: "Accounts of which two amounts differ that should be one, by the last audit",
    labelNames: ["what"],
    registers,
  });
  const auditedAt = new Gauge({
    name: "treadle_ledger_audit_timestamp_seconds",
    help: "When the money was added up last by this process; 0: not yet",
    registers,
  });
  let nextAt = Number.NEGATIVE_INFINITY;
  let underWay: Promise<void> | undefined;

  async function look(): Promise<void> {
    const since = performance.now();
    nextAt = since + AUDIT_EVERY_MS;
    const faults: { readonly accountId: string; readonly what: string }[] = await findMoneyFaults(db);
    faults.push(...(await findKeptFaults(db)).map(({ accountId }) => ({ accountId, what: "kept" })));
    nextAt = performance.now() + Math.max(AUDIT_EVERY_MS, (performance.now() - since) * AUDIT_REST_FACTOR);
    for (const what of FAULT_KINDS) {
      const accounts = faults.filter((fault) => fault.what.split(" ")[0] === what).map((fault) => fault.accountId);
      drift.set({ what }, new Set(accounts).size);
    }
    auditedAt.setToCurrentTime();
  }

  return () => {
    if (underWay === undefined && performance.now() >= nextAt)
      underWay = look().finally(() => {
        underWay = undefined;
      });
    return underWay ?? Promise.resolve();
  };
}

function answerOf<Value>(promise: Promise<Value>): Promise<Value> {
  return withTimeout(promise, DATABASE_MS_MAX, () => {
    throw new Error(`No answer within ${DATABASE_MS_MAX} ms.`);
  });
}
