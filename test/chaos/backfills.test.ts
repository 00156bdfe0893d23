import { expect, test } from "@jest/globals";
import { checkEvidence } from "../../chaos/checker/check.ts";
import { answerTo, attemptOf, expectFound, type Planted, rowOf } from "./planted.ts";
import { backfilledEvidence, minute, tickOf } from "./scheduled-evidence.ts";

const BACKFILLS: readonly Planted[] = [
  [
    "a past tick that was asked for and has no record",
    ["backfill", "tick_execution", "overlapped"],
    (draft) => {
      draft.ticks = draft.ticks.filter((tick) => tick !== tickOf(draft, "skip", 19));
    },
  ],
  [
    "a past tick that was asked for and began after the answer",
    ["backfill"],
    (draft) => {
      tickOf(draft, "skip", 20).decided_at = minute(24) + 1_600;
    },
  ],
  [
    "a past tick outside of what was asked for",
    ["tick_outcome", "backfill"],
    (draft) => {
      tickOf(draft, "skip", 19).nominal_at = minute(18);
    },
  ],
  [
    "a past tick that began before anybody asked",
    ["tick_outcome"],
    (draft) => {
      tickOf(draft, "skip", 19).decided_at = minute(24) + 900;
    },
  ],
  [
    "a past tick that was asked for and skipped",
    ["tick_outcome", "backfill", "tick_execution", "overlapped"],
    (draft) => {
      Object.assign(tickOf(draft, "skip", 19), { outcome: "skipped_overlap", execution_id: null });
    },
  ],
  [
    "two past ticks that ran at the same time",
    ["overlapped"],
    (draft) => {
      attemptOf(draft, "ex_skip_20").started_at -= 20_000;
    },
  ],
  [
    "a backfill that stopped before its end",
    ["backfill"],
    (draft) => {
      answerTo(draft, 301).body.stopped = { outcome: "skipped_overlap" };
    },
  ],
  [
    "a backfill that was never answered",
    ["backfill", "unheard"],
    (draft) => {
      draft.lines = draft.lines.filter((line) => line.type !== "answer" || line.request !== 301);
    },
  ],
  [
    "a tick of the clock that was skipped for a past one",
    ["tick_outcome", "price", "seconds"],
    (draft) => {
      const row = rowOf(draft, "executions", String(tickOf(draft, "skip", 23).execution_id));
      row.finished_at = minute(23) + 50_000;
      for (const given of [row, attemptOf(draft, row.id)]) given.seconds_used = 49;
      attemptOf(draft, row.id).ended_at = minute(23) + 50_000;
    },
  ],
];

test("checkEvidence, of past ticks that were asked for and ran beside those of the clock, finds nothing", () => {
  expect(checkEvidence(backfilledEvidence())).toEqual([]);
});

test.each(BACKFILLS)("checkEvidence, with %s, finds it", (...planted) => expectFound(planted, backfilledEvidence));
