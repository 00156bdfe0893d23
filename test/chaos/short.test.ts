import { expect, test } from "@jest/globals";
import { S3_INSTALL_MS_MAX } from "../../bench/s3-programs.ts";
import { runChaos } from "../../chaos/chaos.ts";
import type { Evidence } from "../../chaos/evidence.ts";
import { DEPENDENCIES } from "../../chaos/faults/plan.ts";
import type { ChaosOptions } from "../../chaos/options.ts";
import { describeFindings, describeRun } from "../../chaos/report.ts";

const MANY_MINUTES_MS = 600_000;

const SHORT: Omit<ChaosOptions, "seed"> = {
  executions: 80,
  kills: 10,
  clients: 8,
  schedules: 5,
  secondsMax: undefined,
  hostile: false,
  cluster: false,
  keep: false,
};

/** Runs it; fails with the story where something was found. */
async function expectClean(change: Partial<ChaosOptions> & Pick<ChaosOptions, "seed">): Promise<Evidence> {
  const said: string[] = [];
  const chaos = { ...SHORT, ...change };
  const { evidence, findings, seconds, folder } = await runChaos({
    chaos,
    env: process.env,
    say: (line) => void said.push(line),
  });
  const story = [...said, ...describeRun(evidence, seconds), ...describeFindings(findings), folder].join("\n");
  expect(findings.length === 0 ? "" : story).toBe("");
  expect(evidence.executions.length).toBeGreaterThanOrEqual(chaos.executions);
  return evidence;
}

/** The short form of `npm run chaos`. With a seed, so that it is the same faults and calls each time. */
test(
  "the service, under fire with 10 kills of every kind, loses, doubles and miscounts nothing and leaves nothing behind",
  async () => {
    const evidence = await expectClean({ seed: "short" });
    const killed = evidence.lines.flatMap((line) =>
      line.type === "fault" && line.kind === "kill" && line.done ? [line.victim] : [],
    );
    expect(new Set(killed).size).toBeGreaterThanOrEqual(8);
    // With this seed each of the five schedules is due at least once; the last commits wait until one has started something.
    const outcomes = evidence.ticks.map(({ outcome }) => outcome);
    expect(outcomes.length).toBeGreaterThanOrEqual(5);
    expect(outcomes).toContain("started");
    // What is asked for, deleted, and turned off and on as a minute begins, is in every run.
    const asked = evidence.lines.flatMap((line) => (line.type === "request" ? [line.purpose] : []));
    expect(asked).toEqual(expect.arrayContaining(["publish", "backfill", "delete"]));
    expect(evidence.ticks.some(({ source }) => source === "backfill")).toBe(true);
    expect(new Set(evidence.schedules.map(({ timezone }) => timezone)).size).toBeGreaterThanOrEqual(4);
  },
  MANY_MINUTES_MS,
);

/** The short form of `npm run chaos -- --cluster`. */
test(
  "two processes that answer calls and two that run programs, killed, stopped and cut off, lose, double and miscount nothing",
  async () => {
    const { lines } = await expectClean({
      seed: "short",
      cluster: true,
      executions: 40,
      kills: 6,
      clients: 6,
      schedules: 3,
    });
    const done = lines.flatMap((line) => (line.type === "fault" && line.done ? [line] : []));
    expect(new Set(done.flatMap(({ kind, victim }) => (kind === "cut" ? [victim] : [])))).toEqual(
      new Set(DEPENDENCIES),
    );
    // Each member and its successor.
    expect(lines.filter((line) => line.type === "service" && line.event === "ready").length).toBeGreaterThanOrEqual(8);
  },
  MANY_MINUTES_MS + S3_INSTALL_MS_MAX,
);
