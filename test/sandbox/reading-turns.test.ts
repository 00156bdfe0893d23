import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { createReadingTurns } from "../../sandbox/reading-turns.ts";

const CHUNK = Buffer.alloc(1024);
const CHUNKS = 100;

/** Reads `CHUNKS` pieces of a stream, each of which takes so many milliseconds of a clock that stands still otherwise. */
function openWorld(costMs: number) {
  let atMs = 0;
  const turns = createReadingTurns(() => atMs);
  const follow = () => {
    const stream = new PassThrough({ highWaterMark: CHUNK.length * CHUNKS * 2 });
    const seen = { chunks: 0, end: (): void => undefined };
    seen.end = turns.follow(stream, () => {
      seen.chunks += 1;
      atMs += costMs;
    });
    for (let number = 0; number < CHUNKS; number += 1) stream.write(CHUNK);
    return { stream, seen };
  };
  return { follow, wait: (ms: number) => (atMs += ms) };
}

test("streams that take little time are read without a pause", async () => {
  const { follow } = openWorld(0.01);
  const streams = [follow(), follow()];
  await sleep(50);
  expect(streams.map(({ stream, seen }) => [stream.isPaused(), seen.chunks])).toEqual([
    [false, CHUNKS],
    [false, CHUNKS],
  ]);
});

test("streams that take much time wait for turns, another one does not, and the end gives all that is left", async () => {
  const { follow, wait } = openWorld(5);
  const greedy = [follow(), follow()];
  await sleep(50);
  for (const { stream, seen } of greedy) {
    expect(stream.isPaused()).toBe(true);
    expect(seen.chunks).toBeLessThan(CHUNKS);
  }
  const before = greedy.map(({ seen }) => seen.chunks);
  const modest = new PassThrough();
  const { stream, seen } = follow();
  modest.end();
  await sleep(20);
  expect(seen.chunks).toBeGreaterThan(0); // What every stream may take before it waits.
  wait(1_000);
  await sleep(200);
  for (const [index, one] of greedy.entries()) expect(one.seen.chunks).toBeGreaterThan(before[index] ?? CHUNKS);
  for (const one of [...greedy.map((each) => each.seen), seen]) one.end();
  await sleep(50);
  expect([stream, ...greedy.map((one) => one.stream)].map((one) => one.isPaused())).toEqual([false, false, false]);
  expect([seen, ...greedy.map((one) => one.seen)].map((one) => one.chunks)).toEqual([CHUNKS, CHUNKS, CHUNKS]);
});

test("streams that take much time have a fifth of the clock between them", async () => {
  const { follow, wait } = openWorld(5);
  const greedy = [follow(), follow()];
  await sleep(50);
  const count = () => greedy.reduce((sum, { seen }) => sum + seen.chunks, 0);
  const before = count();
  // 400 ms and what the chunks take themselves, of which a fifth is 20 chunks of 5 ms.
  for (let step = 0; step < 40; step += 1) {
    wait(10);
    await sleep(30);
  }
  const read = count() - before;
  expect(read).toBeGreaterThan(5);
  expect(read).toBeLessThan(26);
  for (const { seen } of greedy) seen.end();
});
