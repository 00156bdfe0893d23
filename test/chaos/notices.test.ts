import { expect, test } from "@jest/globals";
import { checkEvidence } from "../../chaos/checker/check.ts";
import type { NoticeRow } from "../../chaos/notices.ts";
import type { NoticeLine } from "../../chaos/record.ts";
import { type Draft, soundEvidence } from "./evidence.ts";
import { expectFound, type Planted, rowOf } from "./planted.ts";
import { minute } from "./scheduled-evidence.ts";

/**
 * Two failures that came as one, and the success after them, told at two places: `ops` refused the first message once, and `dead` answers
 * nothing.
 */
function toldEvidence(): Draft {
  const draft = soundEvidence();
  rowOf(draft, "executions", "ex_pack").finished_at = 170_000;
  draft.places.push("ops", "dead");
  for (const place of draft.places) {
    const isDead = place === "dead";
    for (const [kind, execution_id, more] of [
      ["failure", "ex_faulty", 1],
      ["recovery", "ex_pack", 0],
    ] as const) {
      const about: NoticeRow = {
        id: `nt_${place}_${kind}`,
        place,
        kind,
        workflow_id: "wf_1",
        execution_id,
        more,
        state: isDead ? "waiting" : "delivered",
        attempts: 1,
      };
      draft.notices.push({ ...about });
      if (!isDead && kind === "failure") arrive(draft, about, { status: 503 });
      arrive(draft, about, { status: isDead ? null : 204 });
    }
  }
  return draft;
}

function arrive(draft: Draft, { id, place, kind, more, execution_id }: NoticeRow, given: Partial<NoticeLine>): void {
  draft.lines.push({
    type: "notice",
    at: 180_000,
    place,
    notice: id,
    more,
    executionId: execution_id,
    status: 204,
    kind: kind === "failure" ? "run.failed" : "run.recovered",
    ...given,
  });
}

const noticeOf = (draft: Draft, id: string): Draft["notices"][number] =>
  draft.notices.find((row) => row.id === id) as Draft["notices"][number];

const without = (draft: Draft, id: string): void => {
  draft.notices = draft.notices.filter((row) => row.id !== id);
  draft.lines = draft.lines.filter((line) => line.type !== "notice" || line.notice !== id);
};

const PLANTED: readonly Planted[] = [
  ["a failure that a place is not told of", ["notice_count"], (draft) => without(draft, "nt_dead_failure")],
  [
    "a failure that is counted in no notice",
    ["notice_count"],
    (draft) => {
      noticeOf(draft, "nt_ops_failure").more = 0;
      for (const line of draft.lines) if (line.type === "notice" && line.place === "ops") line.more = 0;
    },
  ],
  [
    "a failure that was counted after its notice had been sent",
    ["notice_count"],
    (draft) => {
      for (const line of draft.lines) if (line.type === "notice" && line.place === "ops") line.more = 0;
    },
  ],
  [
    "a success that is told as a failure",
    ["notice_false"],
    (draft) => {
      noticeOf(draft, "nt_ops_failure").execution_id = "ex_tally";
      for (const line of draft.lines)
        if (line.type === "notice" && line.notice === "nt_ops_failure") line.executionId = "ex_tally";
    },
  ],
  [
    "a notice that is delivered, and never arrived",
    ["notice_unheard"],
    (draft) => {
      draft.lines = draft.lines.filter((line) => line.type !== "notice" || line.status !== 204);
    },
  ],
  [
    "a notice that does not come to a place that answers",
    ["notice_unsent"],
    (draft) => {
      noticeOf(draft, "nt_ops_recovery").state = "waiting";
    },
  ],
  [
    "a notice that is delivered where nobody answers",
    ["notice_unheard"],
    (draft) => {
      noticeOf(draft, "nt_dead_failure").state = "delivered";
    },
  ],
  [
    "two messages of one id",
    ["notice_mixed"],
    (draft) => arrive(draft, noticeOf(draft, "nt_ops_recovery"), { executionId: "ex_tally" }),
  ],
  [
    "a message whose notice is not in the record",
    ["notice_stray"],
    (draft) => arrive(draft, noticeOf(draft, "nt_ops_recovery"), { notice: "nt_other" }),
  ],
  ["a recovery that nobody is told of", ["notice_recovery"], (draft) => without(draft, "nt_ops_recovery")],
  [
    "a recovery that is told twice",
    ["notice_recovery"],
    (draft) => {
      const again = { ...noticeOf(draft, "nt_ops_recovery"), id: "nt_again" };
      draft.notices.push(again);
      arrive(draft, again, {});
    },
  ],
  [
    "a success after a success that is told as a recovery",
    ["notice_recovery"],
    (draft) => {
      noticeOf(draft, "nt_dead_recovery").execution_id = "ex_tally";
      for (const line of draft.lines)
        if (line.type === "notice" && line.notice === "nt_dead_recovery") line.executionId = "ex_tally";
    },
  ],
  [
    "a missed tick that nobody is told of",
    ["notice_count", "tick_stray"],
    (draft) => {
      draft.ticks.push({
        workflow_id: "wf_1",
        nominal_at: minute(9),
        outcome: "missed",
        reason: "",
        source: "repair",
        execution_id: null,
        decided_at: minute(9) + 1_000,
      });
    },
  ],
];

test("checkEvidence, with notices for failures that came as one and for a recovery, finds nothing", () => {
  expect(checkEvidence(toldEvidence())).toEqual([]);
});

test.each(PLANTED)("checkEvidence, with %s, finds it", (...planted) => expectFound(planted, toldEvidence));
