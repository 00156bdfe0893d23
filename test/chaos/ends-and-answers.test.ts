import { expect, test } from "@jest/globals";
import { checkEvidence } from "../../chaos/checker/check.ts";
import { type Draft, soundEvidence } from "./evidence.ts";
import { answerTo, attemptOf, expectFound, type Planted, rowOf } from "./planted.ts";

const PLANTED: readonly Planted[] = [
  [
    "an execution that has not ended",
    ["open", "attempts"],
    (draft) => {
      Object.assign(rowOf(draft, "executions", "ex_cancelled"), { state: "running", finished_at: null });
      draft.lines = draft.lines.filter((line) => !("request" in line) || line.request < 8);
      draft.lines.push(...soundEvidence().lines.filter((line) => line.type === "request" && line.request === 8));
      draft.lines.push({ type: "silence", at: 2_000, request: 8, cause: "hung_up", reason: "" });
    },
  ],
  [
    "an execution that nobody asked for",
    ["unasked"],
    (draft) => {
      rowOf(draft, "executions", "ex_pack").token = "t-99";
    },
  ],
  [
    "an accepted execution that is not in the record",
    ["lost", "money_of_nobody", "orphan", "unknown"],
    (draft) => {
      draft.executions = draft.executions.filter(({ id }) => id !== "ex_tally");
    },
  ],
  [
    "a call that became two executions",
    ["doubled"],
    (draft) => {
      const twin = { ...rowOf(draft, "executions", "ex_cancelled"), id: "ex_twin" };
      draft.executions.push(twin);
      draft.reservations.push({ execution_id: "ex_twin", amount: 1, state: "released" });
      draft.lines.push({
        type: "request",
        at: 1_000,
        request: 50,
        purpose: "cancel",
        workflow: "endless",
        executionId: "ex_twin",
      });
      draft.lines.push({ type: "silence", at: 1_000, request: 50, cause: "hung_up", reason: "" });
    },
  ],
  [
    "an answer with somebody else's execution",
    ["differs", "mixed_up"],
    (draft) => {
      answerTo(draft, 1).body.executionId = "ex_faulty";
    },
  ],
  [
    "a refused call that is in the record",
    ["refused"],
    (draft) => {
      draft.lines = draft.lines.filter((line) => line.type !== "silence" || line.request !== 5);
      draft.lines.push({ type: "silence", at: 9_000, request: 5, cause: "refused", reason: "ECONNREFUSED" });
      draft.lines.push({ type: "fault", at: 1_000, until: 9_000, kind: "restart", note: "", done: true });
    },
  ],
  [
    "another end than the inputs demand",
    ["differs", "end"],
    (draft) => {
      rowOf(draft, "executions", "ex_tally").state = "failed";
    },
  ],
  [
    "a failure for another reason",
    ["message"],
    (draft) => {
      rowOf(draft, "executions", "ex_faulty").message = "OSError: something else";
    },
  ],
  [
    "a program that was killed by nobody",
    ["end", "differs"],
    (draft) => {
      Object.assign(rowOf(draft, "executions", "ex_tally"), {
        state: "failed",
        message: "The process was killed by SIGKILL.",
      });
    },
  ],
  [
    "a fault of ours without a reason",
    ["failure", "lost_attempt", "silence"],
    (draft) => void (draft.lines = draft.lines.filter(({ type }) => type !== "fault")),
  ],
  [
    "an execution given up at the first trouble",
    ["given_up"],
    (draft) => {
      draft.attempts = draft.attempts.filter(
        ({ execution_id, attempt }) => execution_id !== "ex_given_up" || attempt < 3,
      );
    },
  ],
  [
    "an execution given up within a moment",
    ["given_up"],
    (draft) => {
      for (const attempt of [1, 2, 3])
        Object.assign(attemptOf(draft, "ex_given_up", attempt), {
          started_at: 150_000 + attempt,
          ended_at: 150_001 + attempt,
        });
      rowOf(draft, "executions", "ex_given_up").finished_at = 151_000;
    },
  ],
  [
    "a cancelled execution that nobody cancelled",
    ["cancelled"],
    (draft) => {
      draft.lines = draft.lines.filter((line) => !("request" in line) || line.request !== 9);
    },
  ],
  [
    "an answer with another cost",
    ["differs"],
    (draft) => {
      answerTo(draft, 1).body.cost = { compute: 0.015, total: 0.017 };
    },
  ],
  [
    "an answer without an output",
    ["differs"],
    (draft) => {
      answerTo(draft, 2).body.outputs = {};
    },
  ],
  [
    "an answer with another duration",
    ["differs"],
    (draft) => {
      answerTo(draft, 2).body.duration = 1.6;
    },
  ],
  [
    "a failed execution that was answered with 200",
    ["differs"],
    (draft) => {
      answerTo(draft, 6).status = 200;
    },
  ],
  [
    "an ended execution that is said to run",
    ["stale"],
    (draft) => {
      Object.assign(answerTo(draft, 2).body, { status: "running" });
      for (const line of draft.lines) if (line.type === "request" && line.request === 2) line.at = 9_500;
    },
  ],
  [
    "an apology without a reason",
    ["apology"],
    (draft) => {
      Object.assign(answerTo(draft, 2), { status: 503, body: { error: "Service busy" } });
    },
  ],
  [
    "a good request that was refused",
    ["unknown", "refused"],
    (draft) => {
      Object.assign(answerTo(draft, 1), { status: 400, body: { error: "Invalid request" } });
    },
  ],
  [
    "a cancellation that was accepted and forgotten",
    ["cancel", "cancelled"],
    (draft) => {
      rowOf(draft, "executions", "ex_cancelled").cancel_requested_at = null;
    },
  ],
  [
    "a file that came with another content",
    ["file"],
    (draft) => {
      Object.assign(answerTo(draft, 3), { sha256: "0".repeat(64) });
    },
  ],
];

test("checkEvidence, of a run in which all was well, finds nothing", () => {
  expect(checkEvidence(soundEvidence())).toEqual([]);
});

test("checkEvidence, of an execution that was cancelled between its tries, does not miss the others", () => {
  const draft = soundEvidence();
  draft.attempts = draft.attempts.filter((row) => row.execution_id !== "ex_faulty" || row.attempt === 1);
  const bill = { seconds_used: 0.25, charge_compute: 2_500, charge_total: 3_500 };
  Object.assign(rowOf(draft, "executions", "ex_faulty"), { ...bill, cancel_requested_at: 3_500 });
  for (const entry of draft.ledger) if (entry.execution_id === "ex_faulty") entry.amount = -3_500;
  for (const account of draft.accounts) account.balance += 2_500;
  Object.assign(answerTo(draft, 6).body, { duration: 0.25, cost: { compute: 0.0025, total: 0.0035 } });
  expect(checkEvidence(draft)).toEqual([]);
});

function endService(draft: Draft, fault: { at: number; until: number }, endedAt: number): void {
  draft.lines.push(
    { type: "fault", ...fault, kind: "kill", victim: "service", note: "", done: true },
    { type: "service", at: endedAt, event: "ended", note: "process 5: SIGKILL" },
    { type: "service", at: endedAt + 120_000, event: "ready", note: "process 6" },
    { type: "request", at: endedAt + 100_000, request: 60, purpose: "log", workflow: "tally", executionId: "ex_tally" },
    { type: "silence", at: endedAt + 100_001, request: 60, cause: "refused", reason: "ECONNREFUSED" },
  );
}

test("checkEvidence, of a killed service that takes two minutes to start, allows that nobody listens meanwhile", () => {
  const draft = soundEvidence();
  endService(draft, { at: 1_000_000, until: 1_000_010 }, 1_000_005);
  expect(checkEvidence(draft)).toEqual([]);
});

test("checkEvidence, of a service that ended long after any fault, finds that nobody listened", () => {
  const draft = soundEvidence();
  endService(draft, { at: 1_000_000, until: 1_000_010 }, 1_100_000);
  expect(checkEvidence(draft).map(({ rule }) => rule)).toEqual(["silence"]);
});

test.each(PLANTED)("checkEvidence, with %s, finds it", (...planted) => expectFound(planted));

/** The killed-for-memory execution of somebody who sent no request: what a hostile tenant's looks like. */
function makeHostile(draft: Draft): Draft["executions"][number] {
  const row = rowOf(draft, "executions", "ex_pack");
  Object.assign(row, { workflow_id: "wf_hostile", token: null });
  draft.hostile.push("wf_hostile");
  const isOf = (line: Draft["lines"][number]): boolean => "token" in line && line.token === "t-2";
  const numbers = draft.lines.flatMap((line) => (isOf(line) && "request" in line ? [line.request] : []));
  draft.lines = draft.lines.filter((line) => !("request" in line) || !numbers.includes(line.request));
  return row;
}

test("checkEvidence, of a hostile tenant's run that nobody recorded, allows it, whatever its end", () => {
  const draft = soundEvidence();
  makeHostile(draft).state = "out_of_memory";
  attemptOf(draft, "ex_pack").status = "out_of_memory";
  expect(checkEvidence(draft)).toEqual([]);
});

test("checkEvidence, of a hostile tenant's run that is charged too little, finds it all the same", () => {
  const draft = soundEvidence();
  makeHostile(draft).charge_total -= 1;
  expect(checkEvidence(draft).map(({ rule }) => rule)).toEqual(expect.arrayContaining(["charge"]));
});

test("checkEvidence, of a hostile tenant's run that has not ended, finds it all the same", () => {
  const draft = soundEvidence();
  Object.assign(makeHostile(draft), { state: "running", finished_at: null });
  expect(checkEvidence(draft).map(({ rule }) => rule)).toEqual(expect.arrayContaining(["open"]));
});
