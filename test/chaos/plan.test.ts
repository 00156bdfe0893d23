import { expect, test } from "@jest/globals";
import { planFaults, VICTIMS } from "../../chaos/faults/plan.ts";
import { contentOf } from "../../chaos/load/content.ts";
import { planCalls } from "../../chaos/load/plan.ts";
import { parseOptions, toCommand } from "../../chaos/options.ts";
import { createRandom } from "../../chaos/random.ts";

function firstCalls(seed: string, count: number) {
  const calls = planCalls(seed);
  return Array.from({ length: count }, () => calls.next().value);
}

test("createRandom, of one seed and two names, repeats itself and differs by name", () => {
  const draw = (seed: string, name: string) => Array.from({ length: 50 }, createRandom(seed, name).next);
  expect(draw("7", "a")).toEqual(draw("7", "a"));
  expect(draw("7", "a")).not.toEqual(draw("7", "b"));
  expect(draw("7", "a")).not.toEqual(draw("8", "a"));
});

test("createRandom, drawn from 100,000 times, is spread evenly over 0 to 1", () => {
  const random = createRandom("spread", "test");
  const buckets = Array.from({ length: 10 }, () => 0);
  for (let draws = 0; draws < 100_000; draws += 1) {
    const value = random.next();
    expect(value >= 0 && value < 1).toBe(true);
    const bucket = Math.floor(value * 10);
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }
  // Five standard deviations of a binomial distribution: 5 × √(100,000 × 0.1 × 0.9).
  for (const count of buckets) expect(Math.abs(count - 10_000)).toBeLessThan(475);
});

test("planFaults, asked twice with one seed, gives the same faults, and others with another seed", () => {
  expect(planFaults("42", 60)).toEqual(planFaults("42", 60));
  expect(planFaults("43", 60)).not.toEqual(planFaults("42", 60));
});

test("planFaults, of 60 kills, has 6 of every kind of process, all other faults beside them, in the order of their time", () => {
  const faults = planFaults("42", 60);
  const kills = faults.flatMap((fault) => (fault.kind === "kill" ? [fault.victim] : []));
  for (const victim of VICTIMS) expect(kills.filter((each) => each === victim)).toHaveLength(6);
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(["kill", "pause", "refuse", "fill", "restart"]));
  const times = faults.map(({ at }) => at);
  expect(times).toEqual([...times].sort((one, other) => one - other));
  expect(Math.max(...times)).toBeLessThan(1);
});

test("planCalls, asked twice with one seed, gives the same calls, each with a token of its own", () => {
  const calls = firstCalls("42", 500);
  expect(firstCalls("42", 500)).toEqual(calls);
  expect(new Set(calls.map(({ token }) => token)).size).toBe(500);
  expect(new Set(calls.map(({ workflow }) => workflow)).size).toBe(6);
});

test("contentOf, of one file, has the size asked for and is the same each time, and differs from file to file", () => {
  expect(contentOf("t", 0, 1_000)).toHaveLength(1_000);
  expect(contentOf("t", 0, 1_000).equals(contentOf("t", 0, 1_000))).toBe(true);
  expect(contentOf("t", 1, 1_000).equals(contentOf("t", 0, 1_000))).toBe(false);
});

test("parseOptions, given what toCommand tells, reads the same run again", () => {
  const options = parseOptions(["--executions", "80", "--kills", "9", "--seed", "x1", "--clients", "4"]);
  expect(parseOptions(toCommand(options).split(" ").slice(4))).toEqual(options);
});

test.each([
  ["--kills", "many"],
  ["--kills", "-1"],
  ["--executions", "0"],
  ["--seed", "a b"],
  ["--what", "1"],
])("parseOptions, with %s %s, is refused", (name, value) => {
  expect(() => parseOptions([`${name}=${value}`])).toThrow(/seed|whole number|what/);
});
