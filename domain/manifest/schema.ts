import * as z from "zod";
import { RETRIED_ENDS } from "../retries.ts";
import { DEFAULT_BOUNDS } from "./bounds.ts";
import { InputSchema } from "./declared-kinds.ts";
import { formatDuration, parseDuration } from "./durations.ts";
import { SizeSchema } from "./kinds/declared-file.ts";
import { DECLARED_KEYS } from "./kinds/declared-kind.ts";
import { ARGUMENTS, BUILDS, CATCHUPS, OVERLAPS, WHEN_FULL } from "./manifest.ts";
import { NetworkSchema } from "./network-schema.ts";
import { NotifySchema } from "./notify-schema.ts";
import { formatSize } from "./sizes.ts";

const flag = z.boolean({ error: "must be true or false." });

/** Seconds from a duration as people write it. */
const duration = z
  .union([z.string(), z.number()], { error: "must be a duration such as 5m or 90s, or a number of seconds." })
  .transform((value, context) => {
    const seconds = parseDuration(value);
    if (seconds !== undefined) return seconds;
    context.issues.push({
      code: "custom",
      message: "must be a duration such as 90s, 5m or 1h30m, or a number of seconds.",
      input: value,
    });
    return z.NEVER;
  });

const OutputSchema = z.strictObject({
  type: z.literal("file").optional().meta({ description: "Outputs are files; this is the only type." }),
  label: DECLARED_KEYS.label,
  description: DECLARED_KEYS.description,
  required: flag
    .optional()
    .meta({ description: "Whether an execution without this output has failed. True unless said otherwise." }),
});

const LimitsSchema = z.strictObject({
  timeout: duration.optional().meta({
    description: `How long an execution may take: 90s, 5m, 1h. ${formatDuration(DEFAULT_BOUNDS.timeoutSecondsDefault)} unless given.`,
  }),
  memory: SizeSchema.optional().meta({
    description: `How much memory it may use: 512MB, 1GiB. ${formatSize(DEFAULT_BOUNDS.memoryBytesDefault)} unless given.`,
  }),
  cpu: z
    .number({ error: "must be a number of cores, such as 0.5 or 2." })
    .optional()
    .meta({ description: "Cores it may use: 0.5, 2. 1 unless given." }),
  processes: z
    .int({ error: "must be a whole number." })
    .optional()
    .meta({
      description: `Processes and threads it may have at a time. ${DEFAULT_BOUNDS.processesDefault} unless given.`,
    }),
  open_files: z
    .int({ error: "must be a whole number." })
    .optional()
    .meta({
      description: `Files and connections that each of its processes may have open. ${DEFAULT_BOUNDS.openFilesDefault} unless given.`,
    }),
  scratch: SizeSchema.optional().meta({
    description: `How much its working folder, /tmp and /dev/shm may each hold, in memory: 1GB. More than limits.memory is on disk, for the first two together. ${formatSize(DEFAULT_BOUNDS.scratchBytesDefault)} unless given.`,
  }),
  network: NetworkSchema.optional().meta({
    description:
      "What it may reach: true for the public internet, { to: [warehouse] } for some destinations. Off unless given.",
  }),
});

const ScheduleSchema = z.strictObject({
  enabled: flag.meta({ description: "True runs the schedule; false pauses it." }),
  cron: z.string({ error: "must be a text with five fields, in quotes." }).meta({
    description: 'Minute, hour, day of month, month, day of week: "0 9 * * 1-5".',
  }),
  timezone: z
    .string({ error: "must be the name of a time zone." })
    .optional()
    .meta({ description: "IANA name, such as Europe/Berlin. UTC unless given." }),
  payload: z
    .record(z.string(), z.unknown(), { error: "must be a map of input names to values." })
    .optional()
    .meta({ description: "Input values of every scheduled execution." }),
  overlap: z
    .enum(OVERLAPS)
    .optional()
    .meta({ description: "What happens when the last one still runs: skip (default), queue, allow, cancel_previous." }),
  catchup: z
    .enum(CATCHUPS)
    .optional()
    .meta({ description: "What happens to ticks missed while the service was down: none, latest (default), all." }),
  max_lateness: duration.optional().meta({ description: "How late a tick may still start: 1h unless given." }),
  jitter: duration.optional().meta({ description: "Starts are spread over up to this long. 0 unless given." }),
});

const ApiSchema = z.strictObject({
  enabled: flag.meta({ description: "Whether the execute endpoint accepts calls." }),
});

/** The shape of `config.yaml`, key by key; what cannot be said key by key is checked in `declarations.ts` and `sections.ts`. */
export const ConfigSchema = z.strictObject({
  name: z
    .string({ error: "must be a text." })
    .trim()
    .min(1, { error: "must not be empty." })
    .max(200, { error: "must have at most 200 characters." })
    .optional()
    .meta({ description: "What people call the workflow. The folder's name unless given." }),
  description: z
    .string({ error: "must be a text." })
    .max(5_000, { error: "must have at most 5000 characters." })
    .optional()
    .meta({ description: "What it does, for people." }),
  entrypoint: z
    .string({ error: "must be the path of a Python file." })
    .optional()
    .meta({ description: "The Python file that is executed. main.py unless given." }),
  arguments: z
    .enum(ARGUMENTS)
    .optional()
    .meta({ description: "What the entrypoint, a script, reads its command line with: its arguments are the inputs." }),
  python: z
    .string({ error: 'must be a version in quotes, such as "3.12" (without quotes 3.10 would be 3.1).' })
    .regex(/^3\.(?:[1-9]\d)$/, { error: 'must be a minor version from 3.10 on, such as "3.12".' })
    .optional()
    .meta({ description: 'The version of Python it needs, in quotes: "3.12". The service\'s own unless given.' }),
  build: z
    .enum(BUILDS)
    .optional()
    .meta({ description: "Whether dependencies may be built from source: wheels (default) or source." }),
  inputs: z
    .record(z.string(), InputSchema, { error: "must be a map of input names to declarations." })
    .optional()
    .meta({ description: "The values an execution takes, by name." }),
  outputs: z
    .record(z.string(), OutputSchema, { error: "must be a map of output names to declarations." })
    .optional()
    .meta({ description: "The files an execution promises, by name." }),
  secrets: z
    .array(z.string({ error: "must be the name of a secret." }), { error: "must be a list of names, such as [TOKEN]." })
    .optional()
    .meta({ description: "Secrets of the account that programs find in their environment, by name." }),
  env: z
    .record(z.string(), z.string({ error: 'must be a text; put numbers and true or false in quotes, such as "3".' }), {
      error: "must be a map of names to texts.",
    })
    .optional()
    .meta({ description: "Variables of the environment: texts, which may name ${{ vars.NAME }} of the account." }),
  limits: LimitsSchema.optional().meta({ description: "What an execution may use." }),
  retry: z
    .strictObject({
      max_attempts: z
        .int({ error: "must be a whole number." })
        .optional()
        .meta({ description: "How often it is tried in all. 1 unless given." }),
      delay: duration.optional().meta({ description: "The wait before the second attempt: 30s. None unless given." }),
      backoff: z
        .number({ error: "must be a number." })
        .optional()
        .meta({ description: "Each wait is so many times as long as the one before, from 1 (default) to 10." }),
      on: z
        .array(z.enum(RETRIED_ENDS), { error: `must be a list of ${RETRIED_ENDS.join(", ")}.` })
        .optional()
        .meta({ description: "Ends that are tried again: failed (default), timed_out, out_of_memory." }),
    })
    .optional()
    .meta({ description: "What follows an attempt that does not succeed." }),
  concurrency: z
    .strictObject({
      max: z.int({ error: "must be a whole number." }).meta({ description: "Most executions at the same time." }),
      when_full: z
        .enum(WHEN_FULL)
        .optional()
        .meta({ description: "What happens to one more: queue (default) or reject." }),
    })
    .optional()
    .meta({ description: "How many executions of this workflow may run at once." }),
  triggers: z
    .strictObject({
      api: ApiSchema.optional().meta({ description: "Executions started by an HTTP call." }),
      schedule: ScheduleSchema.optional().meta({ description: "Executions started by the clock." }),
      schedules: z
        .record(z.string(), ScheduleSchema, { error: "must be a map of names to schedules." })
        .optional()
        .meta({ description: "More schedules, by name, each with its own times, payload and history." }),
    })
    .optional()
    .meta({ description: "What may start an execution, apart from the form." }),
  notify: NotifySchema.optional().meta({ description: "Which places of the account are told of what." }),
});

export type Config = z.output<typeof ConfigSchema>;
export type LimitsConfig = NonNullable<Config["limits"]>;
export type ScheduleConfig = NonNullable<NonNullable<Config["triggers"]>["schedule"]>;

/** JSON Schema (draft 7) of `config.yaml`, for editors: completion, hovers, red underlines. */
export function manifestJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(ConfigSchema, {
    target: "draft-7",
    io: "input",
    override: ({ jsonSchema }) => {
      // z.int() adds the bounds of a safe integer, which help nobody who edits a file.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  }) as Record<string, unknown>;
}
