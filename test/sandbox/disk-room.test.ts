import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import type { AccountId } from "../../domain/ids.ts";
import { countRoom, createDiskRoom, findSuspect, type ShareState, withDiskRoom } from "../../sandbox/disk-room.ts";
import { createSlots } from "../../system/slots.ts";

const MIB = 1024 * 1024;
const share = (given: Partial<ShareState>): ShareState => ({
  bytesMax: 100 * MIB,
  seen: 0,
  passing: 0,
  mayHide: false,
  freeAtStart: 1_000 * MIB,
  ...given,
});

test("countRoom, beside programs under way, leaves the reserve and what each of them may still write", () => {
  expect(countRoom(1_000 * MIB, 200 * MIB, [])).toBe(800 * MIB);
  const shares = [share({}), share({ seen: 40 * MIB }), share({ seen: 130 * MIB })];
  expect(countRoom(1_000 * MIB, 200 * MIB, shares)).toBe((800 - 100 - 60 - 0) * MIB);
});

test("findSuspect, on a disk that fills up, names the program that holds most, however little that is of its limit", () => {
  const [small, large] = [share({ seen: 10 * MIB }), share({ seen: 30 * MIB })];
  expect(findSuspect(256 * MIB, 256 * MIB, [small, large])).toBeUndefined();
  expect(findSuspect(100 * MIB, 256 * MIB, [small, large])).toBe(large);
  expect(findSuspect(250 * MIB, 256 * MIB, [small, large])).toBeUndefined();
});

test("findSuspect, where space went that nobody is seen to hold, names the program that could hide it", () => {
  const [open, hiding] = [share({ seen: 2 * MIB }), share({ mayHide: true })];
  expect(findSuspect(100 * MIB, 256 * MIB, [open, hiding])).toBe(hiding);
  expect(findSuspect(100 * MIB, 256 * MIB, [open])).toBeUndefined();
  expect(findSuspect(100 * MIB, 256 * MIB, [])).toBeUndefined();
});

test("reserve, of more than fits beside others, waits in order until one of them has ended", async () => {
  const room = createDiskRoom("/", { readFree: () => 500 * MIB, reserve: 100 * MIB, lookEveryMs: 10 });
  const order: number[] = [];
  const take = async (bytes: number, name: number) => {
    const taken = await room.reserve(bytes * MIB);
    order.push(name);
    return taken;
  };
  const first = await take(300, 1);
  const second = take(200, 2);
  const third = take(50, 3); // It would fit, and waits all the same: else the large one never begins.
  await sleep(50);
  expect([order, room.waiting()]).toEqual([[1], 2]);
  first?.release();
  await Promise.all([second, third]);
  expect([order, room.waiting()]).toEqual([[1, 2, 3], 0]);
});

test("reserve, on a disk that others empty, begins by itself; cancelled while it waits, it never does", async () => {
  let free = 100 * MIB;
  const room = createDiskRoom("/", { readFree: () => free, reserve: 0, lookEveryMs: 10 });
  const leaving = new AbortController();
  const cancelled = room.reserve(200 * MIB, leaving.signal);
  const waiting = room.reserve(200 * MIB);
  leaving.abort();
  expect(await cancelled).toBeUndefined();
  expect(room.problem(200 * MIB)).toContain("has room for 100 MiB of outputs, and an execution may make 200 MiB");
  free = 300 * MIB;
  expect(await waiting).toBeDefined();
  expect(room.problem(200 * MIB)).toBeUndefined();
  expect(await room.reserve(1, AbortSignal.abort())).toBeUndefined();
});

test("reserve, of scratch folders, leaves room for the outputs of all others, and lets those pass while it waits", async () => {
  let free = 1_000 * MIB;
  const room = createDiskRoom("/", {
    readFree: () => free,
    reserve: 0,
    lookEveryMs: 10,
    programsMax: 4,
    outputBytes: 50 * MIB,
  });
  expect(room.scratchRoom()).toBe(800 * MIB);
  const first = await room.reserve(50 * MIB, undefined, 500 * MIB);
  let isSecondIn = false;
  const second = room.reserve(50 * MIB, undefined, 400 * MIB).then((share) => {
    isSecondIn = true;
    return share;
  });
  const small = [await room.reserve(50 * MIB), await room.reserve(50 * MIB), await room.reserve(50 * MIB)];
  expect(small.includes(undefined)).toBe(false);
  // What it has written is gone from the disk and no longer promised; it will be free again.
  free = 600 * MIB;
  first?.note({ bytes: 410 * MIB, scratchBytes: 400 * MIB, mayHide: false });
  expect(room.scratchRoom()).toBe(800 * MIB);
  await sleep(30);
  expect([isSecondIn, room.waiting()]).toEqual([false, 1]);
  free = 1_000 * MIB;
  first?.release();
  expect([await second, room.waiting()]).toEqual([expect.anything(), 0]);
});

test("withDiskRoom, whose taker's scratch folders cannot be found out, gives the slot back with the error", async () => {
  const room = createDiskRoom("/", { readFree: () => MIB, reserve: 0 });
  const slots = withDiskRoom(createSlots({ count: 1 }), room, 0, () => Promise.reject(new Error("no database")));
  const use = { accountId: "acc" as AccountId, id: "first" };
  await expect(slots.take(use)).rejects.toThrow("no database");
  expect(slots.takeNow(use)).toBeDefined();
});

test("note, of two programs that fill a disk, ends the larger one and leaves the other while the first is cleared away", async () => {
  let free = 1_000 * MIB;
  const room = createDiskRoom("/", { readFree: () => free, reserve: 256 * MIB });
  const [large, small] = [await room.reserve(100 * MIB), await room.reserve(100 * MIB)];
  const seen = (mib: number) => ({ bytes: mib * MIB, mayHide: false });
  expect([large?.note(seen(90)), small?.note(seen(80))]).toEqual([false, false]);
  free = 50 * MIB;
  expect([small?.note(seen(80)), large?.note(seen(90)), small?.note(seen(80))]).toEqual([false, true, false]);
  large?.release();
  expect(small?.note(seen(80))).toBe(true);
});

test("withDiskRoom, of a slot without room for it, waits with its slot; released or cancelled, it gives both back", async () => {
  let free = 100 * MIB;
  const room = createDiskRoom("/", { readFree: () => free, reserve: 0, lookEveryMs: 10 });
  const slots = withDiskRoom(createSlots({ count: 1 }), room, 80 * MIB);
  const use = (id: string) => ({ accountId: "acc" as AccountId, id });
  const release = await slots.take(use("first"));
  expect(slots.shareOf("first")).toBeDefined();
  release?.();
  expect(slots.shareOf("first")).toBeUndefined();
  free = 10 * MIB;
  const leaving = new AbortController();
  const cancelled = slots.take(use("second"), leaving.signal);
  const third = slots.take(use("third"));
  await sleep(30);
  expect([room.waiting(), slots.waiting()]).toEqual([1, 1]);
  leaving.abort();
  expect(await cancelled).toBeUndefined();
  free = 100 * MIB;
  expect(await third).toBeDefined();
});
