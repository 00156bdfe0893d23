import { type Db, queryRows } from "../connect.ts";

/** Kinds of repairs the sweeper makes, a closed list. */
export const REPAIRS = [
  /** It was accepted and never begun. */
  "started",
  /** It had begun and Temporal did not know it. */
  "restarted",
  /** It had run and was not charged. */
  "settled",
  /** It was ended in Temporal. */
  "terminated",
  /** It timed out in Temporal. */
  "expired",
  /** It ended in Temporal in a way that the record did not have. */
  "released",
  /** It waited for a host that is gone with its outputs. */
  "stranded",
  /** The same, and it ran again. */
  "repeated",
  /** Credits were held for no execution under way. */
  "reservation_released",
  /** Files belonged to no execution. */
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
