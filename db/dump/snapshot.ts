import type { Readable } from "node:stream";
import { type Db, queryRows } from "../connect.ts";
import { STORAGE_LOCK } from "../executions/retention.ts";
import { listApplied } from "../migrate.ts";
import { copyOut } from "./copy.ts";
import { listSequences, listTables, quoteName, type Sequence, type Table } from "./tables.ts";

/** Held during a backup, so that there is one at a time. */
const BACKUP_LOCK = 7_283_517;

/** A database at one moment. */
export interface Snapshot {
  readonly takenAt: Date;
  /** PostgreSQL's version. */
  readonly server: string;
  readonly migrations: readonly string[];
  readonly tables: readonly Table[];
  readonly sequences: readonly Sequence[];
  /** Executions that go on. */
  readonly open: number;
  /** A table's rows in the text format of `copy`; to be read to the end before anything else is asked for. */
  readTable(table: Table): Promise<Readable>;
  /** A line `key<tab>sha256` for each object that the record promises; the log's hash is not known: empty. */
  readObjects(): Promise<Readable>;
}

/**
 * Shows one moment of the whole database to `read`. As long as that takes, callers are served as always, and what this moment
 * promises to be in storage stays there. Returns `busy` when another backup is being made.
 */
export async function readSnapshot<T>(db: Db, read: (snapshot: Snapshot) => Promise<T>): Promise<T | "busy"> {
  return db.transaction(async (lock) => {
    await liftLimits(lock);
    const [only] = await queryRows<{ yes: boolean }>(lock, `select pg_try_advisory_xact_lock(:key) as yes`, {
      key: BACKUP_LOCK,
    });
    if (only?.yes !== true) return "busy" as const;
    // Before the moment is chosen: what was taken on for removal until now is not promised by it.
    await queryRows(lock, `select pg_advisory_xact_lock(:key)`, { key: STORAGE_LOCK });
    return db.transaction(
      async (tx) => {
        await liftLimits(tx);
        return read(await openSnapshot(tx));
      },
      { isolationLevel: "repeatable read", readOnly: true },
    );
  });
}

/** It may take hours. */
export async function liftLimits(tx: Db): Promise<void> {
  for (const limit of ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"])
    await tx.raw(`set local ${limit} = 0`);
}

async function openSnapshot(tx: Db): Promise<Snapshot> {
  const [moment] = await queryRows<{ takenAt: Date; server: string }>(
    tx,
    `select now() as "takenAt", current_setting('server_version') as server`,
  );
  const migrations = await listApplied(tx);
  if (moment === undefined || migrations === undefined) throw new Error("The database holds no data of Treadle.");
  const [open] = await queryRows<{ count: number }>(
    tx,
    `select count(*)::int as count from executions where finished_at is null`,
  );
  return {
    ...moment,
    migrations,
    tables: await listTables(tx),
    sequences: await listSequences(tx),
    open: open?.count ?? 0,
    readTable: ({ name, columns }) =>
      copyOut(tx, `copy ${quoteName(name)} (${columns.map(quoteName).join(", ")}) to stdout`),
    readObjects: () =>
      copyOut(
        tx,
        `copy (select f.storage_key, f.sha256 from execution_files f join executions e on e.id = f.execution_id
                where e.files_removed_at is null
               union all
               select log_key, '' from executions where log_key is not null and log_removed_at is null) to stdout`,
      ),
  };
}
