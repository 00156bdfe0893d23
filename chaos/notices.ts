import type pg from "pg";
import { openDatabase } from "./database.ts";
import { isAnswering } from "./load/receivers.ts";

/** A message to a place as the record has it. */
export interface NoticeRow {
  readonly id: string;
  readonly place: string;
  readonly kind: string;
  readonly workflow_id: string;
  readonly execution_id: string | null;
  /** Failures or ticks that it stands for beside its own. */
  readonly more: number;
  readonly state: string;
  readonly attempts: number;
}

export async function readNotices(client: pg.Client): Promise<NoticeRow[]> {
  const { rows } = await client.query<NoticeRow>(
    `select n.id, p.name as place, n.kind, n.workflow_id, n.execution_id, n.more, n.state, n.attempts
       from notices n join notice_places p on p.id = n.place_id order by n.created_at, n.id`,
  );
  return rows;
}

/** Makes what waits for more of its kind due now: it would be after ten minutes, and a run is over sooner. */
export async function hastenNotices(dataDir: string): Promise<void> {
  const client = await openDatabase(dataDir);
  try {
    await client.query(
      "update notices set due_at = clock_timestamp() where state = 'waiting' and due_at > clock_timestamp()",
    );
  } finally {
    await client.end();
  }
}

/** How many are still on their way to a place that answers. */
export async function countUnsent(dataDir: string): Promise<number> {
  const client = await openDatabase(dataDir);
  try {
    return (await readNotices(client)).filter(({ place, state }) => isAnswering(place) && state === "waiting").length;
  } finally {
    await client.end();
  }
}
