import { expect, test } from "@jest/globals";
import { checkEvidence } from "../../chaos/checker/check.ts";
import { findDue, listDue } from "../../chaos/checker/minutes.ts";
import { answerTo, expectFound, type Planted } from "./planted.ts";
import { minute, scheduledEvidence, scheduleOf, tickOf, troubleIn } from "./scheduled-evidence.ts";

const DECLARATIONS: readonly Planted[] = [
  [
    "a schedule that nobody committed",
    ["declared"],
    (draft) => {
      draft.schedules.push({ ...scheduleOf(draft, "skip", 1), workflow_id: "wf_strange", until: minute(21) + 40_000 });
    },
  ],
  [
    "a declaration that was lost",
    ["declared", "tick_stray"],
    (draft) => {
      draft.schedules = draft.schedules.filter((row) => row !== scheduleOf(draft, "skip", 1));
    },
  ],
  [
    "another declaration than was committed",
    ["declared"],
    (draft) => {
      scheduleOf(draft, "skip", 0).catchup = "all";
    },
  ],
  [
    "a declaration that began before anybody committed it",
    ["declared"],
    (draft) => {
      scheduleOf(draft, "skip", 0).since = minute(20) + 50;
    },
  ],
  [
    "a declaration that went on after it was changed",
    ["declared"],
    (draft) => {
      scheduleOf(draft, "skip", 2).until = minute(24) + 40_000;
    },
  ],
  [
    "two declarations at the same time",
    ["declared", "tick_outcome"],
    (draft) => {
      scheduleOf(draft, "skip", 0).until = minute(22) + 10_000;
      tickOf(draft, "skip", 22).outcome = "paused";
    },
  ],
  [
    "a commit that nobody confirmed",
    ["uncommitted", "unheard"],
    (draft) => {
      draft.lines = draft.lines.filter((line) => line.type !== "answer" || line.request !== 104);
    },
  ],
  [
    "a commit that was refused",
    ["commit", "uncommitted"],
    (draft) => {
      answerTo(draft, 202).status = 409;
    },
  ],
];

const TIMETABLES: readonly Planted[] = [
  ["a schedule that Temporal lost", ["timetable"], (draft) => void (draft.timetables = [])],
  [
    "a schedule that Temporal kept",
    ["timetable"],
    (draft) => {
      draft.timetables.push({ workflowId: "wf_skip", paused: true, nextAt: [], askedAt: minute(26) });
    },
  ],
  [
    "a schedule that Temporal has paused",
    ["timetable"],
    (draft) => {
      for (const timetable of draft.timetables) timetable.paused = true;
    },
  ],
  [
    "a schedule that Temporal fires too late",
    ["timetable"],
    (draft) => {
      for (const timetable of draft.timetables) timetable.nextAt = [Date.UTC(1972, 0, 1), Date.UTC(1973, 0, 1)];
    },
  ],
  [
    "a schedule that Temporal fires at other times",
    ["timetable"],
    (draft) => {
      for (const timetable of draft.timetables) timetable.nextAt = [minute(27), minute(28)];
    },
  ],
];

test("checkEvidence, of a commit that was made while its client heard nothing, allows that the next try meets it", () => {
  const draft = scheduledEvidence();
  const again = draft.lines.flatMap((line) => ("request" in line && line.request === 104 ? [line] : []));
  answerTo(draft, 104).status = 502;
  draft.lines.push(...again.map((line) => ({ ...line, request: 105, ...(line.type === "answer" && { status: 409 }) })));
  draft.lines.push(...again.map((line) => ({ ...line, request: 106, ...(line.type === "answer" && { status: 200 }) })));
  troubleIn(draft, 24);
  expect(checkEvidence(draft)).toEqual([]);
});

test.each([...DECLARATIONS, ...TIMETABLES])("checkEvidence, with %s, finds it", (...planted) =>
  expectFound(planted, scheduledEvidence),
);

test.each([
  ["* * * * *", "UTC", "00:00 00:01 00:02"],
  ["*/20,1-59/25 * * * *", "UTC", "00:00 00:01 00:20"],
  ["30 4-6 * * *", "UTC", "04:30 05:30 06:30"],
  ["5 6,18 * 1 *", "UTC", "06:05 18:05 06:05"],
  ["0 9 * * *", "Asia/Kolkata", "03:30 03:30 03:30"],
  ["*/4 * * * *", "Asia/Kolkata", "00:02 00:06 00:10"],
  ["*/20 * * * *", "Asia/Kathmandu", "00:15 00:35 00:55"],
  ["0 */2 * * *", "America/St_Johns", "01:30 03:30 05:30"],
  ["59 23 31 12 *", "Pacific/Chatham", "10:14 10:14"],
])("findDue, of %s in %s, finds the next times", (cron, timezone, wanted) => {
  const due = findDue({ cron, timezone }, Date.UTC(2026, 0, 1) - 1, 3);
  expect(due.map((at) => new Date(at).toISOString().slice(11, 16)).join(" ")).toBe(wanted);
});

test("findDue, of a time once a year in a zone ahead of UTC, finds its beginning there", () => {
  const [first] = findDue({ cron: "0 0 1 1 *", timezone: "Australia/Lord_Howe" }, Date.UTC(2026, 10, 21), 1);
  expect(new Date(first ?? 0).toISOString()).toBe("2026-12-31T13:00:00.000Z");
});

test("listDue, of both ends, leaves out the first and keeps the last", () => {
  expect(listDue({ cron: "*/2 * * * *", timezone: "UTC" }, minute(2), minute(6))).toEqual([minute(4), minute(6)]);
});

test.each([
  ["just before", -20, "paused"],
  ["just after", 20, "skipped_overlap"],
])(
  "checkEvidence, of a schedule that was paused %s a minute began while its commit was being made, holds its tick to that alone",
  (_, ms, outcome) => {
    const at = minute(24);
    const draft = scheduledEvidence();
    const declared = {
      cron: "* * * * *",
      timezone: "UTC",
      overlap: "skip",
      catchup: "latest",
      jitterSeconds: 0,
    } as const;
    draft.lines.push({
      type: "request",
      at: at - 50,
      request: 105,
      purpose: "publish",
      workflow: "skip",
      workflowId: "wf_skip",
      token: "clock-105",
      inputs: { token: "clock-105", numbers: [], seconds: 1 },
      schedule: { ...declared, enabled: false },
    });
    draft.lines.push({ type: "answer", at: at + 50, request: 105, status: 200, headers: {}, body: {} });
    draft.lines.sort((one, other) => one.at - other.at);
    const last = scheduleOf(draft, "skip", 2);
    draft.schedules.push({ ...last, enabled: false, since: at + ms });
    last.until = at + ms;
    tickOf(draft, "skip", 24).outcome = outcome;
    expect(checkEvidence(draft)).toEqual([]);
    tickOf(draft, "skip", 24).outcome = outcome === "paused" ? "skipped_overlap" : "paused";
    expect(checkEvidence(draft).map(({ rule }) => rule)).toEqual(["tick_outcome"]);
  },
);

test.each([
  ["and the answer is that it was", 200, []],
  ["and is not there although nobody had asked for that", 404, ["commit"]],
])("checkEvidence, of a workflow that is deleted %s, takes that for the end of its schedule", (_, status, found) => {
  const draft = scheduledEvidence();
  const removal = draft.lines.find((line) => line.type === "request" && line.request === 104);
  Object.assign(removal ?? {}, { purpose: "delete" });
  answerTo(draft, 104).status = status;
  expect(checkEvidence(draft).map(({ rule }) => rule)).toEqual(found);
});
