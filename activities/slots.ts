/** Places for programs that run at the same time on this host, given out in the order they were asked for. */
export interface Slots {
  /** Resolves with a function that gives the place back; undefined when the signal came first. */
  take(signal: AbortSignal): Promise<(() => void) | undefined>;
  /** How many wait for a place. */
  waiting(): number;
}

export function createSlots(count: number): Slots {
  let free = count;
  const queue: (() => void)[] = [];

  function giveBack(): void {
    const next = queue.shift();
    if (next) next();
    else free += 1;
  }

  function place(): () => void {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      giveBack();
    };
  }

  return {
    async take(signal) {
      if (signal.aborted) return undefined;
      if (free > 0) {
        free -= 1;
        return place();
      }
      return new Promise((resolve) => {
        const turn = (): void => {
          signal.removeEventListener("abort", leave);
          resolve(place());
        };
        const leave = (): void => {
          queue.splice(queue.indexOf(turn), 1);
          resolve(undefined);
        };
        signal.addEventListener("abort", leave, { once: true });
        queue.push(turn);
      });
    },
    waiting: () => queue.length,
  };
}
