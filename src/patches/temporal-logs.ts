// Written for @temporalio/worker 1.24.0: it has no option for this.

const FLUSH_MS = 1_000;

/**
 * Runs `install`, in which the SDK begins to look for lines of its core that wait to be logged. It then looks once a
 * second, and not ten times. That is half of what woke an idle service, and a line comes a second later at most.
 */
export function withRareFlushes<Installed>(install: () => Installed): Installed {
  const { setInterval } = globalThis;
  const setRare = (act: () => void, ms = 0, ...given: []) => setInterval(act, Math.max(ms, FLUSH_MS), ...given);
  globalThis.setInterval = setRare as typeof setInterval;
  try {
    return install();
  } finally {
    globalThis.setInterval = setInterval;
  }
}
