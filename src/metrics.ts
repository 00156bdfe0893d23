import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";

/** The histogram of the event loop's delay wakes the process this often. At the default of 10 ms that was most of its wake-ups when idle. */
const EVENT_LOOP_LOOK_MS = 250;

/** What Prometheus can ask of a process. Labels are closed lists; ids never are labels. */
export function createMetrics(sources: {
  waitingCalls: () => number;
  programsRunning: () => number;
  programsWaiting: () => number;
  /** Programs run so far, by the way they were started. */
  programsByPath: () => Readonly<Record<string, number>>;
}) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "treadle_", eventLoopMonitoringPrecision: EVENT_LOOP_LOOK_MS });
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  gauge("treadle_waiting_calls", "Calls that wait for the result of their execution", sources.waitingCalls);
  gauge("treadle_programs_running", "Executions whose program this process runs or awaits", sources.programsRunning);
  gauge("treadle_programs_waiting", "Executions that wait for a place on this host", sources.programsWaiting);
  new Counter({
    name: "treadle_programs_total",
    help: "Programs run on this host: in a lane, or started cold",
    labelNames: ["path"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [path, count] of Object.entries(sources.programsByPath())) this.inc({ path }, count);
    },
  });
  return { read: () => registry.metrics() };
}
