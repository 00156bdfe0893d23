import type { MicroCredits } from "../../domain/credits.ts";
import type { StoredFile, Trigger } from "../../domain/execution.ts";
import type { AccountId, CommitId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { JsonTexts } from "../../domain/manifest/json-text.ts";
import type { TickTimes } from "../../domain/schedules/tick-values.ts";
import type { TickSource } from "../../domain/schedules/ticks.ts";
import {
  type BucketState,
  type Rate,
  type RateState,
  type RateUse,
  spacingSeconds,
  toBucketState,
} from "../accounts/rates.ts";
import { type Db, queryRows } from "../connect.ts";
import type { CallReceiver } from "../notices/call-receivers.ts";
import { EXECUTION_OFFERED, type Offer } from "./offers.ts";

/** Beyond those that may be under way, so many of a workflow may wait for their turn. */
export const WAITING_MAX = 10_000;
/** How often a key that was given back between two looks is tried again. */
const TRIES_MAX = 5;

export interface NewExecution {
  readonly id: ExecutionId;
  readonly accountId: AccountId;
  readonly workflowId: WorkflowId;
  readonly commitId: CommitId;
  readonly trigger: Trigger;
  /** Which of the workflow's schedules started it. Missing: `triggers.schedule`, or none. */
  readonly scheduleName?: string | undefined;
  /** Values by input name, JSON; files are in `files`, secrets in `secretInputs`. */
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Those of kind `json` as JSON texts, with what `inputs` cannot say: all digits, the order of keys. */
  readonly inputTexts?: JsonTexts;
  readonly secretInputs: Buffer | null;
  readonly timeoutSeconds: number;
  readonly cpu: number;
  readonly attemptsMax: number;
  readonly chargeMax: MicroCredits;
  /** The process that accepted it, for the record. */
  readonly acceptedBy: string;
  readonly files: readonly StoredFile[];
  /** The accepting process begins it at once when it is admitted, and Temporal learns of it later (`workflow-starts.ts`). */
  readonly headStart?: boolean;
  /** Its end may make a notice: its commit has `notify`. */
  readonly notifies?: boolean;
  /** Where its call wants the result, beside the answer. */
  readonly receiver?: CallReceiver | undefined;
  /** It has a slot on this host: its credits are reserved and its first attempt is opened with it. Only without `concurrency`. */
  readonly claim?: FirstClaim | undefined;
  /** The host that it is offered to, so that it begins before Temporal knows of it. Only without `concurrency`. */
  readonly offeredTo?: string | undefined;
  /** The tick that it stands for, which gets its record with it. */
  readonly tick?: StartedTick | undefined;
}

/** A tick that starts an execution, and who found it due when. */
export interface StartedTick extends TickTimes {
  readonly source: TickSource;
  readonly decidedAt: Date;
}

/** On whose host the first attempt runs, and for how long without a renewal. The process is the one that accepts. */
export interface FirstClaim {
  readonly hostId: string;
  readonly leaseSeconds: number;
}

/** On which conditions an execution is accepted; null where there is no such condition. */
export interface Conditions {
  /** Unique in the workflow; `fingerprint` is that of its inputs. */
  readonly idempotency: { readonly key: string; readonly fingerprint: Buffer } | null;
  readonly rates: RateUse;
  /** How many executions of the workflow may be under way at once, and how many more may wait for their turn. */
  readonly concurrency: { readonly executionsMax: number; readonly waitingMax: number } | null;
  /** It begins only when nothing else of its workflow's schedule is under way, and waits for that. */
  readonly follows?: boolean;
  /** It stands for a past tick that a user asked for. It follows those only, and lets all others that wait pass. */
  readonly backfilled?: boolean;
}

export const UNCONDITIONAL: Conditions = { idempotency: null, rates: { key: null, account: null }, concurrency: null };

export type Acceptance = { readonly rates: RateState } & (
  | /**
   * `admitted`: it may be started. Otherwise it waits for its turn, which is announced. `begun`: its credits are reserved, and its
   * first attempt is open. `recorded`: its tick got its record. Where it stands for one and this is false the tick had one
   * already, and the caller takes the acceptance back.
   */
  { readonly kind: "accepted"; readonly admitted: boolean; readonly begun: boolean; readonly recorded: boolean }
  /** The idempotency key belongs to this execution. */
  | { readonly kind: "known"; readonly executionId: ExecutionId }
  | { readonly kind: "rate_limited" }
  /** As many are under way, and as many wait, as may. */
  | { readonly kind: "full" }
);

interface AcceptanceRow {
  readonly outcome: Acceptance["kind"];
  readonly id: ExecutionId | null;
  readonly admitted: boolean | null;
  readonly begun?: boolean | null;
  readonly recorded?: boolean | null;
  readonly keyBusy: number | null;
  readonly accountBusy: number | null;
}

/**
 * Records an execution with its input files if all conditions are met: one statement, all or nothing. It is `queued`, or
 * `running` where it has a claim and enough credits. Of two with one idempotency key the first is accepted. The other gets
 * that one's id, and uses up no rate.
 */
export async function acceptExecution(
  db: Db,
  execution: NewExecution,
  conditions: Conditions = UNCONDITIONAL,
): Promise<Acceptance> {
  const { rates } = conditions;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const [row] = await queryRows<AcceptanceRow>(db, statementFor(execution), toBindings(execution, conditions));
    const { outcome, id, keyBusy, accountBusy, ...got } = row as AcceptanceRow;
    const state: RateState = {
      key: toState(rates.key, keyBusy),
      account: toState(rates.account, accountBusy),
    };
    if (outcome === "accepted") {
      const [admitted, begun, recorded] = [got.admitted === true, got.begun === true, got.recorded === true];
      return { kind: outcome, admitted, begun, recorded, rates: state };
    }
    if (outcome !== "known") return { kind: outcome, rates: state };
    // Null: the execution was refused, and gave its key back, between the two looks of the statement.
    if (id !== null) return { kind: outcome, executionId: id, rates: state };
  }
  throw new Error(`${execution.id} found its idempotency key taken and given back ${TRIES_MAX} times.`);
}

const ACCEPT = `
  select outcome, id, admitted, key_busy as "keyBusy", account_busy as "accountBusy"
    from accept_execution(:id, :accountId, :workflowId, :commitId, :trigger, :timeoutSeconds, :cpu, :attemptsMax, :chargeMax,
                          :acceptedBy, cast(:inputs as jsonb), :secretInputs, cast(:files as jsonb), :key, :fingerprint,
                          :keyBucket, :keySpacing, :keyBurst, :accountBucket, :accountSpacing, :accountBurst,
                          :executionsMax, :waitingMax, cast(:follows as boolean), cast(:backfilled as boolean),
                          cast(:inputTexts as jsonb), cast(:scheduleName as text), cast(:begins as boolean))`;

/** From then on its files are those of an execution: what was noted before they were stored goes in the same transaction. */
const NOTED = `noted as (
    delete from uploads where execution_id = (select id from accepted where outcome = 'accepted')
  )`;

const PENDING = `pending as (
    insert into workflow_starts (execution_id, begun_by)
    select id, :acceptedBy from accepted where outcome = 'accepted' and admitted
  )`;

/** The functions of a select list are called after the row that they belong to was made. */
const BEGUN = `begun as (
    select begin_execution(id, :hostId, :acceptedBy, :leaseSeconds, true) as begun from accepted where outcome = 'accepted' and admitted
  )`;

const RECORDED = `recorded as (
    select note_tick(id, :nominalAt, :previousAt, :timezone, :source, :decidedAt) as recorded from accepted where outcome = 'accepted'
  )`;

const OFFERED = `offered as (
    select pg_notify('${EXECUTION_OFFERED}', :offer) from accepted where outcome = 'accepted' and admitted
  )`;

const LISTENED = `listened as (
    select listen_to_end(id) as notifies from accepted where outcome = 'accepted'
  )`;

const RECEIVED = `received as (
    select send_result(id, :receiverTarget, :receiverSecret, :receiverApiUrl) as sends from accepted where outcome = 'accepted'
  )`;

/** Parts that only call a function: it is not called unless they are read, by these names. */
const READ: ReadonlyMap<string, string> = new Map([
  [BEGUN, "begun"],
  [LISTENED, "listened"],
  [OFFERED, "offered"],
  [RECEIVED, "received"],
  [RECORDED, "recorded"],
]);

const withParts = (...parts: readonly string[]): string => {
  const joins = parts.flatMap((part) => READ.get(part) ?? []).map((name) => ` left join ${name} on true`);
  return `with ${[`accepted as materialized (${ACCEPT})`, ...parts].join(", ")} select * from accepted${joins.join("")}`;
};

/** Few texts, so that each is prepared once a connection. What nobody asked for costs nothing. */
function statementFor({
  files,
  headStart = false,
  claim,
  offeredTo,
  notifies = false,
  receiver,
  tick,
}: NewExecution): string {
  const parts = [
    ...(files.length === 0 ? [] : [NOTED]),
    ...(claim !== undefined || headStart ? [PENDING] : []),
    ...(claim === undefined ? [] : [BEGUN]),
    ...(offeredTo === undefined ? [] : [OFFERED]),
    ...(tick === undefined ? [] : [RECORDED]),
    ...(notifies ? [LISTENED] : []),
    ...(receiver === undefined ? [] : [RECEIVED]),
  ];
  return parts.length === 0 ? ACCEPT : withParts(...parts);
}

function toState(use: { bucket: string; rate: Rate } | null, busySeconds: number | null): BucketState | null {
  return use && toBucketState(use.rate, busySeconds);
}

function toBindings(execution: NewExecution, conditions: Conditions) {
  const { idempotency, rates, concurrency, follows = false, backfilled = false } = conditions;
  return {
    ...execution,
    scheduleName: execution.scheduleName ?? null,
    chargeMax: String(execution.chargeMax),
    inputs: JSON.stringify(execution.inputs),
    inputTexts: JSON.stringify(execution.inputTexts ?? {}),
    key: idempotency?.key ?? null,
    fingerprint: idempotency?.fingerprint ?? null,
    files: filesAsJson(execution.files),
    keyBucket: rates.key?.bucket ?? null,
    keySpacing: rates.key && spacingSeconds(rates.key.rate),
    keyBurst: rates.key?.rate.burst ?? null,
    accountBucket: rates.account?.bucket ?? null,
    accountSpacing: rates.account && spacingSeconds(rates.account.rate),
    accountBurst: rates.account?.rate.burst ?? null,
    executionsMax: concurrency?.executionsMax ?? null,
    waitingMax: concurrency?.waitingMax ?? null,
    follows,
    backfilled,
    begins: execution.claim !== undefined,
    ...execution.claim,
    ...execution.tick,
    offer: execution.offeredTo === undefined ? null : toOffer(execution, execution.offeredTo),
    receiverTarget: execution.receiver?.target ?? null,
    receiverSecret: execution.receiver?.secret ?? null,
    receiverApiUrl: execution.receiver?.apiUrl ?? null,
  };
}

function toOffer({ id: executionId, accountId }: NewExecution, hostId: string): string {
  return JSON.stringify({ executionId, accountId, hostId, atOnce: true } satisfies Offer);
}

/** Files as the statements that store them take them. */
export function filesAsJson(files: readonly StoredFile[]): string {
  return JSON.stringify(files.map(toFileRow));
}

/** A file by the names of the columns. */
export function toFileRow(file: StoredFile) {
  return {
    name: file.name,
    file_name: file.fileName,
    storage_key: file.storageKey,
    bytes: file.bytes,
    sha256: file.sha256,
    content_type: file.contentType,
  };
}
