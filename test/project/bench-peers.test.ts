import { setImmediate as yieldOnce } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { expectAnswer } from "../../bench/peers/answers.ts";
import { type Clock, measureClosed, measureInTurn, measureOpen } from "../../bench/peers/loads.ts";
import type { Slice } from "../../bench/peers/slices.ts";
import { findCapacity, READINGS, summarise } from "../../bench/peers/summary.ts";
import { type Reading, toMachineMs, toUsage } from "../../bench/peers/usage.ts";

const right = async (): Promise<boolean> => true;

/** A clock that only a sleep moves on, when all that is due has happened. */
function createClock(): Clock & { advance(ms: number): void } {
  let now = 1_000;
  const advance = (ms: number): void => void (now += ms);
  return { now: () => now, advance, sleep: (ms) => yieldOnce().then(() => advance(ms)) };
}

test("constant arrivals, when the first call makes the clock stand, count the time of the others from when they were due", async () => {
  const clock = createClock();
  // One call takes a second during which nothing else can be sent, the others take nothing.
  const call = async (number: number) => {
    if (number === 0) clock.advance(1_000);
    return right;
  };
  const { done, errors } = await measureOpen(call, { perSecond: 10, seconds: 1 }, clock);
  expect(errors).toEqual([]);
  expect(done.map(({ ms }) => Math.round(ms))).toEqual([1000, 900, 800, 700, 600, 500, 400, 300, 200, 100]);
});

test("constant arrivals, when a call never delays the next, come at their rate and cost nothing", async () => {
  const clock = createClock();
  const sentAt: number[] = [];
  const call = async () => {
    sentAt.push(Math.round(clock.now() - 1_000));
    return right;
  };
  const { done } = await measureOpen(call, { perSecond: 4, seconds: 1 }, clock);
  expect(sentAt).toEqual([0, 250, 500, 750]);
  expect(done.map(({ ms }) => Math.round(ms))).toEqual([0, 0, 0, 0]);
});

test("a closed loop, with a call that fails, keeps its message, counts it nowhere and goes on", async () => {
  const clock = createClock();
  const call = async (number: number) => {
    clock.advance(100);
    if (number === 1) throw new Error("no");
    return right;
  };
  const { done, errors, seconds } = await measureClosed(call, { callers: 1, seconds: 0.5 }, clock);
  expect(done.map(({ ms }) => ms)).toEqual([100, 100, 100, 100]);
  expect(errors).toEqual(["no"]);
  expect(seconds).toBe(0.5);
});

test("calls in turn, when a peer works on after its answer, come in blocks, and bare starts wait until it is done", async () => {
  const clock = createClock();
  const order: string[] = [];
  let busyUntil = 0;
  const bare = async () => {
    order.push(clock.now() < busyUntil ? "disturbed" : "bare");
    return right;
  };
  const peer = async () => {
    busyUntil = clock.now() + 100;
    order.push("peer");
    return right;
  };
  await measureInTurn({ bare, nextPeer: async () => peer }, { seconds: 9, most: 12 }, clock);
  const block = (count: number) => [...Array<string>(count).fill("bare"), ...Array<string>(count).fill("peer")];
  expect(order).toEqual([...block(10), ...block(2)]);
});

function aReading(reading: Partial<Reading>): Reading {
  return { at: 0, machineMs: 0, suiteMs: 0, peerMs: 0, byName: new Map(), ...reading };
}

test("processor time, with programs that have ended, is told by part, and what is left over is the program's", () => {
  const before = aReading({
    byName: new Map([
      ["node", 10],
      ["temporal-1.8.2-", 1],
      ["postgres", 2],
    ]),
  });
  const byName = new Map([
    ["node", 10.5],
    ["temporal-1.8.2-", 1.2],
    ["postgres", 2.1],
    ["python3.11", 7],
  ]);
  const after = aReading({ at: 2_000, peerMs: 1_500, byName });
  const { processorMs } = toUsage(before, after, /^temporal/);
  expect(Object.values(processorMs).map(Math.round)).toEqual([500, 200, 100, 700]);
});

test("noise, when others use a core of two, is one core, whatever the suite and the peer use", () => {
  const before = aReading({ at: 500, machineMs: 10_000, suiteMs: 4_000 });
  const after = aReading({ at: 2_500, machineMs: 13_500, suiteMs: 5_500 });
  expect(toUsage(before, after).noiseCores).toBe(1);
});

test("noise, when the clocks of machine and suite differ by a tick, is never negative", () => {
  expect(toUsage(aReading({}), aReading({ at: 1_000, machineMs: 990, suiteMs: 1_000 })).noiseCores).toBe(0);
});

test("the busy time of /proc/stat leaves out idling, waiting for disks and guests, and has the time of others' machines", () => {
  expect(toMachineMs("cpu  1 2 4 100 200 8 16 32 400 800")).toBe((1 + 2 + 4 + 8 + 16 + 32) * 10);
});

function aSlice(slice: Partial<Slice>): Slice {
  const processorMs = { service: 0, engine: 0, database: 0, program: 0 };
  return {
    peer: "A",
    load: "hello",
    round: 0,
    at: "",
    calls: [1],
    bare: [1],
    perSecond: 1,
    wrong: 0,
    errors: [],
    processorMs,
    quietAfterSeconds: 0,
    noiseCores: 0,
    ...slice,
  };
}

test("a ratio, of rounds at different speeds of the machine, is the median of each round's own ratio", () => {
  const slices = [
    aSlice({ calls: [20, 20, 20], bare: [10, 10, 10] }),
    aSlice({ calls: [90, 90, 90], bare: [30, 30, 30] }),
    aSlice({ calls: [40, 40, 40], bare: [10, 10, 10] }),
  ];
  const spread = summarise(slices, { peer: "A", load: "hello", read: READINGS.p50Ratio });
  expect(spread).toEqual({ median: 3, least: 2, most: 4, rounds: 3, isNoisy: false });
});

test("a figure, when others used the machine in some rounds, is of the quiet ones; with none it says so", () => {
  const noisy = aSlice({ load: "hello8", perSecond: 10, noiseCores: 0.9 });
  const quiet = [30, 50].map((perSecond) => aSlice({ load: "hello8", perSecond }));
  expect(findCapacity([noisy, ...quiet], "A")).toBe(40);
  const alone = summarise([noisy], { peer: "A", load: "hello8", read: READINGS.perSecond });
  expect(alone).toMatchObject({ median: 10, isNoisy: true });
});

test("a total, of calls in turn with bare ones, is compared with the bare total, not with its median", () => {
  const slice = aSlice({ calls: [10, 10, 40], bare: [5, 5, 20] });
  expect(READINGS.totalRatio(slice)).toBe(2);
});

test("what a program must answer is worked out for each value", () => {
  expect(expectAnswer("hello", "Ada")).toBe("Hello, Ada!");
  expect([expectAnswer("fib", "10"), expectAnswer("fib", "33")]).toEqual(["55", "3524578"]);
  expect(expectAnswer("pandas", "500")).toBe("500");
});
