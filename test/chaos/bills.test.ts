import { expect, test } from "@jest/globals";
import { checkEvidence } from "../../chaos/checker/check.ts";
import { addLog, type Draft, soundEvidence, ticksOf } from "./evidence.ts";
import { answerTo, attemptOf, expectFound, type Planted, rowOf } from "./planted.ts";

/** Puts another time on the only attempt of the execution, and on everything that follows from it. */
function bill(draft: Draft, seconds: number): void {
  const [row, attempt] = [rowOf(draft, "executions", "ex_tally"), attemptOf(draft, "ex_tally")];
  const compute = Math.round(seconds * 10_000);
  for (const account of draft.accounts) account.balance += row.charge_total - compute - 1_000;
  Object.assign(row, { seconds_used: seconds, charge_compute: compute, charge_total: compute + 1_000 });
  Object.assign(attempt, { seconds_used: seconds });
  for (const entry of draft.ledger) if (entry.execution_id === "ex_tally") entry.amount = -compute - 1_000;
  const cost = { compute: compute / 1_000_000, total: (compute + 1_000) / 1_000_000 };
  for (const request of [1, 2]) Object.assign(answerTo(draft, request).body, { duration: seconds, cost });
}

/** The service hears nothing from 2.1 s on, for that long; what was said meanwhile it hears then. */
function stall(draft: Draft, ms: number): void {
  const ticks = ticksOf(2_010, 1_500).map(([said, heard]) => [said, heard < 2_150 ? heard : 2_150 + ms] as const);
  addLog(draft, rowOf(draft, "executions", "ex_tally"), ["begin", "end"], ticks);
}

const PLANTED: readonly Planted[] = [
  [
    "more time on the bill than went by",
    ["seconds"],
    (draft) => {
      attemptOf(draft, "ex_tally").ended_at = 2_500;
    },
  ],
  [
    "more time on the bill than the program took",
    ["seconds"],
    (draft) => {
      bill(draft, 10);
      attemptOf(draft, "ex_tally").ended_at = 12_100;
    },
  ],
  [
    "more time on most bills than their programs took",
    ["seconds", "differs", "price"],
    (draft) => {
      for (const id of ["ex_tally", "ex_faulty"])
        for (const attempt of draft.attempts.filter((each) => each.execution_id === id)) {
          attempt.seconds_used += 3;
          Object.assign(attempt, { started_at: 5_000 * attempt.attempt, ended_at: 5_000 * attempt.attempt + 4_900 });
          rowOf(draft, "executions", id).seconds_used += 3;
        }
    },
  ],
  ["less time on the bill than the program took", ["seconds"], (draft) => bill(draft, 0.75)],
  [
    "less time on the bill than a stall explains",
    ["seconds"],
    (draft) => {
      stall(draft, 300);
      bill(draft, 0.25);
    },
  ],
  [
    "a program that took less time than it was to take",
    ["seconds"],
    (draft) => {
      bill(draft, 0.5);
      addLog(draft, rowOf(draft, "executions", "ex_tally"), ["begin", "end"], ticksOf(2_010, 450));
    },
  ],
];

test.each(PLANTED)("checkEvidence, with %s, finds it", (...planted) => expectFound(planted));

test("checkEvidence, of a bill that ends where the service stood still, finds nothing", () => {
  const draft = soundEvidence();
  stall(draft, 1_400);
  bill(draft, 0.1);
  expect(checkEvidence(draft)).toEqual([]);
});

test("checkEvidence, of a bill of nothing for a program that was over before the service went on, finds nothing", () => {
  const draft = soundEvidence();
  const ticks = ticksOf(2_010, 1_500).map(([said], index) => [said, 3_600 + index] as const);
  addLog(draft, rowOf(draft, "executions", "ex_tally"), ["begin", "end"], ticks);
  bill(draft, 0);
  expect(checkEvidence(draft)).toEqual([]);
});

test("checkEvidence, of a bill that a busy machine made longer, finds nothing", () => {
  const draft = soundEvidence();
  bill(draft, 5);
  attemptOf(draft, "ex_tally").ended_at = 7_200;
  expect(checkEvidence(draft)).toEqual([]);
});
