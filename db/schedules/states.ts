import type { AccountId, WorkflowId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/manifest/json-values.ts";
import { MAIN_SCHEDULE } from "../../domain/schedules/names.ts";
import { type Db, queryRows } from "../connect.ts";
import type { StoredSchedule } from "./schedules.ts";
import type { Tick } from "./ticks.ts";

/** A schedule that holds now, as people look at it. */
export interface ScheduleState extends Omit<StoredSchedule, "id" | "until" | "accountedUntil" | "spreadSeconds"> {
  readonly workflowName: string;
  /** For how long the last change has not been pushed to Temporal; null: it has. */
  readonly untoldSeconds: number | null;
  readonly lastTick: Tick | null;
  /** That of the latest commit. Null in lists of several schedules. */
  readonly payload: JsonObject | null;
}

type Row = Omit<ScheduleState, "lastTick"> & {
  readonly [Key in keyof Tick]: Tick[Key] | null;
};

/** The schedules of an account (null: of all), or those of one workflow; in the order in which their workflows were made, and by name. */
export async function listScheduleStates(
  db: Db,
  filter: { accountId: AccountId | null; workflowId?: WorkflowId; scheduleName?: string },
): Promise<ScheduleState[]> {
  const rows = await queryRows<Row>(
    db,
    `select s.workflow_id as "workflowId", w.name as "workflowName", s.name as "scheduleName", s.enabled, s.cron, s.timezone, s.overlap, s.catchup,
            s.max_lateness_seconds as "maxLatenessSeconds", s.jitter_seconds as "jitterSeconds", s.since,
            extract(epoch from now() - n.noted_at)::double precision as "untoldSeconds",
            t.nominal_at as "nominalAt", t.outcome, t.reason, t.source, t.execution_id as "executionId",
            t.decided_at as "decidedAt",
            case when cast(:workflowId as text) is not null then
              (select case when s.name = 'schedule' then c.manifest #> '{triggers,schedule,payload}'
                      else (select d -> 'payload' from jsonb_array_elements(c.manifest #> '{triggers,schedules}') d
                             where d ->> 'name' = s.name) end
                 from commits c where c.workflow_id = w.id and c.id = w.head)
            end as payload
       from schedules s
       join workflows w on w.id = s.workflow_id
       left join schedule_changes n
         on n.workflow_id = case when s.name = 'schedule' then s.workflow_id else s.workflow_id || ':' || s.name end
       left join lateral (select * from ticks where workflow_id = s.workflow_id and schedule_name = s.name order by nominal_at desc limit 1) t on true
      where s.until is null and w.deleted_at is null
        and (cast(:accountId as text) is null or w.account_id = :accountId)
        and (cast(:workflowId as text) is null or s.workflow_id = :workflowId)
        and (cast(:scheduleName as text) is null or s.name = :scheduleName)
      order by w.created_at, w.id, s.name <> 'schedule', s.name`,
    {
      accountId: filter.accountId,
      workflowId: filter.workflowId ?? null,
      scheduleName: filter.scheduleName ?? null,
    },
  );
  return rows.map(({ nominalAt, outcome, reason, source, executionId, decidedAt, ...state }) => ({
    ...state,
    lastTick: nominalAt === null ? null : ({ nominalAt, outcome, reason, source, executionId, decidedAt } as Tick),
  }));
}

/** The schedule that a workflow has now, as people look at it. */
export async function findScheduleState(
  db: Db,
  workflowId: WorkflowId,
  scheduleName: string = MAIN_SCHEDULE,
): Promise<ScheduleState | undefined> {
  const [state] = await listScheduleStates(db, { accountId: null, workflowId, scheduleName });
  return state;
}
