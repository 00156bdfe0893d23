import type { AccountId } from "../../domain/ids.ts";

/** How many times the room that is left one account may hold: alone four fifths of all, with others less. */
const SHARE_OF_FREE = 4;

/**
 * Returns whether one more of an account may wait, when `own` of its and `total` of all wait and `max` may. An account
 * that holds little finds room beside accounts that hold much: those stop before everything is taken.
 */
export function mayWait({ own, total, max }: { own: number; total: number; max: number }): boolean {
  return own < SHARE_OF_FREE * (max - total);
}

/** The calls of this process that wait for a result, or read a body before they do. */
export interface WaitingCalls {
  /** Takes a place and answers how to give it back, once or more; undefined when the account may have no more. */
  enter(accountId: AccountId): (() => void) | undefined;
}

/** At most `max` at the same time: each holds a connection and memory for as long as it waits. */
export function createWaitingCalls(max: number): WaitingCalls {
  let total = 0;
  const byAccount = new Map<AccountId, number>();
  const count = (accountId: AccountId, change: 1 | -1): void => {
    const own = (byAccount.get(accountId) ?? 0) + change;
    total += change;
    if (own === 0) byAccount.delete(accountId);
    else byAccount.set(accountId, own);
  };
  return {
    enter(accountId) {
      if (!mayWait({ own: byAccount.get(accountId) ?? 0, total, max })) return undefined;
      count(accountId, 1);
      let inside = true;
      return () => {
        if (inside) count(accountId, -1);
        inside = false;
      };
    },
  };
}
