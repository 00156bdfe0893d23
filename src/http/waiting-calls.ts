/** The calls of this process that wait for a result, or read a body before they do. */
export interface WaitingCalls {
  /** Takes a place and answers how to give it back, once or more; undefined when all are taken. */
  enter(): (() => void) | undefined;
}

/** At most `max` at the same time: each holds a connection and memory for as long as it waits. */
export function createWaitingCalls(max: number): WaitingCalls {
  let count = 0;
  return {
    enter() {
      if (count >= max) return undefined;
      count += 1;
      let inside = true;
      return () => {
        if (inside) count -= 1;
        inside = false;
      };
    },
  };
}
