import type { AccountId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { NoticeKind, NoticeState } from "../../domain/notices.ts";
import { type Db, queryRows } from "../connect.ts";
import { PLACE, type StoredPlace } from "./places.ts";

/** The channel on which new notices are announced; the payload is the notice's id. */
export const NOTICE_WRITTEN = "notice_written";

/** A message to one place, and what became of it. */
export interface Notice {
  readonly id: string;
  readonly accountId: AccountId;
  /** Null: the result of a call, which goes where that call said. */
  readonly place: string | null;
  readonly kind: NoticeKind;
  readonly workflowId: WorkflowId | null;
  readonly executionId: ExecutionId | null;
  /** Of a schedule's time that started nothing; null for others. */
  readonly nominalAt: Date | null;
  /** Of a missed tick, why; of a disabled place, its name. */
  readonly reason: string;
  /** How many more of the kind there were until it was due. */
  readonly more: number;
  readonly createdAt: Date;
  readonly dueAt: Date;
  readonly state: NoticeState;
  readonly attempts: number;
  readonly lastAttemptAt: Date | null;
  readonly answer: string;
}

/** The columns of `Notice`, of `notices n` and `notice_places p`, where it has one. */
const NOTICE = `
  n.id, n.account_id as "accountId", p.name as place, n.kind, n.workflow_id as "workflowId", n.execution_id as "executionId",
  n.nominal_at as "nominalAt", n.reason, n.more, n.created_at as "createdAt", n.due_at as "dueAt", n.state, n.attempts,
  n.last_attempt_at as "lastAttemptAt", n.answer`;

const SOURCE = "notices n left join notice_places p on p.id = n.place_id";

/** Lists notices that Temporal has to get now, the oldest first. One that an end is being added to is left for the next look. */
export async function listDueNotices(db: Db, limit: number): Promise<string[]> {
  const rows = await queryRows<{ id: string }>(
    db,
    `select n.id from notices n
      where n.started_at is null and n.state = 'waiting' and n.due_at <= clock_timestamp() order by n.due_at limit :limit
        for update skip locked`,
    { limit },
  );
  return rows.map(({ id }) => id);
}

/** Notes that Temporal has these. From then on no more are added to them. */
export async function markNoticesStarted(db: Db, ids: readonly string[]): Promise<void> {
  await queryRows(db, `update notices set started_at = clock_timestamp() where id = any(cast(:ids as text[]))`, {
    ids: [...ids],
  });
}

/** Has those started again that nobody has tried to send for `seconds`: Temporal has lost them. */
export async function restartLostNotices(db: Db, seconds: number): Promise<number> {
  const rows = await queryRows(
    db,
    `update notices set started_at = null
      where state = 'waiting' and started_at < now() - make_interval(secs => :seconds)
        and coalesce(last_attempt_at, started_at) < now() - make_interval(secs => :seconds)
     returning id`,
    { seconds },
  );
  return rows.length;
}

/** Writes notices of runs that take longer than their commit says, once for each run and place. */
export async function writeSlowNotices(db: Db): Promise<void> {
  await queryRows(
    db,
    `with slow as materialized (
       select e.id, e.account_id, e.workflow_id, c.manifest #> '{notify,slow,to}' as names
         from executions e join commits c on c.workflow_id = e.workflow_id and c.id = e.commit_id and not c.draft
        where e.state in ('queued', 'running') and e.admitted_at is not null and e.notifies
          and e.started_at < now() - make_interval(secs => cast(c.manifest #>> '{notify,slow,afterSeconds}' as double precision))
          and not exists (select from notices n where n.execution_id = e.id and n.kind = 'slow')
     )
     select write_notices('slow', account_id, workflow_id, id, null, '', names) from slow`,
  );
}

/** A notice with its place, as one try to send needs it. The result of a call has none. */
export interface WaitingNotice {
  readonly notice: Notice;
  readonly place: StoredPlace | undefined;
}

/** Returns a notice that is to be sent, with its place. Undefined: there is nothing to send any more. */
export async function findWaitingNotice(db: Db, id: string): Promise<WaitingNotice | undefined> {
  const [notice] = await queryRows<Notice>(
    db,
    `select ${NOTICE} from ${SOURCE} where n.id = :id and n.state = 'waiting'`,
    { id },
  );
  const [place] = await queryRows<StoredPlace>(
    db,
    `select ${PLACE} from notices n join notice_places p on p.id = n.place_id where n.id = :id`,
    { id },
  );
  return notice && { notice, place };
}

/** Counts a try, and notes what came of it. Returns how many there were; undefined for a notice that was delivered or given up, and stays so. */
export async function noteAttempt(
  db: Db,
  { id, state, answer }: Pick<Notice, "id" | "state" | "answer">,
): Promise<number | undefined> {
  const [row] = await queryRows<Pick<Notice, "attempts">>(
    db,
    `update notices set state = :state, answer = :answer, attempts = attempts + 1, last_attempt_at = clock_timestamp()
      where id = :id and state = 'waiting' returning attempts`,
    { id, state, answer },
  );
  return row?.attempts;
}

/** Gives up a notice that could not be delivered in its time. */
export async function giveUpNotice(db: Db, id: string): Promise<void> {
  await queryRows(db, `update notices set state = 'failed' where id = :id and state = 'waiting'`, { id });
}

/** Sends nothing to a place any more, until it gets another target. The other places of the account get a notice of that. */
export async function disablePlace(db: Db, placeId: string, reason: string): Promise<void> {
  await queryRows(
    db,
    `with disabled as (
       update notice_places set disabled_at = clock_timestamp(), disabled_reason = :reason
        where id = :placeId and disabled_at is null returning account_id, id, name
     ), written as (
       insert into notices (account_id, place_id, kind, reason)
       select d.account_id, p.id, 'disabled', d.name
         from disabled d join notice_places p on p.account_id = d.account_id and p.id <> d.id
        where p.disabled_at is null
       returning id
     )
     select pg_notify('${NOTICE_WRITTEN}', id) from written`,
    { placeId, reason },
  );
}

/** Writes a notice that says nothing but that it arrives. The caller sends it: Temporal need not know of it. */
export async function insertTestNotice(
  db: Db,
  { id, accountId }: Pick<StoredPlace, "id" | "accountId">,
): Promise<string> {
  const [row] = await queryRows<{ id: string }>(
    db,
    `insert into notices (account_id, place_id, kind, started_at) values (:accountId, :placeId, 'test', clock_timestamp())
     returning id`,
    { accountId, placeId: id },
  );
  return (row as { id: string }).id;
}

/** Lists what was sent for an account, the newest first: a page after `before`, the id of a notice. */
export async function listNotices(
  db: Db,
  page: { accountId: AccountId; place: string | null; before: string | null; limit: number },
): Promise<Notice[]> {
  return queryRows<Notice>(
    db,
    `select ${NOTICE} from ${SOURCE}
      where n.account_id = :accountId and (cast(:place as text) is null or p.name = :place)
        and (cast(:before as text) is null
             or (n.created_at, n.id) < (select b.created_at, b.id from notices b where b.id = :before and b.account_id = :accountId))
      order by n.created_at desc, n.id desc limit :limit`,
    page,
  );
}

export async function findNotice(db: Db, accountId: AccountId, id: string): Promise<Notice | undefined> {
  const [row] = await queryRows<Notice>(
    db,
    `select ${NOTICE} from ${SOURCE}
      where n.id = :id and n.account_id = :accountId`,
    { id, accountId },
  );
  return row;
}

/** Has a notice sent again, with the same id. Returns whether the account has it. */
export async function sendAgain(db: Db, accountId: AccountId, id: string): Promise<boolean> {
  const rows = await queryRows(
    db,
    `with again as (
       update notices set state = 'waiting', started_at = null, due_at = clock_timestamp()
        where id = :id and account_id = :accountId returning id
     )
     select pg_notify('${NOTICE_WRITTEN}', id) from again`,
    { id, accountId },
  );
  return rows.length > 0;
}

/** Removes notices of more than `days` ago, at most `limit`. Returns how many. */
export async function removeNotices(db: Db, { days, limit }: { days: number; limit: number }): Promise<number> {
  const rows = await queryRows(
    db,
    `delete from notices where id = any(array(
       select n.id from notices n
        where n.created_at < now() - make_interval(days => cast(:days as int)) and n.state <> 'waiting' limit :limit))
     returning id`,
    { days, limit },
  );
  return rows.length;
}
