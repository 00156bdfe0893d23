import { expect, test } from "@jest/globals";
import { countTicks, describeLateness, describeTick, type Tick } from "../../../web/src/schedule/tick-words.ts";

function aTick(given: Partial<Tick> = {}): Tick {
  return {
    nominalAt: "2026-11-02T08:00:00Z",
    local: "2026-11-02T09:00:00+01:00",
    outcome: "started",
    reason: "",
    lateSeconds: 0.4,
    executionId: "ex_06d1k7q2m8v3r5t9w0x4y6z8a1",
    source: "clock",
    decidedAt: "2026-11-02T08:00:00.400Z",
    status: "success",
    ...given,
  };
}

test.each([
  [{ status: "failed" }, "Failed", "failure"],
  [{ status: "running" }, "Running", "active"],
  [{ status: null }, "Started", "idle"],
  [{ outcome: "missed", status: null }, "Missed", "warning"],
  // Refused before its run began, which is on record as failed.
  [{ outcome: "refused_credits", status: "failed" }, "Refused: credits", "failure"],
] as const)("describeTick, of %j, is %s", (given, label, tone) => {
  expect(describeTick(aTick(given))).toEqual({ label, tone });
});

test.each([
  [{ lateSeconds: 4.9 }, "on time"],
  [{ lateSeconds: 90 }, "1 min 30 s late"],
  [{ lateSeconds: 90, source: "backfill" }, "asked for afterwards"],
] as const)("describeLateness, of %j, is %s", (given, words) => {
  expect(describeLateness(aTick(given))).toBe(words);
});

test("countTicks, of several, counts what became of them and those that were late; of none, says so", () => {
  const ticks = [aTick(), aTick({ lateSeconds: 60 }), aTick({ status: "failed" }), aTick({ outcome: "missed" })];
  expect(countTicks(ticks)).toBe("2 success, 1 late, 1 failed, 1 missed");
  expect(countTicks([])).toBe("none yet");
});
