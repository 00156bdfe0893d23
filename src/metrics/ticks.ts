import { Counter, Histogram, type Registry } from "prom-client";
import type { DecidedTick } from "../../activities/ticks.ts";
import { TICK_OUTCOMES } from "../../domain/schedules/ticks.ts";

/** From what a quiet service needs to what makes a tick a missed one by default. */
const LATENESS_SECONDS = [0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 300, 3_600];

/** Counts the times that schedules were due, by what became of them, and how late those that the clock fired were started. */
export function countTicks(registry: Registry): (tick: DecidedTick) => void {
  const ticks = new Counter({
    name: "treadle_ticks_total",
    help: "Times that schedules were due and that got their record in this process, by what became of them.",
    labelNames: ["outcome"],
    registers: [registry],
  });
  for (const outcome of TICK_OUTCOMES) ticks.inc({ outcome }, 0);
  const lateness = new Histogram({
    name: "treadle_tick_lateness_seconds",
    help: "From the time a schedule was due to its record, of those that were started by the clock.",
    buckets: LATENESS_SECONDS,
    registers: [registry],
  });
  return ({ outcome, source, lateSeconds }) => {
    ticks.inc({ outcome });
    if (outcome === "started" && source === "clock") lateness.observe(lateSeconds);
  };
}
