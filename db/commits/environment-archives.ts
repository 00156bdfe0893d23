import { type Db, queryRows } from "../connect.ts";

/** An environment as a host has packed it and put it into storage. */
export interface EnvironmentArchive {
  readonly environmentKey: string;
  /** Its key in storage. */
  readonly object: string;
  /** Lower-case hex, of the packed bytes. */
  readonly sha256: string;
}

/** Finds the archive of an environment, and notes that it was used now. */
export async function findArchive(db: Db, environmentKey: string): Promise<EnvironmentArchive | undefined> {
  const [archive] = await queryRows<EnvironmentArchive>(
    db,
    `update environment_archives set used_at = now() where environment_key = :environmentKey
     returning environment_key as "environmentKey", object, sha256`,
    { environmentKey },
  );
  return archive;
}

/** Notes an archive. False: there is another one of that environment. */
export async function addArchive(db: Db, archive: EnvironmentArchive & { bytes: number }): Promise<boolean> {
  const rows = await queryRows(
    db,
    `insert into environment_archives (environment_key, object, bytes, sha256)
     values (:environmentKey, :object, :bytes, :sha256) on conflict do nothing returning object`,
    { ...archive },
  );
  return rows.length === 1;
}

/** Forgets the archive that this object is. */
export async function removeArchive(db: Db, object: string): Promise<void> {
  await queryRows(db, `delete from environment_archives where object = :object`, { object });
}

/** Lists the objects of archives that no host has used for so many days, at most so many. */
export async function listUnusedArchives(db: Db, days: number, countMax: number): Promise<string[]> {
  const rows = await queryRows<{ object: string }>(
    db,
    `select object from environment_archives where used_at < now() - make_interval(days => :days)
      order by used_at limit :countMax`,
    { days, countMax },
  );
  return rows.map(({ object }) => object);
}
