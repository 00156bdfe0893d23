import { messageOf } from "../../domain/message-of.ts";
import type { Meters } from "./meters.ts";
import type { Router } from "./router.ts";
import type { Scope } from "./scopes.ts";

/** The slots of one router. Each is used once; for every one given back, a new one is made. */
export interface SlotPool {
  /** A fresh slot; waits, in order of asking, while all are taken. Rejects when the pool is closed, or `signal` aborts, meanwhile. */
  take(signal?: AbortSignal): Promise<number>;
  /** Removes the slot at once. Calling it again does nothing. */
  release(slot: number): void;
  /**
   * Links the own network namespace of a process besides, and returns the number of the link. With a scope nothing but that
   * lets anything through. Rejects where it fails.
   */
  attach(pid: number, scope?: Pick<Scope, "enter">): Promise<number>;
  /** Nothing can be taken any more, for the reason given. Resolves when nothing is being made any more. */
  close(reason: string): Promise<void>;
}

interface Waiter {
  readonly resolve: (slot: number) => void;
  readonly reject: (error: Error) => void;
}

/** `ready` are the numbers of slots made already. A slot that cannot be made again is reported by `onFailure`, once. */
export function createSlotPool(
  router: Router,
  meters: Pick<Meters, "prepare" | "forget">,
  ready: readonly number[],
  onFailure: (reason: string) => void,
): SlotPool {
  const free = [...ready];
  const taken = new Set<number>();
  const waiters: Waiter[] = [];
  let next = Math.max(...ready) + 1;
  let closedBecause: string | undefined;
  let work: Promise<void> = Promise.resolve();

  function give(slot: number): void {
    const waiter = waiters.shift();
    if (waiter === undefined) {
      free.push(slot);
      return;
    }
    taken.add(slot);
    waiter.resolve(slot);
  }

  async function replace(slot: number): Promise<void> {
    if (closedBecause !== undefined) return;
    try {
      await router.removeSlot(slot);
      meters.forget(slot);
      const fresh = next++;
      await meters.prepare(fresh);
      await router.makeSlots([fresh]);
      give(fresh);
    } catch (error) {
      if (closedBecause === undefined) onFailure(`A slot could not be made again: ${messageOf(error)}`);
    }
  }

  return {
    async take(signal) {
      if (closedBecause !== undefined) throw new Error(closedBecause);
      signal?.throwIfAborted();
      const slot = free.shift();
      if (slot === undefined) return wait(waiters, signal);
      taken.add(slot);
      return slot;
    },
    release(slot) {
      if (!taken.delete(slot)) return;
      // One after the other: the kernel does not make and clear away two namespaces at once any faster.
      work = work.then(() => replace(slot));
    },
    async attach(pid, scope) {
      if (closedBecause !== undefined) throw new Error(closedBecause);
      const slot = next++;
      try {
        await meters.prepare(slot);
        await scope?.enter(slot);
        await router.attach(slot, pid, scope !== undefined);
      } catch (error) {
        meters.forget(slot);
        throw error;
      }
      return slot;
    },
    close(reason) {
      closedBecause ??= reason;
      for (const { reject } of waiters.splice(0)) reject(new Error(reason));
      return work;
    },
  };
}

/** Stands in line until it is served, or gives up. */
function wait(waiters: Waiter[], signal: AbortSignal | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      waiters.splice(waiters.indexOf(waiter), 1);
      reject(signal?.reason as Error);
    };
    const leave = () => signal?.removeEventListener("abort", giveUp);
    const waiter: Waiter = {
      resolve: (slot) => {
        leave();
        resolve(slot);
      },
      reject: (error) => {
        leave();
        reject(error);
      },
    };
    waiters.push(waiter);
    signal?.addEventListener("abort", giveUp);
  });
}
