import { expect, test } from "@jest/globals";
import { createSlots } from "../../activities/slots.ts";

const never = new AbortController().signal;
/** Long enough for every promise that is going to resolve without outside help. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Asks for a place; says in `order` when it was given one. */
function ask(slots: ReturnType<typeof createSlots>, name: string, order: string[], signal = never) {
  return slots.take(signal).then((release) => {
    order.push(release === undefined ? `${name} left` : name);
    return release;
  });
}

test("take, while places are free, gives as many as there are and lets the next wait", async () => {
  const slots = createSlots(2);
  const order: string[] = [];
  for (const name of ["a", "b", "c"]) void ask(slots, name, order);
  await settled();
  expect([order, slots.waiting()]).toEqual([["a", "b"], 1]);
});

test("take, when several wait, gives places in the order asked", async () => {
  const slots = createSlots(1);
  const order: string[] = [];
  const first = await ask(slots, "a", order);
  const others = ["b", "c", "d"].map((name) => ask(slots, name, order));
  first?.();
  for (const other of others) (await other)?.();
  expect([order, slots.waiting()]).toEqual([["a", "b", "c", "d"], 0]);
});

test("take, asked after a place became free for one who waited, does not overtake", async () => {
  const slots = createSlots(1);
  const order: string[] = [];
  const first = await ask(slots, "a", order);
  void ask(slots, "b", order);
  first?.();
  void ask(slots, "late", order);
  await settled();
  expect([order, slots.waiting()]).toEqual([["a", "b"], 1]);
});

test("take, aborted while waiting, answers undefined, and its turn goes to the next", async () => {
  const slots = createSlots(1);
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
  const slots = createSlots(1);
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
  const slots = createSlots(1);
  expect(await slots.take(AbortSignal.abort())).toBeUndefined();
  expect(await slots.take(never)).toBeDefined();
});

test("a place, given back twice, becomes free once", async () => {
  const slots = createSlots(1);
  const order: string[] = [];
  const first = await ask(slots, "a", order);
  first?.();
  first?.();
  void ask(slots, "b", order);
  void ask(slots, "c", order);
  await settled();
  expect([order, slots.waiting()]).toEqual([["a", "b"], 1]);
});
