import { INSIDE } from "../bubblewrap.ts";
import type { Cgroup } from "../cgroup.ts";
import { listTree, measureMemoryBytes, measureProcessorMs } from "../process-tree.ts";
import { measureScratch } from "../watchdog.ts";

/** What a lane has of the machine. */
export interface LaneUse {
  /** Memory that would be free without it. */
  readonly bytes: number;
  /** Processor time that its living processes have taken so far, to 10 ms. */
  readonly processorMs: number;
}

/** Measures a lane from outside, given its zygote, and its processes where they are known. */
export function measureLane(
  zygote: number,
  cgroup: Pick<Cgroup, "measureBytes"> | undefined,
  pids: readonly number[] = listTree(zygote),
): LaneUse {
  return { bytes: cgroup?.measureBytes() ?? estimateBytes(zygote, pids), processorMs: measureProcessorMs(pids) };
}

/** A fork shares pages with the zygote: what counts is what it holds beyond that, and its copy of the commit. */
function estimateBytes(zygote: number, pids: readonly number[]): number {
  const own = measureMemoryBytes([zygote]);
  const scratch = measureScratch({ rootDir: `/proc/${pids.at(-1) ?? zygote}/root`, scratchDirs: INSIDE.scratch });
  return pids.reduce((sum, pid) => sum + Math.max(0, measureMemoryBytes([pid]) - own), own + scratch.bytes);
}
