import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  type CalendarSpec,
  Client,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type ScheduleOptions,
  ScheduleOverlapPolicy,
  type ScheduleSummary,
} from "@temporalio/client";
import type { NativeConnection } from "@temporalio/worker";
import { TASK_QUEUE } from "../../activities/task-queues.ts";
import type { StoredSchedule } from "../../db/schedules/schedules.ts";
import { cronOf } from "../../domain/schedules/declaration.ts";
import { parseScheduleId, type ScheduleId, type ScheduleRef, toScheduleId } from "../../domain/schedules/names.ts";
import { compileSchedule, findHorizon, fingerprintSpec, type TickSpec } from "../../domain/schedules/tick-spec.ts";
import type { TickInput } from "../../domain/schedules/ticks.ts";
import type { fireTick } from "../../workflows/index.ts";

/** Raised whenever schedules of equal declarations are to be pushed to Temporal anew. */
const FORMAT = 1;
/**
 * For how long Temporal makes up for what it did not fire: a stumble of its own. What is older we find ourselves, and
 * decide without a Workflow Execution for each.
 */
const CATCHUP_SECONDS = 600;
/** A tick that waits for the database this long has been recorded by others, or never will be. */
const TICK_TIMEOUT = "1 day";
/** Lists show no more than so many calendars and intervals of each schedule. */
const LISTED_MAX = 10;

/** A schedule as Temporal is to have it. */
export interface DesiredSchedule extends ScheduleRef {
  readonly scheduleId: ScheduleId;
  readonly paused: boolean;
  /** What is declared, and over how long many at one minute are spread. */
  readonly jitterSeconds: number;
  readonly spec: TickSpec;
  /** Kept with the schedule, and listed: tells whether it is this one. */
  readonly note: string;
}

/**
 * Returns what Temporal is to have for a declaration. The time decides which changes of the clock are spelt out.
 */
export function toDesired(schedule: StoredSchedule, now: Date): DesiredSchedule {
  const { workflowId, scheduleName, enabled, timezone } = schedule;
  const scheduleId = toScheduleId(schedule);
  const jitterSeconds = schedule.jitterSeconds + schedule.spreadSeconds;
  const spec = compileSchedule(cronOf(schedule), timezone, findHorizon(now));
  const print = createHash("sha256")
    .update(
      JSON.stringify([FORMAT, scheduleId, enabled, jitterSeconds, CATCHUP_SECONDS, TASK_QUEUE, fingerprintSpec(spec)]),
    )
    .digest("hex");
  const note = `Kept by Treadle, which undoes changes made here: sync ${print.slice(0, 32)}`;
  // What `triggers.schedule` gives to Temporal is as it was before there were names.
  const ref = scheduleId === workflowId ? { workflowId } : { workflowId, scheduleName };
  return { ...ref, scheduleId, paused: !enabled, jitterSeconds, spec, note };
}

/** Returns whether Temporal has the desired schedule, as far as a list shows. */
export function isAsDesired(listed: ScheduleSummary, desired: DesiredSchedule): boolean {
  const { spec } = listed;
  if (spec === undefined || listed.state.note !== desired.note || listed.state.paused !== desired.paused) return false;
  const seen = {
    calendars: (spec.calendars ?? []).slice(0, LISTED_MAX),
    intervals: (spec.intervals ?? []).slice(0, LISTED_MAX).map(({ every, offset }) => [every, offset]),
    others: (spec.skip ?? []).length,
    bounded: spec.startAt !== undefined || spec.endAt !== undefined,
    jitter: spec.jitter ?? 0,
    timezone: spec.timezone,
    action: listed.action?.workflowType,
  };
  return isDeepStrictEqual(JSON.parse(JSON.stringify(seen)), {
    calendars: desired.spec.calendars.slice(0, LISTED_MAX).map(toListed),
    intervals: desired.spec.intervals.slice(0, LISTED_MAX).map(({ every, offset }) => [every, offset]),
    others: 0,
    bounded: false,
    jitter: desired.jitterSeconds * 1_000,
    timezone: desired.spec.timezone,
    action: "fireTick",
  });
}

/** A calendar as Temporal gives it back: what was left out is spelt out. */
function toListed(calendar: TickSpec["calendars"][number]): object {
  const all = <Value>(start: Value, end: Value) => [{ start, end, step: 1 }];
  return {
    second: all(0, 0),
    minute: calendar.minute === "*" ? all(0, 59) : calendar.minute,
    hour: calendar.hour === "*" ? all(0, 23) : calendar.hour,
    dayOfMonth: calendar.dayOfMonth ?? all(1, 31),
    month: calendar.month ?? all("JANUARY", "DECEMBER"),
    year: [],
    dayOfWeek: calendar.dayOfWeek ?? all("SUNDAY", "SATURDAY"),
    comment: "",
  };
}

/** Temporal's schedules as this service uses them, by the ids of `domain/schedules/names.ts`. */
export interface TemporalSchedules {
  /** Creates it, or changes it to what is desired. */
  put(desired: DesiredSchedule): Promise<void>;
  /** Deletes it, if there is one. */
  remove(scheduleId: ScheduleId): Promise<void>;
  /** All that are ours by their id. What was changed a moment ago may not show yet. */
  list(): AsyncIterable<{ scheduleId: ScheduleId; summary: ScheduleSummary }>;
}

/** Lists show neither policies nor arguments; a schedule that is pushed anew has all of them. */
export function createTemporalSchedules(connection: NativeConnection, namespace: string): TemporalSchedules {
  const client = new Client({ connection, namespace });
  return {
    async put(desired) {
      const options = toOptions(desired);
      try {
        await client.schedule.create(options);
      } catch (error) {
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
        const { spec, action, policies = {}, state = {} } = options;
        await client.schedule.getHandle(desired.scheduleId).update(() => ({ spec, action, policies, state }) as never);
      }
    },
    async remove(scheduleId) {
      try {
        await client.schedule.getHandle(scheduleId).delete();
      } catch (error) {
        if (!(error instanceof ScheduleNotFoundError)) throw error;
      }
    },
    async *list() {
      for await (const summary of client.schedule.list({ pageSize: 1_000 })) {
        const ref = parseScheduleId(summary.scheduleId);
        if (ref !== undefined) yield { scheduleId: toScheduleId(ref), summary };
      }
    },
  };
}

function toOptions({
  workflowId,
  scheduleName,
  scheduleId,
  paused,
  jitterSeconds,
  spec,
  note,
}: DesiredSchedule): ScheduleOptions<{
  type: "startWorkflow";
  workflowType: typeof fireTick;
  args: [TickInput];
  taskQueue: string;
  workflowId: string;
  workflowExecutionTimeout: "1 day";
}> {
  return {
    scheduleId,
    spec: {
      calendars: spec.calendars as CalendarSpec[],
      intervals: spec.intervals,
      timezone: spec.timezone,
      jitter: jitterSeconds * 1_000,
    },
    action: {
      type: "startWorkflow",
      workflowType: "fireTick" as unknown as typeof fireTick,
      workflowId: `tick-${scheduleId}`,
      taskQueue: TASK_QUEUE,
      args: [scheduleName === undefined ? { workflowId } : { workflowId, scheduleName }],
      workflowExecutionTimeout: TICK_TIMEOUT,
    },
    policies: {
      // What is to become of a tick while earlier ones are under way is decided in our record.
      overlap: ScheduleOverlapPolicy.ALLOW_ALL,
      catchupWindow: CATCHUP_SECONDS * 1_000,
      pauseOnFailure: false,
    },
    state: { paused, note },
  };
}
