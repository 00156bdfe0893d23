import type { AccountId } from "../domain/ids.ts";
import { createFairQueue, type FairBounds } from "./fair-queue.ts";

/** For whom a slot is, and what it is for. */
export interface SlotUse {
  readonly accountId: AccountId;
  /** Names the use for `placeOf`, for example an execution's id. */
  readonly id: string;
}

/** Slots for work that runs at the same time on this host, given out by turns between accounts (see `createFairQueue`). */
export interface Slots {
  /** Resolves with a function that gives the slot back; undefined when the signal came first. */
  take(use: SlotUse, signal?: AbortSignal): Promise<(() => void) | undefined>;
  /** Returns a function that gives a slot back; undefined when none is free for the account at this moment. */
  takeNow(use: SlotUse): (() => void) | undefined;
  /** Returns how many wait for a slot: in all, or of one account. */
  waiting(accountId?: AccountId): number;
  /** Returns the place in the queue, 1 for the next; undefined for what does not wait here. */
  placeOf(id: string): number | undefined;
}

interface Waiter extends SlotUse {
  readonly begin: () => void;
}

export function createSlots(bounds: FairBounds): Slots {
  const queue = createFairQueue<Waiter>(bounds);
  const waiters = new Map<string, Waiter>();

  function beginNext(): void {
    for (let waiter = queue.next(); waiter !== undefined; waiter = queue.next()) waiter.begin();
  }

  function slotOf(accountId: AccountId): () => void {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      queue.end(accountId);
      beginNext();
    };
  }

  return {
    async take({ accountId, id }, signal) {
      if (signal?.aborted) return undefined;
      return new Promise((resolve) => {
        const forget = (): void => {
          signal?.removeEventListener("abort", leave);
          if (waiters.get(id) === waiter) waiters.delete(id);
        };
        const waiter: Waiter = {
          accountId,
          id,
          begin() {
            forget();
            resolve(slotOf(accountId));
          },
        };
        const leave = (): void => {
          forget();
          queue.remove(accountId, waiter);
          resolve(undefined);
        };
        signal?.addEventListener("abort", leave, { once: true });
        waiters.set(id, waiter);
        queue.add(accountId, waiter);
        beginNext();
      });
    },
    takeNow({ accountId, id }) {
      let isTaken = false;
      const waiter: Waiter = { accountId, id, begin: () => (isTaken = true) };
      queue.add(accountId, waiter);
      beginNext();
      if (isTaken) return slotOf(accountId);
      queue.remove(accountId, waiter);
      return undefined;
    },
    waiting: queue.waiting,
    placeOf(id) {
      const waiter = waiters.get(id);
      return waiter && queue.placeOf(waiter.accountId, waiter);
    },
  };
}
