import type { ExecutionState, Trigger } from "../../domain/execution.ts";
import type { CommitId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** What a run was given, but for its secrets: values, and files by name and content. */
export interface GivenInputs {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly files: Readonly<Record<string, readonly { readonly fileName: string; readonly sha256: string }[]>>;
}

/** A run as a notice tells of it. */
export interface ToldRun extends GivenInputs {
  readonly id: ExecutionId;
  readonly commitId: CommitId;
  readonly commitMessage: string;
  readonly trigger: Trigger;
  readonly state: ExecutionState;
  readonly message: string;
  readonly secondsUsed: number;
  readonly scheduledFor: Date | null;
  /** The schedule's name; null for `triggers.schedule` and for other runs. */
  readonly scheduleName: string | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /** Where its log is kept; null: it has none, or not yet. */
  readonly logKey: string | null;
  /** Whether it was given secrets: they are not part of what is compared or run again. */
  readonly hasSecrets: boolean;
  /** Names of the inputs that its commit declares as secrets. */
  readonly secretNames: readonly string[];
}

const FILES = (execution: string): string => `
  coalesce((select jsonb_object_agg(f.name, f.files) from (
     select i.name, jsonb_agg(jsonb_build_object('fileName', i.file_name, 'sha256', i.sha256) order by i.position) as files
       from execution_files i where i.execution_id = ${execution}.id and i.direction = 'input' group by i.name) f), '{}')`;

const RUN = `
  e.id, e.commit_id as "commitId", c.message as "commitMessage", e.trigger, e.state, e.message, e.seconds_used as "secondsUsed",
  e.scheduled_for as "scheduledFor", e.schedule_name as "scheduleName", e.started_at as "startedAt", e.finished_at as "finishedAt",
  case when e.log_removed_at is null then e.log_key end as "logKey", e.inputs, ${FILES("e")} as files,
  e.secret_inputs is not null as "hasSecrets",
  array(select i ->> 'name' from jsonb_array_elements(c.manifest -> 'inputs') i where i ->> 'kind' = 'secret') as "secretNames"`;

const SOURCE = `executions e join commits c on c.workflow_id = e.workflow_id and c.id = e.commit_id`;

/** Returns a run; undefined when it is not on record any more. */
export async function findToldRun(db: Db, id: ExecutionId): Promise<ToldRun | undefined> {
  const [row] = await queryRows<ToldRun>(db, `select ${RUN} from ${SOURCE} where e.id = :id`, { id });
  return row;
}

/** So many successes of a workflow are looked at: one that is called often has many between two nights. */
const SUCCESSES_MAX = 10_000;

/**
 * Returns the last success that ended before a run did, or before now. It is of the same schedule, or of calls and forms where the run is
 * one of those. Others have other inputs, and say nothing of what changed.
 */
export async function findLastGood(db: Db, id: ExecutionId): Promise<ToldRun | undefined> {
  const [row] = await queryRows<ToldRun>(
    db,
    `with good as materialized (
       select g.id from executions o
        cross join lateral (
          select * from executions s
           where s.workflow_id = o.workflow_id and s.state = 'success' and s.finished_at < coalesce(o.finished_at, now())
           order by s.finished_at desc limit :most
        ) g
         join commits k on k.workflow_id = g.workflow_id and k.id = g.commit_id and not k.draft
        where o.id = :id and failing_line(g.trigger, g.schedule_name) = failing_line(o.trigger, o.schedule_name)
        order by g.finished_at desc limit 1
     )
     select ${RUN} from good join ${SOURCE} on e.id = good.id`,
    { id, most: SUCCESSES_MAX },
  );
  return row;
}

export async function findWorkflowName(db: Db, workflowId: WorkflowId): Promise<string | undefined> {
  const [row] = await queryRows<{ name: string }>(db, `select name from workflows where id = :workflowId`, {
    workflowId,
  });
  return row?.name;
}
