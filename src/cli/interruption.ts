import { setTimeout as sleep } from "node:timers/promises";
import type { CliIo } from "./io.ts";

/** Ctrl-C, while something is followed that goes on without us. */
export interface Interruption {
  /** Aborted at the first Ctrl-C. */
  readonly signal: AbortSignal;
  /** Waits for a second one; true when it comes in time. */
  comesAgain(timeoutMs: number): Promise<boolean>;
  /** From here on Ctrl-C ends the process again. */
  end(): void;
}

/** Takes over Ctrl-C until `end`, where the surroundings have one. `once`: the second one ends the process again. */
export function createInterruption({ onInterrupt }: Pick<CliIo, "onInterrupt">, { once = false } = {}): Interruption {
  const [first, second] = [new AbortController(), new AbortController()];
  const stop = onInterrupt?.(() => (first.signal.aborted ? second : first).abort());
  if (once && stop !== undefined) first.signal.addEventListener("abort", stop);
  return {
    signal: first.signal,
    async comesAgain(timeoutMs) {
      await sleep(timeoutMs, undefined, { signal: second.signal }).catch(() => undefined);
      return second.signal.aborted;
    },
    end: () => stop?.(),
  };
}
