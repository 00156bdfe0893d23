import { expect, test } from "@jest/globals";
import { runChaos } from "../../chaos/chaos.ts";
import { describeFindings, describeRun } from "../../chaos/report.ts";

const MANY_MINUTES_MS = 600_000;

/** The short form of `npm run chaos`. With a seed, so that it is the same faults and calls each time. */
test(
  "the service, under fire with 10 kills of every kind, loses, doubles and miscounts nothing and leaves nothing behind",
  async () => {
    const said: string[] = [];
    const { evidence, findings, seconds, folder } = await runChaos({
      chaos: {
        executions: 80,
        kills: 10,
        seed: "short",
        clients: 8,
        schedules: 5,
        secondsMax: undefined,
        hostile: false,
        keep: false,
      },
      env: process.env,
      say: (line) => void said.push(line),
    });
    const story = [...said, ...describeRun(evidence, seconds), ...describeFindings(findings), folder].join("\n");
    expect(findings.length === 0 ? "" : story).toBe("");
    const killed = evidence.lines.flatMap((line) =>
      line.type === "fault" && line.kind === "kill" && line.done ? [line.victim] : [],
    );
    expect(new Set(killed).size).toBeGreaterThanOrEqual(8);
    expect(evidence.executions.length).toBeGreaterThanOrEqual(80);
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
