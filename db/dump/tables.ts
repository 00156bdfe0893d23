import { type Db, queryRows } from "../connect.ts";

/** Made anew by the migrations themselves, and by hosts: a backup has no environments. */
const LEFT_OUT = ["migrations", "migrations_lock", "environment_archives"];

export interface Table {
  readonly name: string;
  /** All that are stored: what the database computes it computes again. */
  readonly columns: readonly string[];
}

/** Where a sequence of a column stands. */
export interface Sequence {
  readonly table: string;
  readonly column: string;
  readonly value: string;
  readonly called: boolean;
}

/** All tables with what is to last; those that a crash of the server empties are not. */
export async function listTables(db: Db): Promise<Table[]> {
  return queryRows<Table>(
    db,
    `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relpersistence = 'p'
        and c.relname <> all (cast(:left as text[]))
      group by c.relname order by c.relname`,
    { left: LEFT_OUT },
  );
}

export async function listSequences(db: Db): Promise<Sequence[]> {
  const owned = await queryRows<{ table: string; column: string; name: string }>(
    db,
    `select t.relname as table, a.attname::text as column, quote_ident(s.relname) as name
       from pg_class s join pg_depend d on d.objid = s.oid and d.deptype in ('a', 'i') and d.classid = 'pg_class'::regclass
       join pg_class t on t.oid = d.refobjid join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
      where s.relkind = 'S' and s.relnamespace = current_schema()::regnamespace
        and t.relname <> all (cast(:left as text[]))
      order by 1, 2`,
    { left: LEFT_OUT },
  );
  const sequences: Sequence[] = [];
  for (const { name, ...of } of owned) {
    const [state] = await queryRows<{ value: string; called: boolean }>(
      db,
      `select last_value::text as value, is_called as called from ${name}`,
    );
    if (state !== undefined) sequences.push({ ...of, ...state });
  }
  return sequences;
}

/** Returns whether there is any table at all, also one that is not ours. */
export async function hasTables(db: Db): Promise<boolean> {
  const rows = await queryRows(
    db,
    `select from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S') limit 1`,
  );
  return rows.length > 0;
}

/** The names of this database's objects are our own, and backups may come from anywhere. */
export function quoteName(name: string): string {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name)) throw new RangeError(`${JSON.stringify(name)} is no name of ours.`);
  return `"${name}"`;
}
