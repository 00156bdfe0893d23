import type { AccountId } from "../domain/ids.ts";
import type { Slots } from "../system/slots.ts";

/** One turn that several accounts wait for, each in its own place of the queue. */
export interface SharedTurn {
  /** Lets the account wait for it, too. */
  join(accountId: AccountId): void;
  /** Resolves when the first of the accounts has its turn, with a function that ends the turn. `id` is for `placeOf`. */
  take(): Promise<() => void>;
}

/** What two accounts need is made when the first of them may: nobody waits for the queue of another. */
export function createSharedTurn(slots: Slots, id: string): SharedTurn {
  const accounts = new Set<AccountId>();
  const over = new AbortController();
  let begin: ((release: () => void) => void) | undefined;

  async function wait(accountId: AccountId): Promise<void> {
    const release = await slots.take({ accountId, id }, over.signal);
    if (release === undefined) return;
    if (over.signal.aborted) return release();
    over.abort();
    begin?.(release);
  }

  return {
    join(accountId) {
      if (accounts.has(accountId)) return;
      accounts.add(accountId);
      if (begin !== undefined) void wait(accountId);
    },
    take: () =>
      new Promise((resolve) => {
        begin = resolve;
        for (const accountId of accounts) void wait(accountId);
      }),
  };
}
