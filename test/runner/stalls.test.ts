import { expect, test } from "@jest/globals";
import { watchStalls } from "../../sandbox/stalls.ts";

function aWatch() {
  const clock = { ms: 1_000 };
  const stalls = watchStalls(() => clock.ms);
  stalls.stop();
  return { clock, stalls };
}

test("earliest, while time goes by as it should, is the moment itself", () => {
  const { stalls } = aWatch();
  for (let ms = 1_050; ms < 3_000; ms += 50) expect(stalls.earliest(ms)).toBe(ms);
});

test("earliest, of what is noticed at the end of a stall and a moment later, is when the stall began", () => {
  const { stalls } = aWatch();
  expect(stalls.earliest(4_000)).toBe(1_000);
  expect(stalls.earliest(4_080)).toBe(1_000);
  expect(stalls.earliest(4_150)).toBe(4_150);
});

test("hasJustEnded, after a stall, is true for a moment", () => {
  const { clock, stalls } = aWatch();
  expect(stalls.hasJustEnded()).toBe(false);
  clock.ms = 2_000;
  expect(stalls.hasJustEnded()).toBe(true);
  clock.ms = 2_200;
  expect(stalls.hasJustEnded()).toBe(false);
});
