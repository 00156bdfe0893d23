import { statfs } from "node:fs/promises";
import { Counter, collectDefaultMetrics, Gauge, type Registry } from "prom-client";
import { type Db, readPool } from "../../db/connect.ts";
import type { EndedExecutions } from "./ended.ts";
import type { Readiness } from "./readiness.ts";
import { createRecordFigures } from "./record.ts";

/** The histogram of the event loop's delay wakes the process this often. At the default of 10 ms that was most of its wake-ups when idle. */
const EVENT_LOOP_LOOK_MS = 250;

export interface MetricSources {
  readonly registry: Registry;
  readonly db: Db;
  readonly endedExecutions: Pick<EndedExecutions, "count">;
  readonly readiness: () => Promise<Readiness>;
  readonly waitingCalls: () => number;
  readonly waitingCallsMax: number;
  readonly programsRunning: () => number;
  readonly programsWaiting: () => number;
  /** Programs that may run at once on this host. */
  readonly programsMax: number;
  /** Programs run so far, by the way they were started. */
  readonly programsByPath: () => Readonly<Record<string, number>>;
  readonly lanes: () => { readonly lanes: number; readonly bytes: number; readonly evicted: number };
  /** What this process removed because it was older than it is kept, by what it is. */
  readonly removed: () => Readonly<Record<string, number>>;
  readonly dataDir: string;
  readonly build: { readonly version: string; readonly node: string; readonly role: string };
}

/**
 * What Prometheus can ask of a process. Labels are closed lists; ids never are labels. Nearly all is looked up when it is
 * asked for, so that a process that nobody watches does nothing for it.
 */
export function createMetrics(sources: MetricSources): { read: () => Promise<string> } {
  const { registry } = sources;
  collectDefaultMetrics({ register: registry, prefix: "treadle_", eventLoopMonitoringPrecision: EVENT_LOOP_LOOK_MS });
  // Gauges with the name of a counter. Those by type tell more and stay.
  for (const what of ["handles", "requests", "resources"])
    registry.removeSingleMetric(`treadle_nodejs_active_${what}_total`);
  addProcess(sources);
  addPrograms(sources);
  const showReadiness = createReadinessGauge(sources);
  const showDisk = createDiskGauges(sources);
  const showRecord = createRecordFigures(sources);
  return {
    async read() {
      await Promise.all([
        showReadiness(),
        showDisk(),
        showRecord(),
        // Those that cannot be looked up now are counted later.
        sources.endedExecutions.count().catch(() => undefined),
      ]);
      return registry.metrics();
    },
  };
}

type AddGauge = (name: string, help: string, read: () => number) => void;

function gaugesOf(registry: Registry): AddGauge {
  return (name, help, read) => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
}

/** One that something else counts; its labels are that one's names. */
function addCounter(
  registry: Registry,
  { name, help, label }: { name: string; help: string; label: string | undefined },
  read: () => Readonly<Record<string, number>>,
): void {
  new Counter({
    name,
    help,
    labelNames: label === undefined ? [] : [label],
    registers: [registry],
    collect() {
      this.reset();
      for (const [value, count] of Object.entries(read()))
        this.inc(label === undefined ? {} : { [label]: value }, count);
    },
  });
}

function addProcess({ registry, db, waitingCalls, waitingCallsMax, removed, build }: MetricSources): void {
  const gauge = gaugesOf(registry);
  gauge("treadle_waiting_calls", "Calls that wait for the result of their execution", waitingCalls);
  gauge("treadle_waiting_calls_max", "Calls that may wait", () => waitingCallsMax);
  gauge("treadle_database_pool_used", "Connections of this process's pool that are in use", () => readPool(db).used);
  gauge("treadle_database_pool_waiting", "Statements that wait for a connection", () => readPool(db).waiting);
  gauge("treadle_database_pool_max", "Connections the pool may open", () => readPool(db).max);
  const removals = { name: "treadle_retention_removed_total", help: "Removed because it was older than it is kept" };
  addCounter(registry, { ...removals, label: "what" }, removed);
  new Gauge({
    name: "treadle_build_info",
    help: "What runs here; always 1",
    labelNames: ["version", "node", "role"],
    registers: [registry],
  }).set({ ...build }, 1);
}

function addPrograms(sources: MetricSources): void {
  const { registry, lanes } = sources;
  const gauge = gaugesOf(registry);
  gauge("treadle_programs_running", "Executions whose program this process runs or awaits", sources.programsRunning);
  gauge("treadle_programs_waiting", "Executions that wait for a place on this host", sources.programsWaiting);
  gauge("treadle_programs_max", "Programs that may run at once on this host", () => sources.programsMax);
  const programs = { name: "treadle_programs_total", help: "Programs run on this host: in a lane, or started cold" };
  addCounter(registry, { ...programs, label: "path" }, sources.programsByPath);
  gauge("treadle_lanes", "Interpreters kept warm on this host", () => lanes().lanes);
  gauge("treadle_lanes_bytes", "Memory of the lanes that wait for work", () => lanes().bytes);
  const evictions = { name: "treadle_lane_evictions_total", help: "Lanes closed for want of room, memory or work" };
  addCounter(registry, { ...evictions, label: undefined }, () => ({ evicted: lanes().evicted }));
}

function createReadinessGauge({ registry, readiness }: MetricSources): () => Promise<void> {
  const ready = new Gauge({
    name: "treadle_ready",
    help: "Whether what executions need is usable, by dependency; see /readyz for the reasons",
    labelNames: ["dependency"],
    registers: [registry],
  });
  return async () => {
    const { checks } = await readiness();
    for (const [dependency, { ok }] of Object.entries(checks)) ready.set({ dependency }, ok ? 1 : 0);
  };
}

function createDiskGauges({ registry, dataDir }: MetricSources): () => Promise<void> {
  const registers = [registry];
  const free = new Gauge({ name: "treadle_data_free_bytes", help: "Free on the disk of the data folder", registers });
  const size = new Gauge({ name: "treadle_data_size_bytes", help: "Size of the disk of the data folder", registers });
  return async () => {
    // A folder that cannot be asked about has no figures; the others are reported all the same.
    const { bavail, blocks, bsize } = await statfs(dataDir).catch(() => ({ bavail: 0, blocks: 0, bsize: 0 }));
    free.set(bavail * bsize);
    size.set(blocks * bsize);
  };
}
