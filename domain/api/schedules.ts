import { z } from "zod";
import { CATCHUPS, OVERLAPS } from "../manifest/manifest.ts";
import { SCHEDULE_NAME } from "../schedules/names.ts";
import { TICK_OUTCOMES, TICK_SOURCES } from "../schedules/ticks.ts";
import { STATUSES } from "./executions.ts";
import { Count, ExecutionId, GivenCommitId, StorableText, Time, WorkflowId } from "./fields.ts";
import { NEXT_RUNS_MAX, PAYLOAD_CHARACTERS_MAX } from "./limits.ts";

export const NextRun = z.object({
  utc: Time,
  local: Time.meta({ description: "In the schedule's time zone." }),
  note: z
    .string()
    .optional()
    .meta({ description: "What a change of the clock does to it, and its inputs that name the tick." }),
});

/** Documents refer to a component of this name instead of repeating it. */
export const NamedNextRun = NextRun.meta({ component: "NextRun" });

/** A schedule of `triggers.schedules`, as a commit has it. */
export const Timetable = z
  .object({
    name: z.string(),
    description: z.string().meta({ description: "In plain words." }),
    paused: z.boolean(),
    nextRuns: z.array(NamedNextRun).max(10).meta({ description: "Empty while it is paused." }),
  })
  .meta({ component: "Timetable" });

export const Tick = z.object({
  nominalAt: Time.meta({ description: "When it was due." }),
  local: Time.meta({ description: "The same, in the zone of the schedule that holds now; in UTC without one." }),
  outcome: z.enum(TICK_OUTCOMES).meta({ description: "See docs/schedules.md." }),
  reason: z.string().meta({ description: "For a person: why it did not start. Empty when it did." }),
  lateSeconds: z.number().meta({ description: "From when it was due until its record." }),
  // Not by name: openapi-generator for TypeScript would take null for an id everywhere.
  executionId: ExecutionId.nullable(),
  source: z.enum(TICK_SOURCES).meta({ description: "Who found out." }),
  decidedAt: Time,
});
/** Documents refer to a component of this name instead of repeating it. */
export const NamedTick = Tick.meta({ component: "Tick" });

const Seconds = z.number().min(0);

/** Which schedule of a workflow: `schedule` is that of `triggers.schedule`. */
export const GivenScheduleName = z
  .string()
  .regex(SCHEDULE_NAME, "must be the name of a schedule, such as nightly")
  .meta({
    description:
      "Which of the workflow's schedules, of `triggers.schedules`. That of `triggers.schedule` unless given.",
  });

/** The schedule of a workflow as it is now. */
export const Schedule = z
  .object({
    schedule: z
      .object({
        cron: z.string(),
        timezone: z.string(),
        description: z.string().meta({ description: "In plain words." }),
        overlap: z.enum(OVERLAPS),
        catchup: z.enum(CATCHUPS),
        maxLatenessSeconds: Seconds,
        jitterSeconds: Seconds,
        since: Time.meta({ description: "Since when it has been declared just so." }),
      })
      .nullable()
      .meta({ description: "As the latest commit declares it; null without one." }),
    paused: z.boolean(),
    reason: z.string().nullable().meta({ description: "Why it is paused." }),
    nextRuns: z
      .array(NamedNextRun)
      .max(NEXT_RUNS_MAX)
      .meta({ description: "When the schedule is due next; empty without one, and while it is paused." }),
    lastTicks: z.array(NamedTick).max(10).meta({ description: "The newest first." }),
    schedules: z
      .array(z.object({ name: GivenScheduleName, ended: z.boolean() }))
      .optional()
      .meta({
        description:
          "Of a workflow that has, or had, some of `triggers.schedules`: all of its schedules. Those that have ended are listed while their history is kept.",
      }),
  })
  .meta({ component: "Schedule" });

const ListedTick = Tick.extend({
  status: z
    .enum(STATUSES)
    .nullable()
    .meta({ description: "The state of its run now. Null: none was started, or it is not on record any more." }),
});
/** Documents refer to a component of this name instead of repeating it. */
export const NamedListedTick = ListedTick.meta({ component: "ListedTick" });

/** What became of each time a schedule was due. */
export const TickPage = z
  .object({
    ticks: z.array(NamedListedTick).meta({ description: "The newest first." }),
    nextBefore: Time.nullable().meta({ description: "`before` of the next page; null: there is none." }),
  })
  .meta({ component: "Ticks" });

/** A time in UTC as answers write it. A day that its month does not have is one of the next month. */
export const TICK_TIME =
  "^20\\d\\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,3})?Z$";

export const ScheduleSwitch = z.strictObject({
  enabled: z.boolean(),
  schedule: GivenScheduleName.optional(),
  expectedHead: GivenCommitId,
  dryRun: z.boolean().default(false),
});

/** What switching a schedule would change: config.yaml before and after. */
export const SwitchPreview = z.object({ before: z.string(), after: z.string() });

/** When `triggers.schedule` is to be due. */
export const ScheduleDeclaration = z.strictObject({
  cron: StorableText.max(200),
  timezone: StorableText.max(100),
  payload: StorableText.max(PAYLOAD_CHARACTERS_MAX)
    .default("{}")
    .meta({ description: "The inputs of each run: a JSON object as text, whose numbers keep their digits." }),
  expectedHead: GivenCommitId,
  dryRun: z.boolean().default(false),
});

/** What declaring a schedule would change, and when it is due then. */
export const DeclarationPreview = SwitchPreview.extend({
  description: z.string().meta({ description: "In plain words." }),
  nextRuns: z.array(NamedNextRun).max(10).meta({ description: "Empty while it is paused." }),
});

/** A schedule as a list of an account shows it. */
export const ListedSchedule = z.object({
  workflowId: WorkflowId,
  name: z.string(),
  schedule: z.string().optional().meta({ description: "Its name, where it is one of `triggers.schedules`." }),
  cron: z.string(),
  timezone: z.string(),
  description: z.string().meta({ description: "In plain words." }),
  nextRun: NextRun.nullable(),
  paused: z.boolean(),
  reason: z.string().nullable().meta({ description: "Why it is paused." }),
  untoldSeconds: z
    .number()
    .nullable()
    .meta({ description: "How long Temporal does not know the last change. Null: it does." }),
  lastTick: Tick.nullable(),
});
export const ScheduleList = z.object({ schedules: z.array(ListedSchedule) });

export const BackfillRequest = z.strictObject({
  from: StorableText.max(100),
  to: StorableText.max(100),
  schedule: GivenScheduleName.optional(),
  dryRun: z.boolean().default(false),
});

const PLACE = { nominalAt: Time, local: Time };

/** The past ticks that a backfill was asked for. */
export const Backfill = z.object({
  workflowId: WorkflowId,
  timezone: z.string(),
  from: Time,
  to: Time,
  dryRun: z.boolean(),
  started: Count,
  startedBefore: Count.meta({ description: "By the clock, or by an earlier backfill." }),
  left: Count,
  stopped: z
    .object({
      ...PLACE,
      outcome: z.enum([...TICK_OUTCOMES, "no_schedule"]),
      reason: z.string(),
      whatToDo: z.string(),
    })
    .nullable()
    .meta({ description: "The first tick that could not start, and why. Those after it were left alone." }),
  ticks: z.array(
    z.object({
      ...PLACE,
      state: z.enum(["started", "started_before", "due"]),
      executionId: ExecutionId.nullable(),
    }),
  ),
});
