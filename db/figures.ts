import type { MicroCredits } from "../domain/credits.ts";
import type { ExecutionEnd, Trigger } from "../domain/execution.ts";
import type { ExecutionId } from "../domain/ids.ts";
import { type Db, queryRows } from "./connect.ts";

/** The executions of the whole installation that have not ended. Ages in seconds, 0 where there is none. */
export interface OpenFigures {
  /** Waiting for others of their workflow. */
  readonly waiting: number;
  /** Let in, and not begun. */
  readonly queued: number;
  readonly running: number;
  /** Since the oldest waiting one was accepted. */
  readonly oldestWaitingSeconds: number;
  /** Since the oldest of the others was let in. */
  readonly oldestOpenSeconds: number;
}

/** Reads the indexes of executions that have not ended, which are small however many have. */
export async function findOpenFigures(db: Db): Promise<OpenFigures> {
  const [row] = await queryRows<OpenFigures>(
    db,
    `select waiting.count as waiting, open.queued, open.running,
            greatest(0, coalesce(extract(epoch from now() - waiting.since), 0)) as "oldestWaitingSeconds",
            greatest(0, coalesce(extract(epoch from now() - open.since), 0)) as "oldestOpenSeconds"
       from (select cast(count(*) as int) as count, min(created_at) as since
               from executions where state = 'queued' and admitted_at is null) waiting,
            (select cast(count(*) filter (where state = 'queued') as int) as queued,
                    cast(count(*) filter (where state = 'running') as int) as running, min(admitted_at) as since
               from executions where state in ('queued', 'running') and admitted_at is not null) open`,
  );
  return row as OpenFigures;
}

/** What is counted of an execution that has ended. Times in seconds. */
export interface EndedFigures {
  readonly trigger: Trigger;
  /** The end, or why it was refused or is our fault. */
  readonly status: ExecutionEnd | "internal" | "insufficient_credits" | "no_capacity";
  /** From its acceptance until its program began; null when it never did. */
  readonly waitedSeconds: number | null;
  /** From its acceptance to its end. */
  readonly tookSeconds: number;
  readonly charge: MicroCredits;
}

/** Of those of the given executions that have ended. */
export async function listEndedFigures(db: Db, ids: readonly ExecutionId[]): Promise<EndedFigures[]> {
  return queryRows<EndedFigures>(
    db,
    `select trigger, coalesce(failure, state) as status, extract(epoch from started_at - created_at) as "waitedSeconds",
            extract(epoch from finished_at - created_at) as "tookSeconds", charge_total as charge
       from executions where id = any(cast(:ids as text[])) and finished_at is not null`,
    { ids: [...ids] },
  );
}
