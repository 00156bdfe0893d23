import { z } from "zod";
import { EXECUTION_ENDS } from "../execution.ts";
import { AccountId, Count, Credits, ExecutionId, Name, StorableText, Time, WorkflowId } from "./fields.ts";

const BALANCE = { balance: Credits, reserved: Credits, available: Credits };

/** An account with its credits. */
export const Account = z.object({ accountId: AccountId, name: z.string(), ...BALANCE });
export const AccountList = z.object({ accounts: z.array(Account) });
export const Balance = z.object(BALANCE);

/** Bytes that an account stores and may store. */
const KeptStorage = z
  .object({
    bytes: Count,
    bytesMax: z.int().min(1).nullable().meta({ description: "Null: no limit." }),
    agreedMax: Count.nullable().meta({
      description: "The limit agreed with this account. Null: the default applies. 0: no limit.",
    }),
  })
  .meta({ description: "Files and logs of executions, contents of commits and drafts." });

/** An account with everything that its overview shows. */
export const ShownAccount = Account.extend({
  storage: KeptStorage,
  contact: z.string().nullable().meta({ description: "Whom to ask for credits." }),
});

/** Credits as text, so that no float loses a micro-credit. At most 6 decimals and a billion credits. */
const Amount = z
  .string()
  .regex(/^-?\d{1,10}(\.\d{1,6})?$/, "must be a number of credits with at most 6 decimals, at most a billion")
  .max(18);

export const NewAccount = z.strictObject({ name: Name, credits: Amount.optional() });
export const LedgerChange = z.strictObject({ credits: Amount, reason: StorableText.max(1_000).default("") });

const PerMinute = z.number().int().min(0).max(1_000_000).nullable();

/** Rate limits agreed with an account. Null: the default applies. 0 a minute: no limit. */
export const AgreedRates = z.strictObject({
  perMinute: PerMinute,
  burst: z.number().int().min(1).max(1_000_000).nullable(),
  accountPerMinute: PerMinute,
});

const Rate = z
  .object({
    perMinute: z.number(),
    burst: z.number(),
    remaining: z.number().optional(),
    fullAfterSeconds: z.number().optional(),
  })
  .meta({
    description:
      "`remaining` and `fullAfterSeconds` belong to one bucket: the account's, or that of one workflow's key.",
  });

/** The rate limits of an account, and what is left of them now. */
export const AccountRates = z.object({
  accountId: AccountId,
  name: z.string(),
  workflowId: WorkflowId.optional(),
  agreed: z.object(AgreedRates.shape),
  key: Rate.nullable().meta({ description: "For each workflow's key. Null: no limit." }),
  account: Rate.nullable().meta({ description: "For all workflows together. Null: no limit." }),
});

/** The storage limit of an account. Null: the default applies. 0: no limit. */
export const StorageAgreement = z.strictObject({
  bytesMax: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).nullable(),
});

/** `nextCursor` of a page of the ledger. */
export const LEDGER_CURSOR = /^[1-9]\d{0,17}$/;

/** What moved the balance. */
export const LedgerPage = z.object({
  entries: z.array(
    z.object({
      id: z.string(),
      kind: z.enum(["grant", "settlement", "adjustment"]),
      amount: Credits,
      executionId: ExecutionId.nullable(),
      workflowId: z
        .string()
        .nullable()
        .meta({ description: "Null also when the execution is not on record any more." }),
      workflowName: z.string().nullable(),
      reason: z.string(),
      createdAt: Time,
    }),
  ),
  nextCursor: z.string().nullable().meta({ description: "Null: there is no other page." }),
});

/** How an account stands now: what its first page shows. */
export const AccountOverview = z.object({
  running: Count.meta({ description: "Executions whose program runs. Counted up to 1,000." }),
  queued: Count.meta({ description: "Executions that wait. Counted up to 1,000." }),
  failing: z.object({
    count: Count.meta({ description: "Workflows whose newest execution failed. Cancelled ones count neither way." }),
    newest: z
      .array(
        z.object({
          workflowId: WorkflowId,
          name: z.string(),
          executionId: ExecutionId,
          status: z.enum(EXECUTION_ENDS),
          message: z.string(),
          failedAt: Time,
        }),
      )
      .meta({ description: "At most 3, the one that failed last first." }),
  }),
  available: Credits,
  spentPerDay: Credits.meta({ description: "In credits, by the last seven days and today." }),
  lastsUntil: Time.nullable().meta({
    description: "When nothing is available any more at this rate. Null: nothing was spent, or it lasts for ten years.",
  }),
  firstSteps: z
    .object({ ran: z.boolean(), published: z.boolean(), called: z.boolean() })
    .nullable()
    .meta({ description: "What its people have done already. Null for an account older than 30 days." }),
});

/** What workflows cost on each of some days. */
export const Spend = z.object({
  days: z.array(z.iso.date()),
  workflows: z.array(
    z.object({
      workflowId: z.string(),
      name: z.string(),
      perDay: z.array(Credits).meta({ description: "For each of the days." }),
      total: Credits,
    }),
  ),
});
