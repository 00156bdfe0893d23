/** Work that is done again and again until it is closed. */
export interface Repeating {
  /** Aborts the signal of the round under way and resolves when that round is over. No other one begins. */
  close(): Promise<void>;
}

/**
 * Does a piece of work every `everyMs` milliseconds, and for the first time at once unless `first` is `later`. Work that
 * resolves to true is done again immediately. There is one round at a time. A round that fails is passed to `onError`, and
 * the next one is tried. `now` does a round, or joins the one under way, and never rejects. `soon` plans a round in `ms`
 * milliseconds, unless one is planned.
 */
export function repeat(
  work: (signal: AbortSignal) => Promise<unknown>,
  { everyMs, onError, first = "now" }: { everyMs: number; onError: (error: unknown) => void; first?: "now" | "later" },
): Repeating & { readonly now: () => Promise<void>; readonly soon: (ms: number) => void } {
  const closing = new AbortController();
  let planned: NodeJS.Timeout | undefined;
  const { signal } = closing;
  let running: Promise<void> | undefined;
  const round = async (): Promise<void> => {
    while (!signal.aborted && (await work(signal)) === true);
  };
  const now = (): Promise<void> =>
    (running ??= round()
      .catch((error: unknown) => {
        if (!signal.aborted) onError(error);
      })
      .finally(() => {
        running = undefined;
      }));
  if (first === "now") void now();
  const timer = setInterval(() => void now(), everyMs).unref();
  return {
    now,
    soon(ms) {
      planned ??= setTimeout(() => {
        planned = undefined;
        void now();
      }, ms).unref();
    },
    async close() {
      clearInterval(timer);
      clearTimeout(planned);
      closing.abort();
      await running;
    },
  };
}
