import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type Db, queryRows } from "../../../db/connect.ts";
import { type Dump, loadDump } from "../../../db/dump/load.ts";
import { readSnapshot } from "../../../db/dump/snapshot.ts";
import { hasTables, listTables } from "../../../db/dump/tables.ts";
import { claimAttempt, endAttempt } from "../../../db/executions/attempts.ts";
import { findExecution, requestCancel } from "../../../db/executions/executions.ts";
import { insertOutputs } from "../../../db/executions/outputs.ts";
import { findMoneyFaults } from "../../../db/ledger/audit.ts";
import { findBalance, grant, reserve, settle } from "../../../db/ledger/credits.ts";
import { migrate } from "../../../db/migrate.ts";
import { microCredits } from "../../../domain/credits.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { anAccount, anExecution, aWorkflow, type TestWorkflow } from "../../support/builders.ts";
import { aDatabase, type TestDatabase } from "../../support/postgres.ts";

let source: TestDatabase;
let target: TestDatabase;
let db: Db;
let workflow: TestWorkflow;

beforeAll(async () => {
  [source, target] = await Promise.all([aDatabase(), aDatabase()]);
  db = source.db;
  workflow = await aWorkflow(db);
});

afterAll(async () => {
  await Promise.all([source?.drop(), target?.drop()]);
});

beforeEach(() => emptyTarget());

async function emptyTarget(): Promise<void> {
  await target.db.raw("drop schema public cascade");
  await target.db.raw("create schema public");
}

/** What a snapshot has, kept in memory. */
async function takeDump(
  act: () => Promise<void> = async () => undefined,
): Promise<Dump & { content: Map<string, Buffer> }> {
  const taken = await readSnapshot(db, async (snapshot) => {
    await act();
    const content = new Map<string, Buffer>();
    for (const table of snapshot.tables) {
      const chunks: Buffer[] = [];
      for await (const chunk of await snapshot.readTable(table)) chunks.push(chunk as Buffer);
      content.set(table.name, Buffer.concat(chunks));
    }
    const { migrations, tables, sequences } = snapshot;
    return {
      content,
      migrations,
      tables,
      sequences,
      readTable: ({ name }: { name: string }) => read(content.get(name)),
    };
  });
  if (taken === "busy") throw new Error("Somebody else makes a backup.");
  return taken;
}

async function* read(content: Buffer | undefined): AsyncGenerator<Buffer> {
  const all = content ?? Buffer.alloc(0);
  for (let start = 0; start < all.length; start += 1_000) yield all.subarray(start, start + 1_000);
}

/** Every row of every table, as text. */
async function readAll(of: Db): Promise<Record<string, string[]>> {
  const rows = await Promise.all(
    (await listTables(of)).map(async ({ name }) => [
      name,
      (await queryRows<{ row: string }>(of, `select t::text as row from ${name} t order by 1`)).map(({ row }) => row),
    ]),
  );
  return Object.fromEntries(rows) as Record<string, string[]>;
}

async function load(dump: Dump, endOpen?: string) {
  const loaded = await loadDump(target.db, dump, { endOpen });
  if (loaded === "not_empty") throw new Error("The target is not empty.");
  return loaded;
}

async function anEnded(): Promise<ExecutionId> {
  const id = await anExecution(db, { workflow, inputs: { text: 'tab\t newline\n backslash\\ "quote" \\N \\. é 🙂' } });
  await reserve(db, id);
  const bill = { executionId: id, status: "success", secondsUsed: 1.5 } as const;
  await settle(db, { ...bill, compute: microCredits(1_000n), total: microCredits(2_000n) });
  return id;
}

test("a dump, loaded into an empty database, is every row of every table", async () => {
  await anEnded();
  await anExecution(db, { workflow });
  const loaded = await load(await takeDump());
  const [there, here] = [await readAll(target.db), await readAll(db)];
  expect(there).toEqual(here);
  expect(Object.values(here).flat()).toHaveLength(loaded.rows);
  expect(Object.keys(here)).toEqual(
    expect.arrayContaining(["accounts", "git_objects", "executions", "ledger_entries"]),
  );
  expect(loaded).toMatchObject({ released: 0, moneyFaults: 0 });
  expect(await findMoneyFaults(target.db)).toEqual([]);
  expect(await migrate(target.db)).toEqual([]);
});

test("a loaded database has its constraints and triggers, goes on where the sequences stood, and holds up", async () => {
  await anEnded();
  await load(await takeDump());
  const there = target.db;
  const before = await findBalance(there, workflow.accountId);
  await grant(there, { accountId: workflow.accountId, amount: microCredits(5n), reason: "after" });
  expect((await findBalance(there, workflow.accountId))?.balance).toBe((before?.balance ?? 0n) + 5n);
  await expect(there.raw("delete from ledger_entries")).rejects.toThrow("append-only");
  await expect(there.raw("update accounts set balance = balance + 1")).rejects.toThrow("moves only through");
  await expect(there.raw("delete from workflows")).rejects.toThrow("foreign key");
  const shape = `select conrelid::regclass::text as table, conname, pg_get_constraintdef(oid) as is from pg_constraint
                  where connamespace = 'public'::regnamespace order by 1, 2`;
  expect(await queryRows(there, shape)).toEqual(await queryRows(db, shape));
  const triggers = `select tgrelid::regclass::text as table, tgname, tgenabled from pg_trigger where not tgisinternal order by 1, 2`;
  expect(await queryRows(there, triggers)).toEqual(await queryRows(db, triggers));
});

test("a dump, while others write, is of one moment", async () => {
  const accountId = await anAccount(db, { microCredits: 1_000n });
  let going = true;
  let written = 0;
  const writing = (async () => {
    for (; going; written += 1) {
      await grant(db, { accountId, amount: microCredits(7n), reason: `while it goes ${written}` });
      await anEnded();
    }
  })();
  const dump = await takeDump(() => sleep(100));
  for (const before = written; written < before + 2; ) await sleep(5);
  going = false;
  await writing;
  await load(dump);
  expect(await findMoneyFaults(target.db)).toEqual([]);
  const [there, here] = [await findBalance(target.db, accountId), await findBalance(db, accountId)];
  expect(there?.balance).toBeLessThan(here?.balance ?? 0n);
});

test("a large table, through a slow reader, is whole", async () => {
  const content = createHash("sha256").update("seed").digest();
  await queryRows(
    db,
    `insert into git_objects (workflow_id, id, kind, content)
     select :workflowId, lpad(to_hex(n), 40, '0'), 'blob', decode(repeat(:hex, 200), 'hex') from generate_series(1, 3000) n`,
    { workflowId: workflow.workflowId, hex: content.toString("hex") },
  );
  const sum = `select count(*)::int as count, md5(string_agg(md5(content), '' order by workflow_id, id)) as sum from git_objects`;
  const loaded = await readSnapshot(db, async (snapshot) => {
    const slow = async function* (name: string): AsyncGenerator<Buffer> {
      const table = snapshot.tables.find((each) => each.name === name);
      if (table === undefined) return;
      for await (const chunk of await snapshot.readTable(table)) {
        if (name === "git_objects") await sleep(1);
        yield chunk as Buffer;
      }
    };
    return load({ ...snapshot, readTable: ({ name }) => slow(name) });
  });
  expect(loaded).toMatchObject({ moneyFaults: 0 });
  expect(await queryRows(target.db, sum)).toEqual(await queryRows(db, sum));
});

test("a second dump, while one is made, is told so, and afterwards is made", async () => {
  await takeDump(async () => {
    expect(await readSnapshot(db, async () => "made")).toBe("busy");
  });
  expect(await readSnapshot(db, async () => "made")).toBe("made");
});

test("a reader that gives a table up, breaks nothing but its own dump", async () => {
  await anEnded();
  const given = readSnapshot(db, async (snapshot) => {
    const table = snapshot.tables.find(({ name }) => name === "git_objects");
    if (table === undefined) throw new Error("There is no such table.");
    for await (const _ of await snapshot.readTable(table)) throw new Error("no room");
    return undefined;
  });
  await expect(given).rejects.toThrow("no room");
  expect(await readSnapshot(db, async () => "made")).toBe("made");
  // The dumps of the tests below need nothing so large.
  await queryRows(db, "delete from git_objects where octet_length(content) = 6400");
});

test("a database that is not empty, takes no dump and stays as it was", async () => {
  const dump = await takeDump();
  await target.db.raw("create table somebodys (id int)");
  expect(await loadDump(target.db, dump, { endOpen: undefined })).toBe("not_empty");
  expect(await queryRows(target.db, "select tablename from pg_tables where schemaname = 'public'")).toEqual([
    { tablename: "somebodys" },
  ]);
});

test.each([
  [
    "a table that is cut off",
    "ledger_entries",
    (content: Buffer) => content.subarray(0, content.length - 40),
    "missing data",
  ],
  [
    "rows of nobody",
    "ledger_entries",
    (content: Buffer) => Buffer.from(String(content).replaceAll(workflow.accountId, "ac_of_nobody")),
    "foreign key",
  ],
  ["rows twice", "accounts", (content: Buffer) => Buffer.concat([content, content]), "duplicate key"],
])("a dump with %s, leaves the database empty", async (_what, name, damage, message) => {
  await anEnded();
  const dump = await takeDump();
  dump.content.set(name, damage(dump.content.get(name) ?? Buffer.alloc(0)));
  await expect(load(dump)).rejects.toThrow(message);
  expect(await hasTables(target.db)).toBe(false);
  expect(await hasTables(db)).toBe(true);
});

test("a dump that cannot be read to its end, leaves the database empty and says why", async () => {
  const dump = await takeDump();
  const broken: Dump = {
    ...dump,
    async *readTable(table) {
      yield* dump.readTable(table);
      if (table.name === "workflows") throw new Error("the disk is gone");
    },
  };
  await expect(load(broken)).rejects.toThrow("the disk is gone");
  expect(await hasTables(target.db)).toBe(false);
});

test("executions under way, when they are to be ended, end once and uncharged, with all that was held", async () => {
  const accountId = await anAccount(db, { microCredits: 100_000_000n });
  const own = await aWorkflow(db, { accountId });
  const begin = async (): Promise<ExecutionId> => {
    const id = await anExecution(db, { workflow: own });
    await reserve(db, id);
    await claimAttempt(db, { executionId: id, hostId: "h", processId: "p", leaseSeconds: 20, lostMax: 3 });
    return id;
  };
  const [queued, running, cancelled, ran, stored] = [
    await anExecution(db, { workflow: own }),
    await begin(),
    await begin(),
    await begin(),
    await begin(),
  ];
  await requestCancel(db, cancelled, "somebody");
  for (const id of [ran, stored]) {
    const outcome = { status: "success", message: "", secondsUsed: 1 } as const;
    await endAttempt(db, { executionId: id, attempt: 1, processId: "p", outcome });
  }
  await insertOutputs(db, { executionId: stored, files: [], logKey: null, logBytes: 0 });
  const loaded = await load(await takeDump(), "restored");
  const there = target.db;
  const stateOf = async (id: ExecutionId) => {
    const record = await findExecution(there, id);
    return [record?.state, record?.failure, record?.message, record?.chargeTotal];
  };
  for (const id of [queued, running, ran]) expect(await stateOf(id)).toEqual(["failed", "internal", "restored", 0n]);
  expect(await stateOf(cancelled)).toEqual(["cancelled", null, "restored", 0n]);
  expect(await stateOf(stored)).toEqual(["running", null, "", 0n]);
  expect(loaded.open).toBe(1);
  const balance = await findBalance(there, accountId);
  expect(balance).toEqual({ balance: 100_000_000n, reserved: 3_001_000n, available: 96_999_000n });
  expect(await queryRows(there, "select from attempts where ended_at is null")).toEqual([]);
  expect(await findMoneyFaults(there)).toEqual([]);
  expect((await findExecution(db, running))?.state).toBe("running");
});
