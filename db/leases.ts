import { type Db, queryRows } from "./connect.ts";

export interface Lease {
  /** What is to be done by one process at a time. */
  readonly name: string;
  readonly holder: string;
}

/** Takes a lease for so many seconds, or prolongs the holder's own. False: another process has it. */
export async function takeLease(db: Db, lease: Lease & { seconds: number }): Promise<boolean> {
  const rows = await queryRows(
    db,
    `insert into leases as l (name, holder, held_until) values (:name, :holder, now() + make_interval(secs => :seconds))
         on conflict (name) do update set holder = excluded.holder, held_until = excluded.held_until
      where l.holder = excluded.holder or l.held_until < now()
     returning name`,
    { ...lease },
  );
  return rows.length === 1;
}

/** Gives a lease back, unless another process has it by now. */
export async function giveLease(db: Db, { name, holder }: Lease): Promise<void> {
  await queryRows(db, `delete from leases where name = :name and holder = :holder`, { name, holder });
}
