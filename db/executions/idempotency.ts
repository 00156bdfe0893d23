import type { CommitId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { JsonTexts } from "../../domain/manifest/json-text.ts";
import { type Db, queryRows } from "../connect.ts";

/** An execution accepted this long ago and not started has lost the process that accepted it. */
const UNSTARTED_SECONDS = 2;

/** The execution that an idempotency key belongs to. */
export interface KeyedExecution {
  readonly id: ExecutionId;
  readonly commitId: CommitId;
  /** Of its commit: by this one its call was read. */
  readonly manifest: unknown;
  readonly fingerprint: Buffer;
  /** None in an execution from before they were kept, unless it has no JSON. */
  readonly inputTexts: JsonTexts;
  readonly secretInputs: Buffer | null;
  readonly ended: boolean;
  /** It may be started, and seems not to have been. */
  readonly unstarted: boolean;
}

/** Whose a key is in its workflow. Undefined: nobody's, or one's that was refused and has given it back. */
export async function findKeyedExecution(
  db: Db,
  workflowId: WorkflowId,
  key: string,
): Promise<KeyedExecution | undefined> {
  const [row] = await queryRows<KeyedExecution>(
    db,
    `select e.id, e.commit_id as "commitId", c.manifest, e.fingerprint, e.input_texts as "inputTexts", e.secret_inputs as "secretInputs",
            e.finished_at is not null as ended,
            e.state = 'queued' and coalesce(e.admitted_at < now() - make_interval(secs => :unstartedSeconds), false) as unstarted
       from executions e
       join commits c on c.workflow_id = e.workflow_id and c.id = e.commit_id
      where e.workflow_id = :workflowId and e.idempotency_key = :key and (e.failure is null or e.failure = 'internal')`,
    { workflowId, key, unstartedSeconds: UNSTARTED_SECONDS },
  );
  return row;
}

/** Forgets the keys of ended executions accepted more than `days` ago, the oldest first, at most `limit`; answers how many. */
export async function forgetKeys(db: Db, input: { days: number; limit: number }): Promise<number> {
  const rows = await queryRows(
    db,
    `update executions set idempotency_key = null, fingerprint = null
      where id in (select id from executions
                    where idempotency_key is not null and created_at < now() - make_interval(days => :days)
                      and finished_at is not null
                    order by created_at limit :limit for update skip locked)
     returning id`,
    input,
  );
  return rows.length;
}
