import { z } from "zod";
import { STATUSES } from "./executions.ts";
import { AlwaysTrue, NamedExecutionId, Time } from "./fields.ts";
import { NamedNextRun, Timetable } from "./schedules.ts";
import { Estimate, Usage } from "./workflows.ts";

const Amount = z.number().min(0);

/** The five fields of every result. */
export const RESULT = {
  status: z.enum(STATUSES),
  executionId: NamedExecutionId,
  duration: Amount.meta({ description: "Seconds that the program ran: what is billed." }),
  outputs: z.record(z.string(), z.url()).meta({ description: "Output name to the address of its file." }),
  cost: z
    .object({ compute: Amount, total: Amount })
    .meta({ description: "In credits; `total` is `compute` and the fee of an execution." }),
};

/** What a result has beside, where there is something to say. */
export const RESULT_REMARKS = {
  draft: z
    .boolean()
    .optional()
    .meta({ description: "True: it is of a member's draft, and its commit is in no history. Only then." }),
  queuePosition: z
    .int()
    .min(1)
    .optional()
    .meta({ description: "1: the next to begin. Only while it waits for others of its workflow." }),
  filesRemovedAt: Time.optional().meta({ description: "Since when its files are not kept any more." }),
  logRemovedAt: Time.optional().meta({ description: "Since when its log is not kept any more." }),
};

/** What a refusal for want of credits says. */
export const REFUSED_AMOUNTS = {
  needed: Amount.meta({
    description:
      "What this execution needs to begin: the most that it may cost, in its first hour if it may take longer.",
  }),
  available: z.number().meta({ description: "What the account had." }),
};

/** An execution that ended with success. */
export const Success = z
  .object({ ...RESULT, ...RESULT_REMARKS, status: z.literal("success") })
  .meta({ component: "Success" });

/** An execution that goes on. */
export const Accepted = z
  .object({ ...RESULT, ...RESULT_REMARKS, status: z.enum(["queued", "running"]) })
  .meta({ component: "Accepted" });

/** An execution in any state: what `GET /run-logs/{executionId}` answers. */
export const Execution = z
  .object({
    ...RESULT,
    ...RESULT_REMARKS,
    error: z.string().optional().meta({ description: "Only of an execution that did not succeed." }),
    message: z.string().optional().meta({ description: "Why it did not succeed." }),
    needed: REFUSED_AMOUNTS.needed.optional(),
    available: REFUSED_AMOUNTS.available.optional(),
  })
  .meta({ component: "Execution" });

/** Inputs that `execute` would take. */
export const Validity = z
  .object({
    valid: AlwaysTrue,
    nextRuns: z
      .array(NamedNextRun)
      .max(10)
      .meta({ description: "When the schedule is due next; empty without one, and while it is paused." }),
    schedule: z
      .object({ description: z.string(), paused: z.boolean() })
      .optional()
      .meta({ description: "The schedule in plain words, where the workflow has one." }),
    schedules: z
      .array(Timetable)
      .optional()
      .meta({ description: "Those of `triggers.schedules`, where the workflow has any." }),
    usage: Usage.optional().meta({
      description: "The most that an attempt of the last 100 executions used, beside what each may use.",
    }),
    estimate: Estimate.optional().meta({
      description: "What it may cost, from so many earlier executions. Advice: never what is reserved.",
    }),
  })
  .meta({ component: "Validity" });

const LINK_SECONDS_DEFAULT = 3_600;
const LINK_SECONDS_MAX = 7 * 86_400;

/** How long a link is to open its file; all of it may be left out. */
export const LinkRequest = z.strictObject({
  expiresInSeconds: z
    .int({ error: "must be a whole number of seconds" })
    .min(1, { error: "must be at least 1" })
    .max(LINK_SECONDS_MAX, { error: `must be at most ${LINK_SECONDS_MAX}` })
    .default(LINK_SECONDS_DEFAULT),
});

/** An address that opens one file without a key. */
export const Link = z.object({ url: z.url(), expiresAt: Time }).meta({ component: "Link" });
