import { test } from "@jest/globals";
import { attemptOf, expectFound, type Planted, rowOf } from "./planted.ts";

const PLANTED: readonly Planted[] = [
  [
    "a second settlement",
    ["balance", "charge", "charged_twice"],
    (draft) => {
      draft.ledger.push({ account_id: "acct_1", kind: "settlement", amount: -6_000, execution_id: "ex_faulty" });
    },
  ],
  [
    "a second reservation",
    ["reserved_twice"],
    (draft) => {
      draft.reservations.push({ execution_id: "ex_faulty", amount: 5, state: "settled" });
    },
  ],
  [
    "a charge for our fault",
    ["charged_for_our_fault", "charge"],
    (draft) => {
      draft.ledger.push({ account_id: "acct_1", kind: "settlement", amount: -1_000, execution_id: "ex_given_up" });
      rowOf(draft, "accounts", "acct_1").balance -= 1_000;
    },
  ],
  [
    "a reservation that is still held",
    ["held"],
    (draft) => {
      for (const row of draft.reservations) if (row.execution_id === "ex_cancelled") row.state = "open";
    },
  ],
  [
    "credits reserved for nothing",
    ["held"],
    (draft) => {
      rowOf(draft, "accounts", "acct_1").reserved = 1;
    },
  ],
  [
    "a balance that is not the sum of its ledger",
    ["balance"],
    (draft) => {
      rowOf(draft, "accounts", "acct_1").balance -= 1;
    },
  ],
  [
    "a price that is off by a micro-credit",
    ["price", "differs", "charge"],
    (draft) => {
      Object.assign(rowOf(draft, "executions", "ex_tally"), { charge_compute: 15_001 });
    },
  ],
  [
    "seconds that no attempt used",
    ["price", "seconds", "differs"],
    (draft) => {
      rowOf(draft, "executions", "ex_tally").seconds_used = 2.5;
    },
  ],
  [
    "credits moved for an unknown execution",
    ["money_of_nobody"],
    (draft) => {
      draft.reservations.push({ execution_id: "ex_unknown", amount: 5, state: "released" });
    },
  ],
  [
    "two attempts at the same time",
    ["attempts"],
    (draft) => {
      attemptOf(draft, "ex_faulty", 2).started_at = 3_000;
    },
  ],
  [
    "more lost workers than are allowed",
    ["attempts"],
    (draft) => {
      const last = attemptOf(draft, "ex_given_up", 3);
      draft.attempts.push({ ...last, attempt: 4, started_at: 147_000, ended_at: 150_000 });
    },
  ],
  [
    "more tries than are allowed",
    ["attempts", "seconds"],
    (draft) => {
      const first = attemptOf(draft, "ex_tally");
      Object.assign(first, { status: "failed" });
      draft.attempts.push({
        ...first,
        attempt: 2,
        status: "success",
        started_at: 5_000,
        ended_at: 6_900,
        seconds_used: 0,
      });
    },
  ],
  [
    "a try after a success",
    ["attempts", "seconds"],
    (draft) => {
      draft.attempts.push({
        ...attemptOf(draft, "ex_tally"),
        attempt: 2,
        started_at: 5_000,
        ended_at: 6_900,
        seconds_used: 0,
      });
    },
  ],
  [
    "an attempt that is missing",
    ["attempts", "seconds"],
    (draft) => {
      draft.attempts = draft.attempts.filter((row) => row.execution_id !== "ex_faulty" || row.attempt !== 1);
    },
  ],
  [
    "an attempt without an end",
    ["attempts", "seconds"],
    (draft) => {
      attemptOf(draft, "ex_pack").ended_at = null;
    },
  ],
  [
    "a program that had ended when its service died, and was run again by its host",
    ["run_again"],
    (draft) => draft.lines.push({ type: "left_end", at: 0, executionId: "ex_given_up", attempt: 2, status: "success" }),
  ],
  [
    "an attempt lost without a reason",
    ["lost_attempt"],
    (draft) => {
      const mine = attemptOf(draft, "ex_pack");
      draft.attempts.push({ ...mine, attempt: 2, started_at: 5_000, ended_at: 5_900 });
      Object.assign(mine, { status: null, message: "The worker was lost.", seconds_used: 0 });
    },
  ],
  [
    "a program that began after it was to be cancelled",
    ["attempts"],
    (draft) => {
      rowOf(draft, "executions", "ex_pack").cancel_requested_at = -9_000;
    },
  ],
  [
    "a recorded file that is not in storage",
    ["missing"],
    (draft) => {
      delete draft.storage["executions/ex_pack/input/a.dat"];
    },
  ],
  [
    "a stored file with another content",
    ["content"],
    (draft) => {
      Object.assign(draft.storage["executions/ex_pack/output/packed.bin"] ?? {}, { sha256: "0".repeat(64) });
    },
  ],
  [
    "a stored file that no record names",
    ["orphan"],
    (draft) => {
      draft.storage["executions/ex_x/inputs/0"] = { bytes: 0, sha256: "", text: "" };
    },
  ],
  [
    "a folder in the spool",
    ["orphan"],
    (draft) => {
      draft.unfinished.push("spool/ex_x");
    },
  ],
  [
    "an output with a wrong content",
    ["outputs", "content", "file"],
    (draft) => {
      for (const file of draft.files) if (file.file_name === "digest.txt") file.sha256 = "0".repeat(64);
    },
  ],
  [
    "an output with a wrong value",
    ["outputs"],
    (draft) => {
      Object.assign(draft.storage["executions/ex_tally/output/sum.json"] ?? {}, { text: "7" });
    },
  ],
  [
    "an output that is missing",
    ["outputs", "orphan", "differs"],
    (draft) => {
      draft.files = draft.files.filter(({ file_name }) => file_name !== "sum.json");
    },
  ],
  [
    "an input file of another call",
    ["inputs"],
    (draft) => {
      for (const file of draft.files) if (file.file_name === "b.dat") file.file_name = "c.dat";
    },
  ],
  [
    "a log of two runs",
    ["log"],
    (draft) => {
      const log = draft.storage["executions/ex_tally/log.ndjson"];
      if (log) log.text = `${log.text}${log.text}`;
    },
  ],
  [
    "a log that is missing",
    ["log", "orphan"],
    (draft) => {
      rowOf(draft, "executions", "ex_tally").log_key = null;
    },
  ],
  [
    "a service that takes calls and does not say so",
    ["unannounced"],
    (draft) => {
      draft.lines.push({ type: "service", at: 1, event: "unannounced", note: "process 5" });
    },
  ],
  [
    "a process that outlived its service",
    ["left_behind"],
    (draft) => {
      draft.lines.push({ type: "service", at: 1, event: "left_behind", note: "process 5" });
    },
  ],
];

test.each(PLANTED)("checkEvidence, with %s, finds it", (...planted) => expectFound(planted));
