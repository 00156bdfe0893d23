import type { AccountId } from "../domain/ids.ts";

/** How many may be under way at once. */
export interface FairBounds {
  readonly count: number;
  /** At most `count`, which is the default. */
  readonly perAccountMax?: number;
}

/** What waits for its account, and how much of that account is under way. */
interface Account<Item> {
  running: number;
  /** When it had its last turn, or came: a count of such events. */
  turn: number;
  readonly waiting: Item[];
}

/** Who is next, between accounts. Decides only: no clock, no promises. */
export interface FairQueue<Item> {
  add(accountId: AccountId, item: Item): void;
  /** Takes out one that waits. */
  remove(accountId: AccountId, item: Item): void;
  /** Returns the next that may begin now, and counts it as under way; undefined when none may. */
  next(): Item | undefined;
  /** Counts one of the account as ended. */
  end(accountId: AccountId): void;
  /** Returns 1 for the next, were slots given out now one by one; the bound per account is left out of account. */
  placeOf(accountId: AccountId, item: Item): number | undefined;
  /** Returns how many wait: in all, or of one account. */
  waiting(accountId?: AccountId): number;
}

/**
 * Creates a queue that gives the next turn to the account with the least under way. Of equals, the one whose last turn
 * is longest ago is next. Within an account the order of asking counts. One more than `count` may be under way. That
 * last slot is kept for accounts that have nothing under way, so a full queue delays no newcomer.
 */
export function createFairQueue<Item>({ count, perAccountMax = count }: FairBounds): FairQueue<Item> {
  const accounts = new Map<AccountId, Account<Item>>();
  let turns = 0;
  let running = 0;

  function mayBegin(account: Account<Item>): boolean {
    if (account.waiting.length === 0) return false;
    return running < count ? account.running < perAccountMax : running === count && account.running === 0;
  }

  function forgetIdle(accountId: AccountId, { running: own, waiting }: Account<Item>): void {
    if (own === 0 && waiting.length === 0) accounts.delete(accountId);
  }

  return {
    add(accountId, item) {
      const account = accounts.get(accountId) ?? { running: 0, turn: turns++, waiting: [] };
      accounts.set(accountId, account);
      account.waiting.push(item);
    },
    remove(accountId, item) {
      const account = accounts.get(accountId);
      const index = account?.waiting.indexOf(item) ?? -1;
      if (account === undefined || index < 0) return;
      account.waiting.splice(index, 1);
      forgetIdle(accountId, account);
    },
    next() {
      const first = findEarliest([...accounts.values()].filter(mayBegin));
      if (first === undefined) return undefined;
      first.running += 1;
      first.turn = turns++;
      running += 1;
      return first.waiting.shift();
    },
    end(accountId) {
      const account = accounts.get(accountId);
      if (account === undefined || account.running === 0) throw new Error(`${accountId} has nothing under way.`);
      account.running -= 1;
      running -= 1;
      forgetIdle(accountId, account);
    },
    placeOf(accountId, item) {
      const own = accounts.get(accountId);
      const index = own?.waiting.indexOf(item) ?? -1;
      if (own === undefined || index < 0) return undefined;
      const others = [...accounts.values()].filter((account) => account !== own);
      return others.reduce((place, other) => place + countBefore(other, own, index), index + 1);
    },
    waiting(accountId) {
      if (accountId !== undefined) return accounts.get(accountId)?.waiting.length ?? 0;
      return [...accounts.values()].reduce((sum, account) => sum + account.waiting.length, 0);
    },
  };
}

function findEarliest<Item>([first, ...others]: readonly Account<Item>[]): Account<Item> | undefined {
  return others.reduce((best, account) => (best === undefined || isEarlier(account, best) ? account : best), first);
}

function isEarlier(one: Account<unknown>, other: Account<unknown>): boolean {
  return one.running === other.running ? one.turn < other.turn : one.running < other.running;
}

/**
 * Counts the turns another account has before the one at `index` of `own`: all until both have the same number under
 * way. One more counts when the other account reached that number earlier.
 */
function countBefore(other: Account<unknown>, own: Account<unknown>, index: number): number {
  const level = own.running + index;
  const reachedEarlier = other.running > own.running || (other.running === own.running && other.turn < own.turn);
  const turns = level - other.running + (reachedEarlier ? 1 : 0);
  return Math.min(Math.max(turns, 0), other.waiting.length);
}
