import { Histogram, type Registry } from "prom-client";

/** From what a lane takes for nothing to the longest time-out. */
const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400];
const PATHS = ["cold", "lane"] as const;

/** Counts the programs that end on this host by the seconds that are billed. Returns what to report of each. */
export function createProgramTimes(registry: Registry): (path: (typeof PATHS)[number], secondsUsed: number) => void {
  const seconds = new Histogram({
    name: "treadle_program_seconds",
    help: "Seconds of the user's process, on this host: in a lane, or started cold",
    labelNames: ["path"],
    buckets: SECONDS,
    registers: [registry],
  });
  for (const path of PATHS) seconds.zero({ path });
  return (path, secondsUsed) => seconds.observe({ path }, secondsUsed);
}
