import type { ExecutionId } from "../domain/ids.ts";
import { type Db, queryRows } from "./connect.ts";
import { type Lease, takeLease } from "./leases.ts";

/** How long a host counts as there after it has said so. */
const PRESENT_SECONDS = 60;

const toLease = (hostId: string, holder: string): Lease => ({ name: `host:${hostId}`, holder });

/** Says in the record that a host has a process, which stores what waits in the host's spool. Good for a minute. */
export async function notePresence(
  db: Db,
  { hostId, processId }: { hostId: string; processId: string },
): Promise<void> {
  await takeLease(db, { ...toLease(hostId, processId), seconds: PRESENT_SECONDS });
}

/** An execution whose program has ended, and whose outputs are on a host that has no process. */
export interface Stranded {
  readonly id: ExecutionId;
  readonly hostId: string;
  readonly cancelled: boolean;
}

/** Lists executions that wait for a host that has not said for a minute that it is there, at most `limit`. */
export async function listStranded(db: Db, limit: number): Promise<Stranded[]> {
  return queryRows<Stranded>(
    db,
    `select e.id, a.host_id as "hostId", e.cancel_requested_at is not null as cancelled
       from executions e
       join lateral (select * from attempts l where l.execution_id = e.id order by l.attempt desc limit 1) a on true
      where e.state in ('queued', 'running') and e.uploaded_at is null and a.status is not null
        -- Its process, an older version perhaps, which does not say that it is there, is most likely storing them.
        and a.ended_at < now() - make_interval(secs => :presentSeconds)
        -- One that is tried again needs no outputs.
        and (a.status <> 'failed'
             or (select count(*) from attempts t where t.execution_id = e.id and t.status is not null) >= e.attempts_max)
        and not exists (select from leases p where p.name = 'host:' || a.host_id and p.held_until > now())
      order by e.id limit :limit`,
    { limit, presentSeconds: PRESENT_SECONDS },
  );
}
