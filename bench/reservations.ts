import { type Db, queryRows } from "../db/connect.ts";
import { reserve } from "../db/ledger/credits.ts";
import { createLedger } from "../db/ledger/ledger.ts";
import type { AccountId, ExecutionId } from "../domain/ids.ts";
import { toFigure } from "./figures.ts";

const ACCOUNT = `acct_${"0".repeat(26)}` as AccountId;
const WORKFLOW = `wf_${"0".repeat(26)}`;
const CHARGE = 1_000;
/** Executions are made between windows, never in one: for this many reservations a second, the most, and per caller. */
const RATE_MAX = 200_000;
const RATE_OF_A_CALLER = 6_000;
const INSERT_MAX = 20_000;

export const CALLERS = [1, 8, 32, 128];
/**
 * `plain`: what anybody would write, one guarded statement a reservation, from a pool, on tables without any rule. `single`:
 * ours, each call for itself. `shared`: ours, as the service does it.
 */
export const ARMS = ["plain", "single", "shared"] as const;
export type Arm = (typeof ARMS)[number];

/** One window: `callers` that each asked again as soon as they had their answer. Milliseconds. */
export interface Window {
  readonly arm: Arm;
  readonly callers: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** What bringing one page to the disk took just before, in the median. */
  readonly syncMs: number;
  /** Microseconds of a core for each reservation: ours and its callers'; and PostgreSQL's, where that can be told. */
  readonly nodeMicros: number;
  readonly serverMicros: number | null;
}

/** What tells a slow disk and a busy machine from slow code. */
export interface Gauges {
  readonly measureSyncMs: () => number;
  /** Time on the cores of this process and all it started. */
  readonly readCpuMs: (() => number) | undefined;
}

/** One account with credits for everything and a workflow to execute; beside them the tables of `plain`. */
export async function prepareAccount(db: Db): Promise<void> {
  await db.raw(`
    insert into accounts (id, name) values ('${ACCOUNT}', 'hot');
    insert into ledger_entries (account_id, kind, amount) values ('${ACCOUNT}', 'grant', 1000000000000000);
    insert into workflows (id, account_id, name) values ('${WORKFLOW}', '${ACCOUNT}', 'hot');
    insert into git_objects (workflow_id, id, kind, content)
    select '${WORKFLOW}', repeat(digit, 40), kind, '' from (values ('0', 'tree'), ('1', 'commit')) as o (digit, kind);
    insert into commits (workflow_id, id, tree_id, message, manifest)
    values ('${WORKFLOW}', repeat('1', 40), repeat('0', 40), '', '{}');
    create table plain_accounts (id text primary key, balance bigint not null, reserved bigint not null) with (fillfactor = 50);
    create table plain_reservations (execution_id text primary key, account_id text not null, amount bigint not null);
    insert into plain_accounts values ('${ACCOUNT}', 1000000000000000, 0);`);
}

/** Accepted executions that hold nothing yet, taken one after the other. */
function createSupply(db: Db) {
  let next = 1;
  let last = 0;
  return {
    async refill(count: number): Promise<void> {
      const wanted = next + count - 1;
      if (last >= wanted) return;
      while (last < wanted) {
        const upTo = Math.min(wanted, last + INSERT_MAX);
        await db.raw(
          `insert into executions (id, account_id, workflow_id, commit_id, trigger, timeout_seconds, cpu, charge_max, accepted_by)
           select 'ex_' || lpad(cast(n as text), 26, '0'), ?, ?, repeat('1', 40), 'api', 300, 1, ?, 'proc_bench'
             from generate_series(cast(? as int), cast(? as int)) as n`,
          [ACCOUNT, WORKFLOW, CHARGE, last + 1, upTo],
        );
        last = upTo;
      }
      // What making them left to be written is not part of what is measured.
      await db.raw("checkpoint");
    },
    take(): ExecutionId {
      if (next > last) throw new Error(`A window needs more than the ${last} executions there are.`);
      return `ex_${String(next++).padStart(26, "0")}` as ExecutionId;
    },
  };
}

async function reservePlainly(db: Db, executionId: ExecutionId): Promise<boolean> {
  const rows = await queryRows(
    db,
    `with held as (
       update plain_accounts set reserved = reserved + :amount where id = :id and balance - reserved >= :amount returning id
     )
     insert into plain_reservations (execution_id, account_id, amount) select :executionId, id, :amount from held
     returning execution_id`,
    { id: ACCOUNT, amount: CHARGE, executionId },
  );
  return rows.length === 1;
}

async function measureWindow(
  act: () => Promise<boolean>,
  { callers, ms, gauges }: { callers: number; ms: number; gauges: Gauges },
): Promise<Omit<Window, "arm">> {
  const latencies: number[] = [];
  const syncMs = gauges.measureSyncMs();
  const [node, all] = [process.cpuUsage(), gauges.readCpuMs?.()];
  const startedAt = performance.now();
  const deadline = startedAt + ms;
  const caller = async (): Promise<void> => {
    for (let now = performance.now(); now < deadline; ) {
      if (!(await act())) throw new Error("A reservation was refused.");
      const after = performance.now();
      latencies.push(after - now);
      now = after;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const perSecond = (latencies.length * 1_000) / (performance.now() - startedAt);
  const { user, system } = process.cpuUsage(node);
  const allMs = all === undefined ? undefined : (gauges.readCpuMs?.() ?? 0) - all;
  const { p50, p99 } = toFigure(latencies);
  return {
    callers,
    perSecond,
    p50,
    p99,
    syncMs,
    nodeMicros: (user + system) / latencies.length,
    serverMicros: allMs === undefined ? null : (allMs * 1_000 - user - system) / latencies.length,
  };
}

/**
 * Reservations on one account by number of callers, the arms in turn in every round, so that all meet the same phases of a
 * noisy machine. One round more goes before, in which code is compiled and connections are opened.
 */
export async function measureReservations(
  db: Db,
  { rounds, windowMs, gauges }: { rounds: number; windowMs: number; gauges: Gauges },
): Promise<Window[]> {
  const ledger = createLedger(db);
  const acts: Record<Arm, (executionId: ExecutionId) => Promise<boolean>> = {
    plain: (executionId) => reservePlainly(db, executionId),
    single: async (executionId) => (await reserve(db, executionId)).kind === "reserved",
    shared: async (executionId) => (await ledger.reserve({ executionId, accountId: ACCOUNT })).kind === "reserved",
  };
  const supply = createSupply(db);
  const windows: Window[] = [];
  for (let round = 0; round <= rounds; round++) {
    for (const callers of CALLERS) {
      for (const arm of ARMS) {
        const rate = Math.min(RATE_MAX, RATE_OF_A_CALLER * (arm === "shared" ? callers : 3));
        await supply.refill(Math.ceil((rate * windowMs) / 1_000));
        const window = await measureWindow(() => acts[arm](supply.take()), { callers, ms: windowMs, gauges });
        if (round > 0) windows.push({ arm, ...window });
      }
    }
  }
  return windows;
}
