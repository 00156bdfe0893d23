import { expect, test } from "@jest/globals";
import { checkEvidence } from "../../chaos/checker/check.ts";
import { attemptOf, expectFound, type Planted, rowOf } from "./planted.ts";
import { minute, scheduledEvidence, scheduleOf, tickOf, troubleIn } from "./scheduled-evidence.ts";

const TICKS: readonly Planted[] = [
  [
    "a tick without a record",
    ["tick_missing"],
    (draft) => {
      draft.ticks = draft.ticks.filter((tick) => tick !== tickOf(draft, "skip", 22));
    },
  ],
  [
    "a tick with two records",
    ["tick_doubled"],
    (draft) => {
      draft.ticks.push({ ...tickOf(draft, "skip", 22) });
    },
  ],
  [
    "a tick of a schedule that was removed",
    ["tick_stray"],
    (draft) => {
      draft.ticks.push({ ...tickOf(draft, "skip", 22), nominal_at: minute(25), decided_at: minute(26) });
    },
  ],
  [
    "a tick at a time that the cron does not mean",
    ["tick_stray"],
    (draft) => {
      const { workflow_id } = scheduleOf(draft, "cancel", 1);
      draft.ticks.push({
        ...tickOf(draft, "skip", 22),
        workflow_id,
        nominal_at: minute(25),
        decided_at: minute(26),
      });
    },
  ],
  [
    "a tick that is said to be paused, and was not",
    ["tick_outcome"],
    (draft) => {
      tickOf(draft, "skip", 24).outcome = "paused";
    },
  ],
  [
    "a tick that was due while paused, and was skipped",
    ["tick_outcome"],
    (draft) => {
      tickOf(draft, "skip", 22).outcome = "skipped_overlap";
    },
  ],
  [
    "a tick that was skipped for nothing",
    ["tick_outcome", "price", "seconds"],
    (draft) => {
      const { execution_id } = tickOf(draft, "skip", 23);
      const row = rowOf(draft, "executions", String(execution_id));
      row.finished_at = minute(23) + 50_000;
      attemptOf(draft, row.id).ended_at = minute(23) + 50_000;
      for (const given of [row, attemptOf(draft, row.id)]) given.seconds_used = 49;
    },
  ],
  [
    "a tick that was skipped though its schedule queues",
    ["tick_outcome", "declared"],
    (draft) => {
      scheduleOf(draft, "skip", 2).overlap = "queue";
    },
  ],
  [
    "a tick that was missed while nothing was wrong",
    ["tick_outcome"],
    (draft) => {
      Object.assign(tickOf(draft, "skip", 24), { outcome: "missed", decided_at: minute(26) });
    },
  ],
  [
    "a tick that was missed, and was the latest",
    ["tick_outcome"],
    (draft) => {
      troubleIn(draft, 24);
      Object.assign(tickOf(draft, "skip", 24), { outcome: "missed", decided_at: minute(25) - 1 });
    },
  ],
  [
    "a tick that was missed though its schedule catches up with all",
    ["tick_outcome", "declared"],
    (draft) => {
      troubleIn(draft, 24);
      scheduleOf(draft, "skip", 2).catchup = "all";
      Object.assign(tickOf(draft, "skip", 24), { outcome: "missed", decided_at: minute(26) });
    },
  ],
  [
    "a tick without a commit, of a workflow that had one",
    ["tick_outcome"],
    (draft) => {
      tickOf(draft, "skip", 24).outcome = "no_commit";
    },
  ],
  [
    "a tick that was refused credits",
    ["tick_outcome"],
    (draft) => {
      tickOf(draft, "skip", 21).outcome = "refused_credits";
    },
  ],
  [
    "a tick that was refused by a limit that nobody set",
    ["tick_outcome"],
    (draft) => {
      tickOf(draft, "skip", 24).outcome = "refused_concurrency";
    },
  ],
  [
    "a tick that somebody asked for afterwards",
    ["tick_outcome"],
    (draft) => {
      tickOf(draft, "skip", 21).source = "backfill";
    },
  ],
  [
    "a tick that was decided before it was due",
    ["tick_outcome"],
    (draft) => {
      tickOf(draft, "skip", 21).decided_at = minute(21) - 1;
    },
  ],
];

const EXECUTIONS: readonly Planted[] = [
  [
    "a started tick without its execution",
    ["tick_execution"],
    (draft) => {
      tickOf(draft, "skip", 21).execution_id = "ex_gone";
    },
  ],
  [
    "an execution of two ticks",
    ["tick_execution", "cancelled"],
    (draft) => {
      tickOf(draft, "cancel", 22).execution_id = tickOf(draft, "cancel", 21).execution_id;
    },
  ],
  [
    "a skipped tick with an execution",
    ["tick_execution"],
    (draft) => {
      tickOf(draft, "skip", 24).execution_id = "ex_skip_23";
    },
  ],
  [
    "a tick that names the execution of another workflow",
    ["tick_execution", "tick_commit", "overlapped"],
    (draft) => {
      const [one, other] = [tickOf(draft, "skip", 21), tickOf(draft, "cancel", 22)];
      [one.execution_id, other.execution_id] = [other.execution_id, one.execution_id];
    },
  ],
  [
    "a call's execution that is a tick's, too",
    ["tick_execution"],
    (draft) => {
      tickOf(draft, "skip", 21).execution_id = "ex_tally";
    },
  ],
  [
    "an execution of the clock that no tick began",
    ["tick_execution", "tick_missing", "cancelled"],
    (draft) => {
      draft.ticks = draft.ticks.filter(({ nominal_at }) => nominal_at !== minute(21));
    },
  ],
  [
    "an execution with the payload of an earlier commit",
    ["tick_commit"],
    (draft) => {
      tickOf(draft, "skip", 21).decided_at = minute(21) + 40_000;
    },
  ],
  [
    "an execution with the payload of a later commit",
    ["tick_commit", "tick_outcome"],
    (draft) => {
      tickOf(draft, "skip", 23).decided_at = minute(22) + 20_000;
    },
  ],
  [
    "two executions at the same time where one is to be cancelled",
    ["overlapped"],
    (draft) => {
      attemptOf(draft, "ex_cancel_22").started_at = minute(22) + 100;
    },
  ],
  [
    "a cancelled execution that no later tick replaced",
    ["cancelled"],
    (draft) => {
      rowOf(draft, "executions", "ex_cancel_21").finished_at = minute(21) + 40_000;
      attemptOf(draft, "ex_cancel_21").ended_at = minute(21) + 40_000;
    },
  ],
];

test("checkEvidence, of schedules with which all was well, finds nothing", () => {
  expect(checkEvidence(scheduledEvidence())).toEqual([]);
});

test("checkEvidence, of a tick missed for one that was due after its schedule had been paused, finds it", () => {
  const draft = scheduledEvidence();
  troubleIn(draft, 21);
  Object.assign(tickOf(draft, "skip", 21), { outcome: "missed", decided_at: minute(23) - 1_000 });
  const found = checkEvidence(draft).filter(({ rule }) => rule === "tick_outcome");
  expect(found.map(({ text }) => text)).toEqual([expect.stringContaining("and was the latest")]);
});

test("checkEvidence, of a tick missed while the service was away and another was due, allows that the latest alone starts", () => {
  const draft = scheduledEvidence();
  troubleIn(draft, 23);
  const { execution_id } = tickOf(draft, "skip", 23);
  const decided_at = minute(24) + 500;
  Object.assign(tickOf(draft, "skip", 23), { outcome: "missed", source: "repair", execution_id: null, decided_at });
  Object.assign(tickOf(draft, "skip", 24), { outcome: "started", execution_id, decided_at });
  expect(checkEvidence(draft)).toEqual([]);
});

test("checkEvidence, of a tick that was found when its schedule had been removed, allows that there is no commit for it", () => {
  const draft = scheduledEvidence();
  Object.assign(tickOf(draft, "skip", 24), { outcome: "no_commit", decided_at: minute(25) + 5_000 });
  expect(checkEvidence(draft)).toEqual([]);
});

test.each([...TICKS, ...EXECUTIONS])("checkEvidence, with %s, finds it", (...planted) =>
  expectFound(planted, scheduledEvidence),
);
