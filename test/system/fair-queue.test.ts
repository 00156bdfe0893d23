import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { AccountId } from "../../domain/ids.ts";
import { createFairQueue, type FairQueue } from "../../system/fair-queue.ts";

const ACCOUNTS = ["a", "b", "c", "d", "e"] as AccountId[];

/** What happens to a queue: an account asks, one that waits leaves, or one that is under way ends. */
interface Step {
  readonly kind: "ask" | "leave" | "end";
  readonly account: number;
  readonly pick: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("ask", "ask", "end", "leave"),
  account: fc.nat(ACCOUNTS.length - 1),
  pick: fc.nat(1_000),
});
const history = fc.record({
  count: fc.integer({ min: 1, max: 5 }),
  perAccountMax: fc.integer({ min: 1, max: 5 }),
  steps: fc.array(step, { maxLength: 120 }),
});

interface Item {
  readonly accountId: AccountId;
  readonly number: number;
}

/** A queue beside a plain account of who waits and who is under way. */
function aHouse(count: number, perAccountMax: number) {
  const queue = createFairQueue<Item>({ count, perAccountMax });
  const waiting: Item[] = [];
  const running: Item[] = [];
  let asked = 0;
  const of = (items: readonly Item[], accountId: AccountId) => items.filter((item) => item.accountId === accountId);
  return {
    queue,
    waiting,
    running,
    of,
    /** Does one step, gives out what may begin, and returns it. */
    live({ kind, account, pick }: Step): Item[] {
      const accountId = ACCOUNTS[account] as AccountId;
      if (kind === "ask") {
        const item = { accountId, number: asked++ };
        waiting.push(item);
        queue.add(accountId, item);
      }
      if (kind === "leave" && waiting.length > 0) {
        const [left] = waiting.splice(pick % waiting.length, 1) as [Item];
        queue.remove(left.accountId, left);
      }
      if (kind === "end" && running.length > 0) {
        const [ended] = running.splice(pick % running.length, 1) as [Item];
        queue.end(ended.accountId);
      }
      return begin(queue, waiting, running);
    },
  };
}

function begin(queue: FairQueue<Item>, waiting: Item[], running: Item[]): Item[] {
  const begun: Item[] = [];
  for (let item = queue.next(); item !== undefined; item = queue.next()) {
    expect(waiting.splice(waiting.indexOf(item), 1)).toEqual([item]);
    running.push(item);
    begun.push(item);
  }
  return begun;
}

test("a fair queue, whatever happens, keeps its bounds and leaves no slot empty that somebody may take", () => {
  fc.assert(
    fc.property(history, ({ count, perAccountMax, steps }) => {
      const { live, of, queue, waiting, running } = aHouse(count, perAccountMax);
      for (const each of steps) {
        live(each);
        expect(running.length).toBeLessThanOrEqual(count + 1);
        expect(queue.waiting()).toBe(waiting.length);
        for (const accountId of ACCOUNTS) {
          const under = of(running, accountId).length;
          expect(under).toBeLessThanOrEqual(Math.min(perAccountMax, count));
          const isKeptWaiting = of(waiting, accountId).length > 0;
          // Nobody waits beside a free slot but for the bound of its account; nobody new waits beside the kept one.
          if (isKeptWaiting && running.length < count) expect(under).toBe(perAccountMax);
          if (isKeptWaiting && running.length === count) expect(under).toBeGreaterThan(0);
        }
      }
    }),
  );
});

test("a fair queue, whatever happens, serves each account in the order asked", () => {
  fc.assert(
    fc.property(history, ({ count, perAccountMax, steps }) => {
      const { live, of } = aHouse(count, perAccountMax);
      const begun = steps.flatMap(live);
      for (const accountId of ACCOUNTS) {
        const numbers = of(begun, accountId).map(({ number }) => number);
        expect(numbers).toEqual([...numbers].sort((one, other) => one - other));
      }
    }),
  );
});

test("a fair queue, however busy it was, serves an account with nothing under way within one turn of each other", () => {
  fc.assert(
    fc.property(history, fc.array(fc.nat(1_000)), ({ count, perAccountMax, steps }, picks) => {
      const { live, queue, running } = aHouse(count, perAccountMax);
      for (const each of steps) live(each);
      const stranger = { accountId: "stranger" as AccountId, number: -1 };
      queue.add(stranger.accountId, stranger);
      // The others ask on without end, and one that is under way ends at a time.
      let ends = 0;
      for (let served = queue.next(); served !== stranger; served = queue.next()) {
        if (served !== undefined) {
          running.push(served);
          continue;
        }
        for (const accountId of ACCOUNTS) queue.add(accountId, { accountId, number: ends });
        const [ended] = running.splice((picks[ends % picks.length] ?? 0) % running.length, 1) as [Item];
        queue.end(ended.accountId);
        ends += 1;
        expect(ends).toBeLessThanOrEqual(ACCOUNTS.length + 1);
      }
    }),
  );
});

test("placeOf, of everything that waits, is its place when slots come one by one", () => {
  fc.assert(
    fc.property(history, ({ count, steps }) => {
      const { live, queue, waiting, running } = aHouse(count, count);
      for (const each of steps) live(each);
      const places = new Map(waiting.map((item) => [item, queue.placeOf(item.accountId, item)]));
      const order = inOrder(steps, count, waiting.length);
      expect([...places].sort((one, other) => (one[1] ?? 0) - (other[1] ?? 0)).map(([item]) => item)).toEqual(order);
      expect([...places.values()].sort((one, other) => (one ?? 0) - (other ?? 0))).toEqual(order.map((_, i) => i + 1));
      expect(
        queue.placeOf("a" as AccountId, running[0] ?? { accountId: "a" as AccountId, number: -1 }),
      ).toBeUndefined();
    }),
  );
});

/** Who would begin, one after the other, if the same house had as many slots more as there are who wait. */
function inOrder(steps: readonly Step[], count: number, waits: number): Item[] {
  const least = (items: readonly Item[], accountId: AccountId) =>
    items.filter((item) => item.accountId === accountId).length;
  const { live, waiting, running } = aHouse(count, count);
  const turns = new Map<AccountId, number>();
  let turn = 0;
  for (const each of steps) {
    const accountId = ACCOUNTS[each.account] as AccountId;
    const wasKnown = least(waiting, accountId) + least(running, accountId) > 0;
    if (each.kind === "ask" && !wasKnown) turns.set(accountId, turn++);
    for (const item of live(each)) turns.set(item.accountId, turn++);
  }
  const order: Item[] = [];
  for (let round = 0; round < waits; round++) {
    const [next] = [...waiting].sort(
      (one, other) =>
        least(running, one.accountId) - least(running, other.accountId) ||
        (turns.get(one.accountId) ?? 0) - (turns.get(other.accountId) ?? 0) ||
        one.number - other.number,
    ) as [Item];
    waiting.splice(waiting.indexOf(next), 1);
    running.push(next);
    turns.set(next.accountId, turn++);
    order.push(next);
  }
  return order;
}

test("end, of an account with nothing under way, is refused", () => {
  expect(() => createFairQueue({ count: 1 }).end("a" as AccountId)).toThrow("a has nothing under way");
});
