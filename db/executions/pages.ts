import type { MicroCredits } from "../../domain/credits.ts";
import type { ExecutionState, Trigger } from "../../domain/execution.ts";
import { type AccountId, type CommitId, type ExecutionId, isExecutionId, type WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** So many executions are looked through for one page, however few of them are what is looked for. */
const WINDOW_MAX = 5_000;

/** Which executions of an account; what is left out is no condition. */
export interface ExecutionFilter {
  readonly accountId: AccountId;
  readonly workflowId?: WorkflowId | undefined;
  /** Of the workflow: a commit alone is none. */
  readonly commitId?: CommitId | undefined;
  readonly state?: ExecutionState | undefined;
  readonly trigger?: Trigger | undefined;
  /** Accepted at that time or later. */
  readonly from?: Date | undefined;
  /** Accepted before that time. */
  readonly to?: Date | undefined;
  /** In the workflow's name or the message, or what the id begins with; upper and lower case are the same. */
  readonly text?: string | undefined;
}

/** A place in the list: behind this execution. Microseconds, because that is how exactly the record has them. */
export interface Place {
  readonly createdMicros: bigint;
  readonly id: ExecutionId;
}

export interface ListedExecution {
  readonly id: ExecutionId;
  readonly workflowId: WorkflowId;
  readonly workflowName: string;
  readonly state: ExecutionState;
  readonly failure: "internal" | "insufficient_credits" | "no_capacity" | null;
  readonly trigger: Trigger;
  readonly draft: boolean;
  readonly commitId: CommitId;
  readonly createdAt: Date;
  readonly createdMicros: bigint;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly secondsUsed: number;
  readonly chargeTotal: MicroCredits;
  readonly message: string;
}

/** Of a whole id, which is looked up wherever it is in the list. */
const ID_CHARACTERS = 29;

type PageRow = ListedExecution & { readonly endMicros: bigint | null; readonly endId: ExecutionId | null };

/**
 * Texts of statements, not values: PostgreSQL uses the index of executions without success only when the text shows
 * another state.
 */
const STATES: Readonly<Record<ExecutionState, string>> = {
  queued: "e.state = 'queued'",
  running: "e.state = 'running'",
  success: "e.state = 'success'",
  failed: "e.state = 'failed'",
  timed_out: "e.state = 'timed_out'",
  out_of_memory: "e.state = 'out_of_memory'",
  cancelled: "e.state = 'cancelled'",
};
const TRIGGERS: Readonly<Record<Trigger, string>> = {
  api: "e.trigger = 'api'",
  schedule: "e.trigger = 'schedule'",
  form: "e.trigger = 'form'",
};
const MICROS = (alias: string): string => `cast(extract(epoch from ${alias}.created_at) * 1000000 as bigint)`;

/**
 * A page of executions, the newest first, of one moment. Of all that the most selective condition leaves, in order, at
 * most `windowMax` are read. A page may have fewer than `limit`, or none, and still there is a `next` place to go on
 * from.
 */
export async function listExecutionPage(
  db: Db,
  filter: ExecutionFilter,
  page: { limit: number; after: Place | null; windowMax?: number },
): Promise<{ executions: ListedExecution[]; next: Place | null }> {
  const { limit, after } = page;
  const windowMax = page.windowMax ?? WINDOW_MAX;
  const { anchor, rest } = toConditions(filter, after);
  const rows = await queryRows<PageRow>(db, toStatement(anchor, rest), {
    ...toBindings(filter),
    afterMicros: after === null ? null : String(after.createdMicros),
    afterId: after?.id ?? null,
    most: limit + 1,
    limit,
    windowMax,
    windowEnd: windowMax - 1,
  });
  const found = rows.flatMap(({ endMicros: _micros, endId: _id, ...execution }) =>
    execution.id === null ? [] : [execution],
  );
  const executions = found.slice(0, limit);
  const last = executions.at(-1);
  if (found.length > limit && last !== undefined)
    return { executions, next: { createdMicros: last.createdMicros, id: last.id } };
  const { endMicros = null, endId = null } = rows[0] ?? {};
  return { executions, next: endMicros === null || endId === null ? null : { createdMicros: endMicros, id: endId } };
}

/**
 * `anchor`: what an index answers in order, so that the window is read from it and nothing is sorted. `rest`: what is asked of
 * each in the window.
 */
function toConditions(filter: ExecutionFilter, after: Place | null): { anchor: string; rest: string } {
  const { workflowId, commitId, state, trigger, from, to, text } = filter;
  const anchor = ["e.account_id = :accountId"];
  const rest: string[] = [];
  const isRareState = state !== undefined && state !== "success";
  const isRareTrigger = trigger !== undefined && trigger !== "api";
  const ofCommit = workflowId !== undefined && commitId !== undefined;
  const ofId = text !== undefined && text.length === ID_CHARACTERS && isExecutionId(text.toLowerCase());
  const places = {
    id: ofId,
    commit: ofCommit,
    state: isRareState && !ofCommit,
    workflow: workflowId !== undefined && !ofCommit && !isRareState,
    trigger: isRareTrigger && !ofCommit && !isRareState && workflowId === undefined,
  };
  const put = (isAnchor: boolean, condition: string): void => void (isAnchor ? anchor : rest).push(condition);
  if (ofId) anchor.push("e.id = :text");
  if (workflowId !== undefined) put(places.workflow || places.commit, "e.workflow_id = :workflowId");
  if (commitId !== undefined) put(places.commit, "e.commit_id = :commitId");
  if (state !== undefined) put(places.state, STATES[state]);
  if (trigger !== undefined) put(places.trigger, TRIGGERS[trigger]);
  if (from !== undefined) anchor.push("e.created_at >= :from");
  if (to !== undefined) anchor.push("e.created_at < :to");
  if (after !== null)
    anchor.push(
      `(e.created_at, e.id) < (timestamptz 'epoch' + cast(:afterMicros as bigint) * interval '1 microsecond', :afterId)`,
    );
  if (text !== undefined && !ofId)
    rest.push(`(position(:text in lower(e.message)) > 0 or starts_with(e.id, :text)
                or e.workflow_id = any(array(select n.id from workflows n
                                              where n.account_id = :accountId and position(:text in lower(n.name)) > 0)))`);
  return { anchor: anchor.join(" and "), rest: rest.join(" and ") || "true" };
}

/**
 * The window is read only as far as the page needs. The same statement reads where it ends, and only when all of it was
 * read. Between two statements its end would move.
 */
function toStatement(anchor: string, rest: string): string {
  const inOrder = "order by e.created_at desc, e.id desc";
  return `
    with found as materialized (
      select e.*
        from (select * from executions e where ${anchor} ${inOrder} limit cast(:windowMax as bigint)) e
       where ${rest}
       ${inOrder} limit cast(:most as bigint)
    )
    select f.id, f.workflow_id as "workflowId", w.name as "workflowName", f.state, f.failure, f.trigger, c.draft,
           f.commit_id as "commitId", f.created_at as "createdAt", ${MICROS("f")} as "createdMicros",
           f.started_at as "startedAt", f.finished_at as "finishedAt", f.seconds_used as "secondsUsed",
           f.charge_total as "chargeTotal", f.message, ended.micros as "endMicros", ended.id as "endId"
      from (select 1) one
      left join lateral (
        select e.id, ${MICROS("e")} as micros from executions e
         where (select count(*) from found) <= cast(:limit as bigint) and ${anchor} ${inOrder}
        offset cast(:windowEnd as bigint) limit 1
      ) ended on true
      left join found f on true
      left join workflows w on w.id = f.workflow_id
      left join commits c on c.workflow_id = f.workflow_id and c.id = f.commit_id
     order by f.created_at desc, f.id desc`;
}

function toBindings({ accountId, workflowId, commitId, from, to, text }: ExecutionFilter) {
  return {
    accountId,
    workflowId: workflowId ?? null,
    commitId: commitId ?? null,
    from: from ?? null,
    to: to ?? null,
    text: text === undefined ? null : text.toLowerCase(),
  };
}
