import { expect, test } from "@jest/globals";
import { DEPENDENCIES, planFaults, VICTIMS } from "../../chaos/faults/plan.ts";
import { contentOf } from "../../chaos/load/content.ts";
import { planCalls } from "../../chaos/load/plan.ts";
import { type PlannedCommit, planSchedules, SCHEDULES_MAX, type ScheduleStep } from "../../chaos/load/schedules.ts";
import { parseOptions, toCommand } from "../../chaos/options.ts";
import { createRandom } from "../../chaos/random.ts";
import type { Declared } from "../../chaos/record.ts";

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
  // What is outside of 0 to 1 falls into a bucket of its own. No `expect` a draw: that takes half a minute.
  const buckets: Record<string, number> = {};
  const { floor } = Math;
  for (let draws = 0; draws < 100_000; draws += 1) {
    const bucket = floor(random.next() * 10);
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }
  expect(Object.keys(buckets)).toEqual(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
  // Five standard deviations of a binomial distribution: 5 × √(100,000 × 0.1 × 0.9).
  for (const count of Object.values(buckets)) expect(Math.abs(count - 10_000)).toBeLessThan(475);
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

test("planFaults, of several processes, cuts them off from each server besides", () => {
  const cuts = planFaults("42", 20, true).flatMap((fault) => (fault.kind === "cut" ? [fault.from] : []));
  expect(new Set(cuts)).toEqual(new Set(DEPENDENCIES));
});

test("planCalls, asked twice with one seed, gives the same calls, each with a token of its own", () => {
  const calls = firstCalls("42", 500);
  expect(firstCalls("42", 500)).toEqual(calls);
  expect(new Set(calls.map(({ token }) => token)).size).toBe(500);
  expect(new Set(calls.map(({ workflow }) => workflow)).size).toBe(6);
});

test("planSchedules, asked twice with one seed, gives the same commits in the order of their time, and others with another seed", () => {
  const given = { count: SCHEDULES_MAX, changes: 40 };
  const { steps } = planSchedules("42", given);
  expect(planSchedules("42", given).steps).toEqual(steps);
  expect(planSchedules("43", given).steps).not.toEqual(steps);
  const times = steps.map(({ at }) => at);
  expect(times).toEqual(times.toSorted((one, other) => one - other));
  expect(Math.max(...times)).toBeLessThan(1);
});

test("planSchedules, of all workflows, has every policy, and pauses, resumes, moves, removes and puts back", () => {
  const { workflows, steps, last } = planSchedules("42", { count: SCHEDULES_MAX, changes: 60 });
  const policies = (key: "overlap" | "catchup") => new Set(workflows.map(({ first }) => first[key]));
  expect(policies("overlap")).toEqual(new Set(["skip", "queue", "allow", "cancel_previous"]));
  expect(policies("catchup")).toEqual(new Set(["none", "latest", "all"]));
  const current = new Map(workflows.map(({ name, first }) => [name, first as Declared | null]));
  const kinds = toCommits(steps).map(({ name, declared }) => {
    const before = current.get(name) ?? null;
    current.set(name, declared);
    if (before === null || declared === null) return before === null ? "put back" : "removed";
    if (before.enabled !== declared.enabled) return declared.enabled ? "resumed" : "paused";
    return before.cron === declared.cron ? "left" : "moved";
  });
  expect(new Set(kinds)).toEqual(new Set(["paused", "resumed", "moved", "removed", "put back", "left"]));
  const deleted = steps.flatMap((step) => (step.kind === "delete" ? [step.name] : []));
  expect(last.map(({ name }) => name)).toEqual(
    workflows.map(({ name }) => name).filter((name) => !deleted.includes(name)),
  );
  expect(new Set(last.map(({ declared }) => declared?.enabled))).toEqual(new Set([undefined, false, true]));
});

function toCommits(steps: readonly ScheduleStep[]): PlannedCommit[] {
  return steps.flatMap((step) => {
    if (step.kind === "commit") return [step];
    return step.kind === "moment" ? step.commits : [];
  });
}

test.each([
  [5, 5],
  [SCHEDULES_MAX, 30],
])(
  "planSchedules, of %i workflows and %i changes, begins with a minute that is just beginning, asks for past ticks and deletes a workflow",
  (count, changes) => {
    for (const seed of ["1", "2", "3", "4", "5"]) {
      const { workflows, steps } = planSchedules(seed, { count, changes });
      const extras = Math.floor(changes / 10);
      const moments = steps.flatMap((step) => (step.kind === "moment" ? [step] : []));
      expect(moments).toHaveLength(1 + extras);
      expect(moments[0]).toMatchObject({ at: 0, commits: [{ declared: {} }, { declared: {} }] });
      expect(steps.filter(({ kind }) => kind === "backfill")).toHaveLength(1 + extras);
      const zones = new Set(workflows.map(({ first }) => first.timezone));
      expect([zones.has("Asia/Kolkata"), zones.size > 3]).toEqual([true, true]);
      const deletedAt = steps.findIndex(({ kind }) => kind === "delete");
      const deleted = steps[deletedAt] as Extract<ScheduleStep, { kind: "delete" }>;
      expect(toCommits(steps.slice(deletedAt)).map(({ name }) => name)).not.toContain(deleted.name);
    }
  },
);

test("planSchedules, of any seed, asks for past ticks of a schedule that is there, and turns off what is on", () => {
  for (let seed = 0; seed < 50; seed += 1) {
    const { workflows, steps } = planSchedules(`${seed}`, { count: SCHEDULES_MAX, changes: 60 });
    const current = new Map(workflows.map(({ name, first }) => [name, first as Declared | null]));
    for (const step of steps) {
      if (step.kind === "backfill") expect(current.get(step.name)).not.toBeNull();
      if (step.kind === "moment")
        for (const { name, declared } of step.commits)
          expect(declared?.enabled).toBe(current.get(name)?.enabled !== true);
      for (const { name, declared } of toCommits([step])) current.set(name, declared);
    }
  }
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
  ["--schedules", "99"],
  ["--seed", "a b"],
  ["--what", "1"],
])("parseOptions, with %s %s, is refused", (name, value) => {
  expect(() => parseOptions([`${name}=${value}`])).toThrow(/seed|whole number|what/);
});
