import type { ExecutionId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** Channels: a question was asked, its payload a LiveRequest as JSON; a question was answered, its payload the follower's id. */
export const LIVE_ASKED = "live_asked";
export const LIVE_ANSWERED = "live_answered";

/** The most of a log in one answer: more than the longest line takes, of 64 KiB with each byte escaped. */
export const LIVE_BYTES_MAX = 512 * 1024;

/** What one who follows an execution asks the host that runs its program. */
export interface LiveRequest {
  /** Of the follower. */
  readonly id: string;
  readonly turn: number;
  readonly executionId: ExecutionId;
  /** Whose log `start` is a place in, in bytes; null for its beginning on any host. */
  readonly hostId: string | null;
  readonly start: number;
  /** The state that the follower knows, as it was answered. */
  readonly known: string | null;
  /** What is new, when it is there; what there is now; or the state alone, now. */
  readonly wants: "news" | "lines" | "state";
}

export interface LiveAnswer {
  readonly answeredBy: string;
  /** From `start` on; from the beginning where another host answers than the follower had before. */
  readonly lines: Buffer;
  readonly state: string;
}

/** Asks, in the place of what this follower asked before, for so many seconds; removes what others left behind. */
export async function askLive(db: Db, request: LiveRequest, seconds: number): Promise<void> {
  await queryRows(
    db,
    `with left_behind as (
       delete from live_requests where expires_at < now() and id <> :id
     ), asked as (
       insert into live_requests (id, turn, execution_id, host_id, start, known, wants, expires_at)
       values (:id, :turn, :executionId, :hostId, :start, :known, :wants, now() + make_interval(secs => :seconds))
           on conflict (id) do update
              set turn = excluded.turn, host_id = excluded.host_id, start = excluded.start, known = excluded.known,
                  wants = excluded.wants, expires_at = excluded.expires_at,
                  answered_by = null, lines = null, state = null
       returning id
     )
     select pg_notify('${LIVE_ASKED}', :payload) from asked`,
    { ...request, seconds, payload: JSON.stringify(request) },
  );
}

/** Records the answer to a question that is still asked. */
export async function answerLive(
  db: Db,
  answer: Pick<LiveRequest, "id" | "turn"> & { hostId: string; lines: Buffer; state: string },
): Promise<void> {
  await queryRows(
    db,
    `with answered as (
       update live_requests set answered_by = :hostId, lines = :lines, state = :state
        where id = :id and turn = :turn and answered_by is null
       returning id
     )
     select pg_notify('${LIVE_ANSWERED}', id) from answered`,
    { ...answer },
  );
}

/** Returns the answer to a question; undefined where there is none yet. */
export async function findLiveAnswer(
  db: Db,
  question: Pick<LiveRequest, "id" | "turn">,
): Promise<LiveAnswer | undefined> {
  const [row] = await queryRows<LiveAnswer>(
    db,
    `select answered_by as "answeredBy", lines, state from live_requests
      where id = :id and turn = :turn and answered_by is not null`,
    { ...question },
  );
  return row;
}

/** Lists what is asked and not answered. */
export async function listLiveRequests(db: Db): Promise<LiveRequest[]> {
  const rows = await queryRows<Omit<LiveRequest, "start"> & { start: bigint }>(
    db,
    `select id, turn, execution_id as "executionId", host_id as "hostId", start, known, wants
       from live_requests where answered_by is null and expires_at > now()`,
  );
  return rows.map(({ start, ...request }) => ({ ...request, start: Number(start) }));
}

/** Ends a follower's questions. */
export async function endLive(db: Db, id: string): Promise<void> {
  await queryRows(db, `delete from live_requests where id = :id`, { id });
}
