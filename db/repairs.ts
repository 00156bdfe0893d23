import { type Db, queryRows } from "./connect.ts";

/**
 * What is put right by nobody but the sweeper, a closed list:
 * `started` was accepted and never begun, `restarted` had begun and is unknown to Temporal, `settled` had run and was not
 * charged, `terminated` was ended in Temporal, `expired` was timed out there, `released` came to an end there that the record
 * does not know; `stranded` waited for a host that is gone with its outputs, `repeated` did so and is run again; `reservation_released` held credits for no execution under way; `uploads_removed` are files of no execution.
 */
export const REPAIRS = [
  "started",
  "restarted",
  "settled",
  "terminated",
  "expired",
  "released",
  "stranded",
  "repeated",
  "reservation_released",
  "uploads_removed",
] as const;
export type Repair = (typeof REPAIRS)[number];

/** Counts repairs that were made. */
export async function countRepairs(db: Db, repair: Repair, count = 1): Promise<void> {
  await queryRows(
    db,
    `insert into repairs as r (repair, count) values (:repair, :count)
         on conflict (repair) do update set count = r.count + excluded.count, last_at = now()`,
    { repair, count },
  );
}

/** How often each repair was made, by all processes together, since there is this installation; 0 where never. */
export async function findRepairCounts(db: Db): Promise<Readonly<Record<Repair, number>>> {
  const rows = await queryRows<{ repair: Repair; count: bigint }>(db, `select repair, count from repairs`);
  const known = new Map(rows.map(({ repair, count }) => [repair, Number(count)]));
  return Object.fromEntries(REPAIRS.map((repair) => [repair, known.get(repair) ?? 0])) as Record<Repair, number>;
}
