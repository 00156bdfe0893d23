import { expect, test } from "@jest/globals";
import type { AccountId } from "../../domain/ids.ts";
import { createSlots } from "../../system/slots.ts";

const account = "acct_one" as AccountId;
const stranger = "acct_other" as AccountId;
/** Long enough for every promise that is going to resolve without outside help. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Asks for a place; says in `order` when it was given one. */
function ask(
  slots: ReturnType<typeof createSlots>,
  name: string,
  order: string[],
  signal = new AbortController().signal,
  accountId = account,
) {
  return slots.take({ accountId, id: name }, signal).then((release) => {
    order.push(release === undefined ? `${name} left` : name);
    return release;
  });
}

test("take, while places are free, gives as many as there are and lets the next wait", async () => {
  const slots = createSlots({ count: 2 });
  const order: string[] = [];
  for (const name of ["a", "b", "c"]) void ask(slots, name, order);
  await settled();
  expect([order, slots.waiting()]).toEqual([["a", "b"], 1]);
});

test("take, when several wait, gives places in the order asked", async () => {
  const slots = createSlots({ count: 1 });
  const order: string[] = [];
  const first = await ask(slots, "a", order);
  const others = ["b", "c", "d"].map((name) => ask(slots, name, order));
  first?.();
  for (const other of others) (await other)?.();
  expect([order, slots.waiting()]).toEqual([["a", "b", "c", "d"], 0]);
});

test("take, asked after a place became free for one who waited, does not overtake", async () => {
  const slots = createSlots({ count: 1 });
  const order: string[] = [];
  const first = await ask(slots, "a", order);
  void ask(slots, "b", order);
  first?.();
  void ask(slots, "late", order);
  await settled();
  expect([order, slots.waiting()]).toEqual([["a", "b"], 1]);
});

test("take, aborted while waiting, answers undefined, and its turn goes to the next", async () => {
  const slots = createSlots({ count: 1 });
  const order: string[] = [];
  const first = await ask(slots, "a", order);
  const leaving = new AbortController();
  void ask(slots, "b", order, leaving.signal);
  void ask(slots, "c", order);
  leaving.abort("cancelled");
  await settled();
  expect([order, slots.waiting()]).toEqual([["a", "b left"], 1]);
  first?.();
  await settled();
  expect([order, slots.waiting()]).toEqual([["a", "b left", "c"], 0]);
});

test("take, aborted after it has its place, keeps the place until it is given back", async () => {
  const slots = createSlots({ count: 1 });
  const order: string[] = [];
  const first = await ask(slots, "a", order);
  const leaving = new AbortController();
  const second = ask(slots, "b", order, leaving.signal);
  void ask(slots, "c", order);
  first?.();
  leaving.abort("cancelled");
  await settled();
  expect([order, slots.waiting()]).toEqual([["a", "b"], 1]);
  (await second)?.();
  await settled();
  expect(order).toEqual(["a", "b", "c"]);
});

test("take, with a signal that is aborted already, answers undefined and uses no place", async () => {
  const slots = createSlots({ count: 1 });
  expect(await slots.take({ accountId: account, id: "a" }, AbortSignal.abort())).toBeUndefined();
  expect(await slots.take({ accountId: account, id: "b" })).toBeDefined();
});

test("a place, given back twice, becomes free once", async () => {
  const slots = createSlots({ count: 1 });
  const order: string[] = [];
  const first = await ask(slots, "a", order);
  first?.();
  first?.();
  void ask(slots, "b", order);
  void ask(slots, "c", order);
  await settled();
  expect([order, slots.waiting()]).toEqual([["a", "b"], 1]);
});

test("take, for 40 of one account and then one of another, lets the other begin at once and the rest by turns", async () => {
  const slots = createSlots({ count: 2 });
  const order: string[] = [];
  const many = Array.from({ length: 40 }, (_, index) => ask(slots, `many ${index}`, order));
  const other = ask(slots, "other", order, undefined, stranger);
  void ask(slots, "other again", order, undefined, stranger);
  await settled();
  expect(order).toEqual(["many 0", "many 1", "other"]);
  (await many[0])?.();
  await settled();
  expect(order.at(-1)).toBe("other");
  (await many[1])?.();
  (await other)?.();
  await settled();
  expect(order.slice(3)).toEqual(["many 2", "other again"]);
});

test("placeOf, of what waits, counts the turns before it; of anything else it is unknown", async () => {
  const slots = createSlots({ count: 1 });
  for (const name of ["a", "b", "c"]) void ask(slots, name, []);
  const first = ask(slots, "other", [], undefined, stranger);
  void ask(slots, "last", [], undefined, stranger);
  await settled();
  expect(["a", "b", "c", "other", "last", "?"].map(slots.placeOf)).toEqual([undefined, 1, 3, undefined, 2, undefined]);
  (await first)?.();
  expect(slots.waiting(stranger)).toBe(0);
});
