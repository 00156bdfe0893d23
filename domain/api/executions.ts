import { z } from "zod";
import { EXECUTION_ENDS, TRIGGERS } from "../execution.ts";
import { isExecutionId } from "../ids.ts";
import { Count, Credits, Failure, NamedExecutionId, Time } from "./fields.ts";
import { CANCELLED_AT_ONCE_MAX } from "./limits.ts";
import { Estimate } from "./workflows.ts";

export const STATUSES = ["queued", "running", ...EXECUTION_ENDS] as const;

const Seconds = z.number().min(0);

/** What the list and the record in full both have. */
const SUMMARY = {
  executionId: NamedExecutionId,
  workflowId: z.string(),
  workflowName: z.string(),
  status: z.enum(STATUSES),
  trigger: z.enum(TRIGGERS),
  draft: z.boolean().meta({ description: "It is of a draft: its commit is in no history." }),
  commitId: z.string(),
  createdAt: Time,
  startedAt: Time.nullable().meta({ description: "Null: its program has not begun." }),
  finishedAt: Time.nullable().meta({ description: "Null: it goes on." }),
  duration: Seconds.nullable().meta({ description: "Seconds that the program ran. Null while it goes on." }),
  message: z.string().meta({ description: "Why it did not succeed; otherwise empty." }),
  failure: Failure.nullable(),
};
const FILE = { fileName: z.string(), bytes: Count, contentType: z.string() };

const Traffic = {
  sentBytes: Count.meta({ description: "Whole packets, with their headers." }),
  receivedBytes: Count,
  refused: Count.meta({ description: "Packets that were refused; one for a TCP connection." }),
};
const AttemptConnections = z
  .object({
    destinations: z.array(
      z.object({
        name: z.string().nullable().meta({
          description:
            "Of a destination of `limits.network.to`, or `name server`. Null where only the address is certain.",
        }),
        address: z.string(),
        port: Count,
        protocol: z.enum(["tcp", "udp"]),
        ...Traffic,
        isNew: z
          .boolean()
          .meta({ description: "No run of the workflow had connected there before, as far as runs are kept." }),
      }),
    ),
    more: z
      .object({ connections: Count, ...Traffic })
      .nullable()
      .meta({
        description: "What it connected to after the first 100 destinations, and 50 refused ones, taken together.",
      }),
  })
  .nullable()
  .meta({ description: "What it connected to. Null: it has no network, goes on, or was not seen." });

/** A page of the executions of an account. */
export const ExecutionPage = z.object({
  executions: z.array(
    z.object({ ...SUMMARY, cost: Credits.nullable().meta({ description: "In all. Null while it goes on." }) }),
  ),
  nextCursor: z.string().nullable().meta({ description: "Null: there is no other page." }),
});

/** The record of an execution in full. */
export const ExecutionRecord = z.object({
  ...SUMMARY,
  needed: Credits.optional().meta({ description: "Only when credits were missing: what it needs to begin." }),
  available: Credits.optional().meta({ description: "Only when credits were missing: what the account had." }),
  cost: z
    .object({ compute: Credits, total: Credits, atMost: Credits })
    .meta({ description: "`atMost` is what was, or would have been, held for it." }),
  inputs: z
    .looseObject({})
    .meta({ description: "By input; of a secret only that one was given: `•••`.", additionalProperties: true }),
  inputTexts: z.record(z.string(), z.string()).meta({
    description:
      "Inputs of kind `json` as the texts that were sent, for clients whose JSON changes digits or the order of keys. None for older executions.",
  }),
  inputFiles: z.array(z.object({ input: z.string(), position: Count, ...FILE })),
  outputs: z.record(z.string(), z.url()),
  files: z.array(z.object({ name: z.string(), ...FILE, sha256: z.string(), url: z.string() })),
  attempts: z.array(
    z.object({
      attempt: Count,
      startedAt: Time,
      endedAt: Time.nullable(),
      status: z.string().nullable().meta({ description: "Null with an end: the worker was lost." }),
      message: z.string(),
      secondsUsed: Seconds,
      peakMemoryBytes: Count.nullable().meta({
        description:
          "The most memory that its largest process held, as it says, or was seen to hold together with files in memory. Null: it ended by force before anybody looked.",
      }),
      processorSeconds: Seconds.nullable().meta({
        description: "Processor time of its program, as it says or was seen. No bill is made of it.",
      }),
      connections: AttemptConnections,
      values: z
        .array(
          z.object({
            kind: z.enum(["secret", "variable"]),
            name: z.string(),
            version: Count,
            workflow: z.boolean().meta({ description: "Whether it was of the workflow itself, not of its account." }),
          }),
        )
        .meta({ description: "The versions of secrets and variables that it got." }),
    }),
  ),
  schedule: z.string().optional().meta({ description: "The name of the one of `triggers.schedules` that started it." }),
  nextAttemptAt: Time.nullable().meta({ description: "When it is tried again. Null: it does not wait for that." }),
  limits: z.object({ timeoutSeconds: Seconds, memoryBytes: Count, cpu: z.number(), attemptsMax: Count }),
  logBytes: Count,
  queuePosition: Count.nullable().meta({ description: "1: the next to begin. Null: it waits for no others." }),
  slotPosition: Count.nullable().meta({
    description: "1: the next to get a free slot of the process that answers. Null: it waits for no slot there.",
  }),
  progress: z
    .object({ fraction: z.number(), message: z.string() })
    .nullable()
    .meta({ description: "What the program says, where it runs in the process that answers." }),
  temporalUrl: z.string().nullable().meta({ description: "Where to look at it in Temporal. Null: not ours to say." }),
  uploadedAt: Time.nullable().meta({ description: "When its outputs and its log were stored. Null: not yet." }),
  cancelRequestedAt: Time.nullable(),
  cancelRequestedBy: z.string().nullable(),
  filesRemovedAt: Time.nullable().meta({ description: "Since when its files are not kept any more." }),
  logRemovedAt: Time.nullable(),
  estimate: Estimate.nullable().meta({
    description: "What an execution of the workflow usually costs, and how many it is taken from.",
  }),
});

/** `nextCursor` of a page: when its last execution was accepted, in microseconds since 1970, and its id. */
export const EXECUTIONS_CURSOR = /^(\d{1,17})\.(ex_[0-9a-z]{16,40})$/;

export const CancelRequest = z.strictObject({
  executionIds: z
    .array(z.string().refine(isExecutionId, "must be the id of an execution").meta({ maxLength: 43 }))
    .min(1, "must name at least one execution")
    .max(CANCELLED_AT_ONCE_MAX, `must name at most ${CANCELLED_AT_ONCE_MAX} executions`),
});

const Ids = z.array(NamedExecutionId);

/** What became of each execution that was to be ended. */
export const CancelledExecutions = z.object({ cancelled: Ids, ended: Ids, unknown: Ids });
