import { setImmediate as onNextTurn } from "node:timers";
import { setImmediate } from "node:timers/promises";

/** Does what concerns one thing one after the other, in the order asked; different things at the same time. */
export type TakeTurn = <Result>(thing: string, act: () => Promise<Result>) => Promise<Result>;

/**
 * Returns a function that runs work on one thing in the order asked. Without it, statements that wait for the same lock
 * of the database would each hold a connection of the pool. With it, one of this process waits.
 */
export function createTurns(): TakeTurn {
  const last = new Map<string, Promise<unknown>>();
  return async (thing, act) => {
    const before = last.get(thing);
    const mine = (before ?? Promise.resolve()).then(act);
    // What went wrong is its own caller's to hear.
    const over = mine.catch(() => undefined);
    last.set(thing, over);
    try {
      return await mine;
    } finally {
      if (last.get(thing) === over) last.delete(thing);
    }
  };
}

/**
 * Lets everybody else have a turn of the event loop between two long pieces of work. One `setImmediate` comes before what has
 * arrived meanwhile, the next one after it.
 */
export async function giveTurn(): Promise<void> {
  await setImmediate();
  await setImmediate();
}

/** Returns a function that begins one piece of work in each turn of the event loop, in the order given. So many that come at once let others between them. */
export function createPacing(): (begin: () => void) => void {
  const waiting: (() => void)[] = [];
  const next = (): void => {
    if (waiting.length > 1) onNextTurn(next);
    waiting.shift()?.();
  };
  return (begin) => {
    if (waiting.push(begin) === 1) onNextTurn(next);
  };
}
