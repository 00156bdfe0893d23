import type { MicroCredits } from "../../domain/credits.ts";
import type { ExecutionState, PythonOutcome, StoredFile, Trigger } from "../../domain/execution.ts";
import type { AccountId, CommitId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { JsonTexts } from "../../domain/manifest/json-text.ts";
import { DEFAULT_RETRY_POLICY, RETRY_DELAY_SECONDS_MAX, type RetryPolicy } from "../../domain/retries.ts";
import { type Db, queryRows, sqlState, UNIQUE_VIOLATION } from "../connect.ts";
import { findAttemptState } from "./attempt-state.ts";
import { endRetries, type Pay, type UsedBefore } from "./further-attempts.ts";

/** Everything a worker needs to run the program of an execution. */
export interface ExecutionWork {
  readonly executionId: ExecutionId;
  readonly accountId: AccountId;
  readonly workflowId: WorkflowId;
  readonly commitId: CommitId;
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly trigger: Trigger;
  /** The time of the schedule that it stands for; null without one. */
  readonly tick: WorkTick | null;
  /** What its end is priced by. */
  readonly cpu: number;
  readonly timeoutSeconds: number;
  readonly chargeMax: MicroCredits;
  /** Its commit is of files that nobody has committed. */
  readonly draft: boolean;
  readonly manifest: unknown;
  readonly environmentKey: string | null;
  /** The minor version of Python that the commit was made with; null where that was not noted. */
  readonly python: string | null;
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Those of kind `json` as they were written; fewer, or none, for executions from before that was kept. */
  readonly inputTexts: JsonTexts;
  readonly secretInputs: Buffer | null;
  readonly files: readonly StoredFile[];
  /** The attempt before, and where the log is kept that its host handed over; null for the first. */
  readonly previous: {
    readonly message: string;
    readonly hostId: string;
    readonly logKey: string | null;
    /** Whether that log has the last lines of that attempt. */
    readonly isLogWhole: boolean;
    /** Attempts so far whose outputs were lost with their host. */
    readonly outputsLost: number;
  } | null;
}

/** Instants are ISO 8601. */
export interface WorkTick {
  readonly nominalAt: string;
  /** When the schedule was due before that; null when that was the first time. */
  readonly previousAt: string | null;
  readonly timezone: string;
  /** Which of the workflow's schedules; null: `triggers.schedule`. */
  readonly scheduleName: string | null;
}

export interface Claim {
  readonly executionId: ExecutionId;
  readonly hostId: string;
  readonly processId: string;
  readonly leaseSeconds: number;
  /** How often a lost worker is replaced: attempts that may begin the program and end without an outcome. */
  readonly lostMax: number;
}

/** Attempts that may end before their program begins. The waits between them add up to three minutes. */
const UNBEGUN_MAX = 20;
/** Attempts on hosts that lack something: enough that another host gets its turn, few enough for a caller who waits. */
const UNABLE_MAX = 5;
/** The bound of the table. Only handing over makes so many. */
const ATTEMPTS_MAX = 100;

export type ClaimOutcome =
  | { readonly kind: "claimed"; readonly work: ExecutionWork }
  | { readonly kind: "ended"; readonly outcome: PythonOutcome; readonly hostId: string; readonly attempt: number }
  /** Its last attempt did not succeed, and the next is due in so many seconds. */
  | { readonly kind: "waiting"; readonly seconds: number }
  /** Another process runs it now. */
  | { readonly kind: "busy" }
  /** The hosts that tried lack something that only the operator can mend. */
  | { readonly kind: "unable"; readonly reason: string }
  /** Every worker that had it was lost, or no attempt of it began. */
  | { readonly kind: "exhausted" }
  /** The execution has ended, or was cancelled before it began, or is unknown. */
  | { readonly kind: "closed"; readonly state: ExecutionState | "unknown"; readonly cancelled: boolean };

/** What a claim would find now: the attempt it would open, or why it would open none. */
export type Claimable =
  | Exclude<ClaimOutcome, { kind: "claimed" }>
  | { readonly kind: "claimable"; readonly attempt: number; readonly used: UsedBefore };

/**
 * Takes the right to run an execution's program, or says why not. The usual case, a first attempt, is one statement.
 * The unique index on living attempts settles the race of several claimants. What `pay` refuses ends the execution as its last attempt did.
 */
export async function claimAttempt(db: Db, claim: Claim, pay?: Pay): Promise<ClaimOutcome> {
  const first = await openAttempt(db, claim, 1);
  if (first) return { kind: "claimed", work: first };
  const found = await findClaimable(db, claim);
  if (found.kind !== "claimable") return found;
  const unpaid = found.used.secondsUsed > 0 ? await pay?.(claim.executionId, found.used) : undefined;
  if (unpaid !== undefined) {
    await endRetries(db, { executionId: claim.executionId, words: unpaid });
    const ended = await findClaimable(db, claim);
    return ended.kind === "claimable" ? { kind: "busy" } : ended;
  }
  const next = await openAttempt(db, claim, found.attempt);
  return next ? { kind: "claimed", work: next } : { kind: "busy" };
}

/**
 * Finds what a claim would find, and opens no attempt. Ends attempts whose worker was lost. `cancelled`: the caller
 * wants no further attempt, also where the record does not say so.
 */
export async function findClaimable(db: Db, claim: Claim & { readonly cancelled?: boolean }): Promise<Claimable> {
  await endLostAttempts(db, claim);
  const found = await findAttemptState(db, claim.executionId);
  if (found === undefined) return { kind: "closed", state: "unknown", cancelled: false };
  const state = { ...found, cancelled: found.cancelled || claim.cancelled === true };
  if (state.alive) return { kind: "busy" };
  const { last } = state;
  if (last !== null && (last.retrySeconds === null || state.cancelled)) {
    const { status, message } = last;
    // Cancelled between two attempts. `findBilling` says the same.
    const end = last.retrySeconds === null ? status : "cancelled";
    return {
      kind: "ended",
      outcome: { status: end, message, secondsUsed: state.secondsUsed },
      hostId: last.hostId,
      attempt: last.attempt,
    };
  }
  if (state.cancelled || (state.state !== "queued" && state.state !== "running")) {
    return { kind: "closed", state: state.state, cancelled: state.cancelled };
  }
  if (last !== null && last.retrySeconds !== null && last.retrySeconds > 0)
    return { kind: "waiting", seconds: last.retrySeconds };
  if (state.unable >= UNABLE_MAX) return { kind: "unable", reason: state.unableReason ?? "" };
  if (state.lost >= claim.lostMax || state.unbegun >= UNBEGUN_MAX || state.attempts >= ATTEMPTS_MAX)
    return { kind: "exhausted" };
  const { cpu, timeoutSeconds, secondsUsed, processorSeconds } = state;
  return {
    kind: "claimable",
    attempt: state.attempts + 1,
    used: { cpu, timeoutSeconds, secondsUsed, processorSeconds },
  };
}

/**
 * Reserves the credits of an execution that waits for its first attempt, and opens that: one statement, all or nothing. Undefined where
 * something is in the way: no credits, a cancellation, another worker. `claimAttempt` knows which.
 */
export function beginFirstAttempt(db: Db, claim: Omit<Claim, "lostMax">): Promise<ExecutionWork | undefined> {
  // The conditions come first: the function asks for none of them.
  const opened = `
    select e.id as execution_id, 1 as attempt from executions e
     where e.id = :executionId and case when e.state = 'queued' and e.cancel_requested_at is null
                                        then begin_execution(e.id, :hostId, :processId, :leaseSeconds) else false end`;
  return findOpened(db, `with opened as materialized (${opened})`, { ...claim });
}

function openAttempt(db: Db, claim: Claim, attempt: number): Promise<ExecutionWork | undefined> {
  return findOpened(
    db,
    `with opened as (
         insert into attempts (execution_id, attempt, host_id, process_id, lease_until)
         select e.id, :attempt, :hostId, :processId, now() + make_interval(secs => :leaseSeconds)
           from executions e
          where e.id = :executionId and e.state in ('queued', 'running') and e.cancel_requested_at is null
         on conflict (execution_id, attempt) do nothing
         returning execution_id, attempt
       ), started as (
         update executions e set state = 'running', started_at = coalesce(e.started_at, clock_timestamp())
           from opened where e.id = opened.execution_id
       )`,
    { ...claim, attempt },
  );
}

/** Returns the work of the attempt that `opening` has opened. Undefined: it has opened none, or another worker was quicker. */
async function findOpened(
  db: Db,
  opening: string,
  bindings: Readonly<Record<string, unknown>>,
): Promise<ExecutionWork | undefined> {
  try {
    const [row] = await queryRows<ExecutionWork>(
      db,
      `${opening}
       select e.id as "executionId", e.account_id as "accountId", e.workflow_id as "workflowId",
              e.commit_id as "commitId", opened.attempt, e.attempts_max as "attemptsMax", e.trigger, e.cpu,
              case when e.scheduled_for is not null then jsonb_build_object('nominalAt', e.scheduled_for,
                'previousAt', e.previous_scheduled_for, 'timezone', e.scheduled_zone, 'scheduleName', e.schedule_name) end as tick,
              e.timeout_seconds as "timeoutSeconds", e.charge_max as "chargeMax", c.draft, c.manifest,
              c.environment_key as "environmentKey", c.python, e.inputs, e.input_texts as "inputTexts", e.secret_inputs as "secretInputs",
              coalesce((select jsonb_agg(jsonb_build_object(
                  'name', f.name, 'fileName', f.file_name, 'storageKey', f.storage_key, 'bytes', f.bytes,
                  'sha256', f.sha256, 'contentType', f.content_type) order by f.name, f.position)
                from execution_files f where f.execution_id = e.id and f.direction = 'input'), '[]') as files,
              (select jsonb_build_object('message', p.message, 'hostId', p.host_id, 'logKey', e.log_key,
                    'isLogWhole', coalesce(e.log_attempt = p.attempt, false),
                    'outputsLost', (select count(*) from attempts o where o.execution_id = e.id and o.outputs_lost))
                 from attempts p where p.execution_id = e.id and p.attempt = opened.attempt - 1) as previous
         from opened
         join executions e on e.id = opened.execution_id
         join commits c on c.workflow_id = e.workflow_id and c.id = e.commit_id`,
      bindings,
    );
    return row;
  } catch (error) {
    if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
    return undefined;
  }
}

const STOPPED = "The service was stopped while it ran.";

/**
 * Marks the living attempts of a process that was asked to stop. From then on they count as handed over when they end
 * without an outcome, also when the process is killed before it can say so.
 */
export async function handOverAttempts(db: Db, { processId }: Pick<Claim, "processId">): Promise<void> {
  await queryRows(db, `update attempts set handed_over = true where process_id = :processId and ended_at is null`, {
    processId,
  });
}

/**
 * Closes attempts that nobody runs any more. Their lease ran out, or they belong to an earlier process of this host. A
 * host's data folder has one process at a time, and its sandboxes die with it.
 */
async function endLostAttempts(db: Db, claim: Claim): Promise<void> {
  await queryRows(
    db,
    `update attempts set ended_at = now(), message = case when handed_over then :stopped else 'The worker was lost.' end
      where execution_id = :executionId and ended_at is null
        and (lease_until < now() or (host_id = :hostId and process_id <> :processId))`,
    { executionId: claim.executionId, hostId: claim.hostId, processId: claim.processId, stopped: STOPPED },
  );
}

/**
 * Gives a living attempt of this host, whose program runs no more, to the process that knows how it ended. Returns the manifest that
 * it ran by; undefined where there is no such attempt.
 */
export async function takeOverAttempt(
  db: Db,
  claim: Omit<Claim, "lostMax"> & { readonly attempt: number },
): Promise<{ readonly manifest: unknown } | undefined> {
  const [row] = await queryRows<{ manifest: unknown }>(
    db,
    `update attempts a set process_id = :processId, lease_until = now() + make_interval(secs => :leaseSeconds)
       from executions e join commits c on c.workflow_id = e.workflow_id and c.id = e.commit_id
      where e.id = a.execution_id and a.execution_id = :executionId and a.attempt = :attempt
        and a.host_id = :hostId and a.ended_at is null
      returning c.manifest`,
    { ...claim },
  );
  return row;
}

/** Prolongs the lease of a living attempt. `lost`: it is ours no more, and what it does must stop. */
export async function renewLease(
  db: Db,
  input: { executionId: ExecutionId; attempt: number; processId: string; leaseSeconds: number },
): Promise<"held" | "cancelled" | "lost"> {
  const [row] = await queryRows<{ cancelled: boolean }>(
    db,
    `update attempts a set lease_until = now() + make_interval(secs => :leaseSeconds)
       from executions e
      where e.id = a.execution_id and a.execution_id = :executionId and a.attempt = :attempt
        and a.process_id = :processId and a.ended_at is null
      returning e.cancel_requested_at is not null as cancelled`,
    input,
  );
  if (row === undefined) return "lost";
  return row.cancelled ? "cancelled" : "held";
}

/**
 * Records how an attempt ended; null for an attempt given up without an outcome, which may be tried again.
 * False: it was given to another worker meanwhile, and this result counts for nothing.
 */
export async function endAttempt(
  db: Db,
  input: {
    executionId: ExecutionId;
    attempt: number;
    processId: string;
    outcome: PythonOutcome | null;
    /** False when nothing of the program has run: then the attempt does not count. */
    begun?: boolean;
    /** Its process was asked to stop: then no worker counts as lost. */
    handedOver?: boolean;
    /** What the host lacks for the program. */
    unable?: string | undefined;
    /** After which ends another attempt follows, and how soon, while the execution allows one more. */
    retries?: RetryPolicy;
  },
): Promise<boolean> {
  const { executionId, attempt, processId, outcome, begun = true, handedOver = false, unable } = input;
  const { on, delaySeconds, backoff } = input.retries ?? DEFAULT_RETRY_POLICY;
  const givenUp = unable ?? (begun ? "The worker gave it up." : "The program could not begin.");
  const rows = await queryRows(
    db,
    `with ended as (
     update attempts
        set ended_at = clock_timestamp(), status = :status, begun = :begun, handed_over = handed_over or :handedOver, unable = :unable,
            message = :message, seconds_used = :secondsUsed, processor_seconds = :processorSeconds,
            peak_memory_bytes = :peakMemoryBytes, used_processor_seconds = :usedProcessorSeconds, connections = cast(:connections as jsonb),
            retry_at = (
              select clock_timestamp() + make_interval(secs => least(:delaySeconds * power(:backoff, t.count), :delaySecondsMax))
                from executions e,
                     (select count(*) from attempts o where o.execution_id = :executionId and (o.status is not null or o.outputs_lost)) t
               where e.id = :executionId and e.cancel_requested_at is null
                 and t.count + 1 < e.attempts_max and :status = any(cast(:retried as text[])))
      where execution_id = :executionId and attempt = :attempt and process_id = :processId and ended_at is null
      returning execution_id, connections
     )
     select case when e.connections is not null then note_destinations(array[e.execution_id], array[e.connections]) end from ended e`,
    {
      executionId,
      attempt,
      processId,
      status: outcome?.status ?? null,
      message: outcome?.message ?? (handedOver ? STOPPED : givenUp),
      begun,
      handedOver,
      unable: unable !== undefined,
      secondsUsed: outcome?.secondsUsed ?? 0,
      processorSeconds: outcome?.processorSeconds ?? 0,
      peakMemoryBytes: outcome?.peakMemoryBytes ?? null,
      usedProcessorSeconds: outcome?.usedProcessorSeconds ?? null,
      connections: outcome?.connections === undefined ? null : JSON.stringify(outcome.connections),
      retried: [...on],
      delaySeconds,
      backoff,
      delaySecondsMax: RETRY_DELAY_SECONDS_MAX,
    },
  );
  return rows.length === 1;
}
