/** Work that is done again and again until it is closed. */
export interface Repeating {
  close(): Promise<void>;
}

/**
 * Does a piece of work at once and every `everyMs` milliseconds, as long as it answers true one piece after the other. One
 * round at a time; a round that fails is told to `onFault`, and the next is tried. Nobody waits for it.
 */
export function repeat(
  work: () => Promise<boolean>,
  { everyMs, onFault }: { everyMs: number; onFault: (error: unknown) => void },
): Repeating {
  let stopping = false;
  let running: Promise<void> | undefined;
  const round = async (): Promise<void> => {
    while (!stopping && (await work()));
  };
  const run = (): void => {
    running ??= round()
      .catch((error: unknown) => {
        if (!stopping) onFault(error);
      })
      .finally(() => {
        running = undefined;
      });
  };
  run();
  const timer = setInterval(run, everyMs).unref();
  return {
    async close() {
      stopping = true;
      clearInterval(timer);
      await running;
    },
  };
}
