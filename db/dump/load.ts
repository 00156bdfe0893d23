import type { ExecutionId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";
import { findMoneyFaults } from "../ledger/audit.ts";
import { releaseAll } from "../ledger/credits.ts";
import { migrateTo } from "../migrate.ts";
import { copyIn } from "./copy.ts";
import { liftLimits } from "./snapshot.ts";
import { hasTables, listTables, quoteName, type Sequence, type Table } from "./tables.ts";

/** Executions that are ended in one statement. */
const BATCH = 500;

/** A snapshot as it was kept. */
export interface Dump {
  readonly migrations: readonly string[];
  readonly tables: readonly Table[];
  readonly sequences: readonly Sequence[];
  readTable(table: Table): AsyncIterable<Buffer>;
}

export interface Loaded {
  readonly rows: number;
  /** Executions that were under way and have been ended, and those that go on. */
  readonly released: number;
  readonly open: number;
  /** What does not add up: see `findMoneyFaults`. */
  readonly moneyFaults: number;
}

/**
 * Fills an empty database with a dump: all of it, checked against every constraint, or nothing. Returns `not_empty`,
 * and changes nothing, when there is anything in it. `endOpen` is the message with which executions under way are
 * ended, uncharged. Those whose program had ended with its outputs stored stay: they need no program any more. Without
 * it all of them stay open.
 */
export async function loadDump(
  db: Db,
  dump: Dump,
  options: { endOpen: string | undefined },
): Promise<Loaded | "not_empty"> {
  return db.transaction(async (tx) => {
    await liftLimits(tx);
    if (await hasTables(tx)) return "not_empty" as const;
    await migrateTo(tx, dump.migrations);
    const rows = await fillTables(tx, dump);
    const released = options.endOpen === undefined ? 0 : await endOpen(tx, options.endOpen);
    const [open] = await queryRows<{ count: number }>(
      tx,
      `select count(*)::int as count from executions where finished_at is null`,
    );
    // The planner knows nothing yet of what has come at once.
    await tx.raw("analyze");
    return { rows, released, open: open?.count ?? 0, moneyFaults: (await findMoneyFaults(tx)).length };
  });
}

/**
 * Without triggers: they would move every account again. Foreign keys are taken off and put on again, which checks
 * every row. Tables that refer to each other could not be filled in any order otherwise.
 */
async function fillTables(tx: Db, dump: Dump): Promise<number> {
  const known = new Set((await listTables(tx)).map(({ name }) => name));
  const missing = dump.tables.find(({ name }) => !known.has(name));
  if (missing !== undefined) throw new Error(`The table ${missing.name} of the backup is not one of its migrations.`);
  const all = [...known].map(quoteName);
  const foreignKeys = await queryRows<{ table: string; name: string; definition: string }>(
    tx,
    `select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
       from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace order by oid`,
  );
  for (const { table, name } of foreignKeys) await tx.raw(`alter table ${table} drop constraint ${name}`);
  for (const table of all) await tx.raw(`alter table ${table} disable trigger user`);
  await tx.raw(`truncate ${all.join(", ")}`);

  let rows = 0;
  for (const table of dump.tables) {
    const columns = table.columns.map(quoteName).join(", ");
    rows += await copyIn(tx, `copy ${quoteName(table.name)} (${columns}) from stdin`, dump.readTable(table));
  }
  for (const { table, column, value, called } of dump.sequences)
    await queryRows(tx, `select setval(pg_get_serial_sequence(:table, :column), cast(:value as bigint), :called)`, {
      table: quoteName(table),
      column,
      value,
      called,
    });

  for (const table of all) await tx.raw(`alter table ${table} enable trigger user`);
  for (const { table, name, definition } of foreignKeys)
    await tx.raw(`alter table ${table} add constraint ${name} ${definition}`);
  return rows;
}

async function endOpen(tx: Db, message: string): Promise<number> {
  const open = await queryRows<{ id: ExecutionId; cancelled: boolean }>(
    tx,
    `select id, cancel_requested_at is not null as cancelled from executions
      where finished_at is null and uploaded_at is null order by id`,
  );
  for (let start = 0; start < open.length; start += BATCH) {
    const batch = open.slice(start, start + BATCH);
    await queryRows(
      tx,
      `update attempts set ended_at = now(), message = 'The worker was lost.'
        where ended_at is null and execution_id = any(cast(:ids as text[]))`,
      { ids: batch.map(({ id }) => id) },
    );
    await releaseAll(
      tx,
      batch.map(({ id, cancelled }) => ({
        executionId: id,
        ...(cancelled
          ? { status: "cancelled" as const, failure: null }
          : { status: "failed" as const, failure: "internal" as const }),
        message,
      })),
    );
  }
  return open.length;
}
