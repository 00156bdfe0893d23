import { type ProcessorTime, readProcessorTime } from "./process-tree.ts";

/** Adds up the processor time of a sandbox where no cgroup bounds it. */
export interface ProcessorMeter {
  /** Measures the processes that there are now; returns the milliseconds used so far. */
  look(pids: readonly number[]): number;
  usedMs(): number;
}

/** Starts to count from what these processes have used by now. */
export function createProcessorMeter(pids: readonly number[]): ProcessorMeter {
  let seen = readAll(pids);
  const usedBefore = sum(seen, "ownMs") + sum(seen, "childrenMs");
  let lostMs = 0;
  let usedMs = 0;
  return {
    look(now) {
      const living = readAll(now);
      const [ended, stayed] = split(seen, (pid) => !living.has(pid));
      const reapedMs = sum(living, "childrenMs") - sum(stayed, "childrenMs");
      // Nobody counts what a process used whose parent ignores its end.
      lostMs += Math.max(0, sum(ended, "ownMs") + sum(ended, "childrenMs") - reapedMs);
      seen = living;
      usedMs = Math.max(usedMs, sum(living, "ownMs") + sum(living, "childrenMs") + lostMs - usedBefore);
      return usedMs;
    },
    usedMs: () => usedMs,
  };
}

type Times = ReadonlyMap<number, ProcessorTime>;

function readAll(pids: readonly number[]): Times {
  return new Map(
    pids.flatMap((pid) => {
      const time = readProcessorTime(pid);
      return time === undefined ? [] : [[pid, time] as const];
    }),
  );
}

function split(times: Times, isFirst: (pid: number) => boolean): [Times, Times] {
  const entries = [...times];
  return [new Map(entries.filter(([pid]) => isFirst(pid))), new Map(entries.filter(([pid]) => !isFirst(pid)))];
}

function sum(times: Times, field: keyof ProcessorTime): number {
  return [...times.values()].reduce((total, time) => total + time[field], 0);
}
