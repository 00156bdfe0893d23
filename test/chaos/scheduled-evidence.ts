import type { ScheduleRow, TickRow } from "../../chaos/evidence.ts";
import type { Declared } from "../../chaos/record.ts";
import {
  addExecution,
  addLog,
  addOutput,
  anAttempt,
  anExecution,
  type Draft,
  hash,
  soundEvidence,
} from "./evidence.ts";

const NUMBERS = [3, 1, 4];
const SKIP: Declared = {
  enabled: true,
  cron: "* * * * *",
  timezone: "UTC",
  overlap: "skip",
  catchup: "latest",
  jitterSeconds: 0,
};
const CANCEL: Declared = { ...SKIP, overlap: "cancel_previous" };
const SELDOM: Declared = { ...CANCEL, cron: "0 0 1 1 *" };

/** Minutes are counted from 1970; the faults of the other evidence are long over. */
export const minute = (number: number): number => number * 60_000;

/**
 * Two schedules in a run in which all was well. `wf_skip` is declared in minute 20, runs in minute 21, is paused in minute 22,
 * runs in 23, still does in 24, and is removed. `wf_cancel` runs in 21 and is cancelled by what runs in 22, then is not due any more.
 */
export function scheduledEvidence(): Draft {
  const draft = soundEvidence();
  commit(draft, { name: "skip", number: 101, at: minute(20) + 100, declared: SKIP, seconds: 20 });
  commit(draft, { name: "skip", number: 102, at: minute(21) + 30_000, declared: { ...SKIP, enabled: false } });
  commit(draft, { name: "skip", number: 103, at: minute(22) + 30_000, declared: SKIP, seconds: 70 });
  commit(draft, { name: "skip", number: 104, at: minute(24) + 20_000, declared: null });
  addSchedule(draft, "skip", SKIP, [minute(20) + 150, minute(21) + 30_050]);
  addSchedule(draft, "skip", { ...SKIP, enabled: false }, [minute(21) + 30_050, minute(22) + 30_050]);
  addSchedule(draft, "skip", SKIP, [minute(22) + 30_050, minute(24) + 20_050]);
  begin(draft, { name: "skip", minute: 21, number: 101, seconds: 20 });
  addTick(draft, "skip", 22, { outcome: "paused", source: "repair", decided_at: minute(23) + 1_000 });
  begin(draft, { name: "skip", minute: 23, number: 103, seconds: 70 });
  addTick(draft, "skip", 24, { outcome: "skipped_overlap" });

  commit(draft, { name: "cancel", number: 201, at: minute(20) + 400, declared: CANCEL, seconds: 40 });
  commit(draft, { name: "cancel", number: 202, at: minute(22) + 50_000, declared: SELDOM, seconds: 40 });
  addSchedule(draft, "cancel", CANCEL, [minute(20) + 450, minute(22) + 50_050]);
  addSchedule(draft, "cancel", SELDOM, [minute(22) + 50_050, null]);
  cancel(draft, 21, 201);
  begin(draft, { name: "cancel", minute: 22, number: 201, seconds: 40 });
  draft.timetables.push({
    workflowId: "wf_cancel",
    paused: false,
    askedAt: minute(26),
    nextAt: [Date.UTC(1971, 0, 1), Date.UTC(1972, 0, 1)],
  });
  return draft;
}

const tokenOf = (number: number): string => `clock-${number}`;

function commit(
  draft: Draft,
  given: { name: string; number: number; at: number; declared: Declared | null; seconds?: number },
): void {
  const { name, number, at, declared, seconds = 1 } = given;
  const token = tokenOf(number);
  draft.lines.push({
    type: "request",
    at,
    request: number,
    purpose: "publish",
    workflow: name,
    workflowId: `wf_${name}`,
    token,
    inputs: { token, numbers: NUMBERS, seconds },
    schedule: declared,
  } as Draft["lines"][number]);
  draft.lines.push({ type: "answer", at: at + 100, request: number, status: 200, headers: {}, body: {} });
}

function addSchedule(
  draft: Draft,
  name: string,
  { jitterSeconds, ...declared }: Declared,
  [since, until]: [number, number | null],
): void {
  const held: ScheduleRow = {
    workflow_id: `wf_${name}`,
    ...declared,
    jitter_seconds: jitterSeconds,
    max_lateness_seconds: 3_600,
    since,
    until,
  };
  draft.schedules.push({ ...held });
}

function addTick(draft: Draft, name: string, number: number, given: Partial<TickRow>): void {
  draft.ticks.push({
    workflow_id: `wf_${name}`,
    nominal_at: minute(number),
    outcome: "started",
    reason: "",
    source: "clock",
    execution_id: null,
    decided_at: minute(number) + 20,
    ...given,
  });
}

/** The tick of a minute, and its execution that came to a good end. */
function begin(
  draft: Draft,
  given: { name: string; minute: number; number: number; seconds: number; beginsAt?: number },
): void {
  const { name, number, seconds } = given;
  const id = `ex_${name}_${given.minute}`;
  addTick(draft, name, given.minute, { execution_id: id });
  const at = minute(given.minute);
  const started_at = given.beginsAt ?? at + 600;
  const finished_at = started_at + seconds * 1_000 + 300;
  const charge_compute = seconds * 10_000;
  const execution = anExecution(id, tokenOf(number), {
    workflow_id: `wf_${name}`,
    trigger: "schedule",
    created_at: started_at - 570,
    finished_at,
    timeout_seconds: 100,
    charge_max: 1_001_000,
    seconds_used: seconds,
    charge_compute,
    charge_total: charge_compute + 1_000,
  });
  const attempt = anAttempt(execution, 1, { started_at, ended_at: finished_at - 100, seconds_used: seconds });
  addExecution(draft, execution, [attempt]);
  const token = tokenOf(number);
  addOutput(draft, execution, "sum", "sum.json", "8");
  addOutput(draft, execution, "digest", "digest.txt", hash(`${token}|${NUMBERS.join(",")}`));
  addLog(draft, execution, ["begin", "end"]);
}

/** The tick of a minute, and its execution that waited until the next tick cancelled it. */
function cancel(draft: Draft, number: number, commitNumber: number): void {
  const id = `ex_cancel_${number}`;
  addTick(draft, "cancel", number, { execution_id: id });
  const finished_at = minute(number + 1) + 300;
  const execution = anExecution(id, tokenOf(commitNumber), {
    workflow_id: "wf_cancel",
    trigger: "schedule",
    state: "cancelled",
    timeout_seconds: 100,
    charge_max: 1_001_000,
    cancel_requested_at: finished_at - 200,
    created_at: minute(number) + 30,
    finished_at,
    seconds_used: 0.5,
    charge_compute: 5_000,
    charge_total: 6_000,
  });
  const attempt = anAttempt(execution, 1, {
    status: "cancelled",
    started_at: minute(number) + 500,
    ended_at: finished_at,
    seconds_used: 0.5,
  });
  addExecution(draft, execution, [attempt]);
}

/**
 * `wf_skip` as above, and in minute 24 somebody asked for what was due in minutes 19 to 22: before it was declared, when it ran, and when it
 * was paused. One after the other those that had not started run, beside the one of minute 23, which takes until minute 24.
 */
export function backfilledEvidence(): Draft {
  const draft = scheduledEvidence();
  const askedAt = minute(24) + 1_000;
  const asked = { workflow: "skip", workflowId: "wf_skip", token: "ask", from: minute(19), to: minute(23) };
  draft.lines.push({ type: "request", at: askedAt, request: 301, purpose: "backfill", ...asked });
  const body = { stopped: null };
  draft.lines.push({ type: "answer", at: askedAt + 500, request: 301, status: 200, headers: {}, body });
  draft.ticks = draft.ticks.filter((tick) => tick !== tickOf(draft, "skip", 22));
  for (const [index, number] of [19, 20, 22].entries()) {
    begin(draft, {
      name: "skip",
      minute: number,
      number: 103,
      seconds: 70,
      beginsAt: minute(24) + 2_000 + index * 80_000,
    });
    Object.assign(tickOf(draft, "skip", number), { source: "backfill", decided_at: askedAt + 100 });
  }
  return draft;
}

export function tickOf(draft: Draft, name: string, number: number): Draft["ticks"][number] {
  return draft.ticks.find(
    (tick) => tick.workflow_id === `wf_${name}` && tick.nominal_at === minute(number),
  ) as Draft["ticks"][number];
}

export function scheduleOf(draft: Draft, name: string, index: number): Draft["schedules"][number] {
  return draft.schedules.filter((row) => row.workflow_id === `wf_${name}`)[index] as Draft["schedules"][number];
}

export function troubleIn(draft: Draft, number: number): void {
  const at = minute(number);
  draft.lines.push({ type: "fault", at, until: at + 5_000, kind: "kill", victim: "service", note: "", done: true });
}
