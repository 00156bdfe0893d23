import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { listForPeople } from "../db/commits/workflow-list.ts";
import { connect, createListener, type DatabaseAddress, type Db } from "../db/connect.ts";
import { countExecutionDays } from "../db/executions/days.ts";
import { type ExecutionFilter, listExecutionPage, type Place } from "../db/executions/pages.ts";
import { listSpend } from "../db/ledger/spend.ts";
import { migrate } from "../db/migrate.ts";
import type { AccountId, CommitId, WorkflowId } from "../domain/ids.ts";
import { runCommand } from "../src/setup/servers/command.ts";
import { startPostgres } from "../src/setup/servers/postgres.ts";
import { prepareServiceUser } from "../src/setup/user.ts";
import { makeDataDir, removeDataDir } from "./service.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const COUNT = Number(process.env.TREADLE_BENCH_EXECUTIONS ?? 1_000_000);
const ROUNDS = Number(process.env.TREADLE_BENCH_ROUNDS ?? 40);
const GOAL_MS = 150;
const PAGE = 50;
/** Rows a statement writes. */
const BATCH = 25_000;
const WORKFLOWS = 20;
const DAY_MS = 86_400_000;
/** All of them ended in so many days until now. */
const DAYS = 200;
const NOW = Date.now();
const daysAgo = (days: number): Date => new Date(NOW - days * DAY_MS);
const ACCOUNT = `acct_${"b".repeat(26)}` as AccountId;
const workflowOf = (number: number) => `wf_${String(number).padStart(26, "0")}` as WorkflowId;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** What people ask for, from the most common to what finds nothing. */
const FILTERS: Readonly<Record<string, Partial<ExecutionFilter>>> = {
  all: {},
  workflow: { workflowId: workflowOf(3) },
  "commit, rarely run": { workflowId: workflowOf(3), commitId: "2".repeat(40) as CommitId },
  "state success": { state: "success" },
  "state failed, one in a hundred": { state: "failed" },
  "state out of memory, one in 100,000": { state: "out_of_memory" },
  "state running, none": { state: "running" },
  "trigger schedule, one in ten": { trigger: "schedule" },
  "trigger form, one in 1,000": { trigger: "form" },
  "workflow and state": { workflowId: workflowOf(3), state: "failed" },
  "workflow, state and trigger, none": { workflowId: workflowOf(4), state: "cancelled", trigger: "form" },
  "a day in the middle": { from: daysAgo(100), to: daysAgo(99) },
  "text in names": { text: "workflow 7" },
  "text in messages, rare": { text: "disk is full" },
  "text that is nowhere": { text: "no such thing" },
  "text, workflow, state and days": {
    text: "column",
    workflowId: workflowOf(3),
    state: "failed" as const,
    from: daysAgo(170),
    to: daysAgo(50),
  },
};

async function generate(db: Db): Promise<void> {
  await db.raw("insert into accounts (id, name) values (?, 'bench')", [ACCOUNT]);
  await db.raw(
    `insert into workflows (id, account_id, name)
     select 'wf_' || lpad(cast(n as text), 26, '0'), ?, 'Workflow ' || n from generate_series(1, cast(? as int)) as n`,
    [ACCOUNT, WORKFLOWS],
  );
  await db.raw(
    `insert into git_objects (workflow_id, id, kind, content)
     select w.id, repeat(cast(c as text), 40), 'commit', '' from workflows w, generate_series(1, 2) as c`,
  );
  await db.raw(
    `insert into commits (workflow_id, id, tree_id, message, manifest)
     select w.id, repeat(cast(c as text), 40), repeat('1', 40), '', '{}' from workflows w, generate_series(1, 2) as c`,
  );
  for (let last = 0; last < COUNT; last += BATCH) {
    await db.raw(
      `insert into executions (id, account_id, workflow_id, commit_id, trigger, state, message, inputs, timeout_seconds, cpu,
                               charge_max, charge_total, seconds_used, accepted_by, created_at, started_at, finished_at)
       select 'ex_' || lpad(cast(n as text), 26, '0'), :account,
              'wf_' || lpad(cast(1 + n % :workflows as text), 26, '0'),
              repeat(case when n % 10000 = 2 then '2' else '1' end, 40),
              case when n % 1000 = 500 then 'form' when n % 10 = 0 then 'schedule' else 'api' end,
              case when n % 100000 = 17 then 'out_of_memory' when n % 100 = 2 then 'failed' else 'success' end,
              case when n % 100000 = 102 then 'The disk is full.'
                   when n % 100 = 2 then 'Traceback: column ' || n || ' is missing.' else '' end,
              jsonb_build_object('number', n, 'text', repeat('x', 100)), 300, 1, 1000000, 1000, 1.5, 'bench',
              at, at, at + interval '2 seconds'
         from (select n, cast(:begin as timestamptz) + n * cast(:step as double precision) * interval '1 second' as at
                 from generate_series(cast(:first as int), cast(:last as int)) as n) made`,
      {
        account: ACCOUNT,
        workflows: WORKFLOWS,
        first: last + 1,
        last: Math.min(last + BATCH, COUNT),
        begin: daysAgo(DAYS),
        step: (DAYS * 86_400) / COUNT,
      },
    );
    say(`  ${Math.min(last + BATCH, COUNT)} made`);
  }
  // As the service would have counted them, day after day.
  await db.raw("update execution_days_counted set until = ?", [daysAgo(DAYS)]);
  while (await countExecutionDays(db));
}

/** Without the limits that statements of the service have: a table of a million takes its time. */
async function tidy(address: DatabaseAddress): Promise<void> {
  const session = createListener(address, "bench");
  await session.connect();
  await session.query("vacuum analyze");
  await session.end();
}

interface Measured {
  readonly what: string;
  readonly p50: number;
  readonly p95: number;
  /** Rows of all rounds. */
  readonly found: number;
}

/** `act` answers how many rows it has found. */
async function measure(what: string, act: () => Promise<number>): Promise<Measured> {
  const series: number[] = [];
  let found = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = performance.now();
    found += await act();
    series.push(performance.now() - startedAt);
  }
  const sorted = [...series].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
  return { what, p50: at(0.5), p95: at(0.95), found };
}

/** Pages one after the other from the newest on, and from the beginning again when there are no more. */
function measurePages(db: Db, what: string, conditions: Partial<ExecutionFilter>): Promise<Measured> {
  let after: Place | null = null;
  return measure(what, async () => {
    const page: Awaited<ReturnType<typeof listExecutionPage>> = await listExecutionPage(
      db,
      { accountId: ACCOUNT, ...conditions },
      { limit: PAGE, after },
    );
    after = page.next;
    return page.executions.length;
  });
}

/** What is shown beside the runs: each adds up what executions cost. */
const OTHERS: Readonly<Record<string, (db: Db) => Promise<number>>> = {
  "list of workflows, a month": async (db) =>
    (await listForPeople(db, { accountId: ACCOUNT, since: daysAgo(30) })).length,
  "list of workflows, by name": async (db) =>
    (await listForPeople(db, { accountId: ACCOUNT, since: daysAgo(30), search: "flow 7" })).length,
  "one workflow": async (db) =>
    (await listForPeople(db, { accountId: ACCOUNT, workflowId: workflowOf(3), since: daysAgo(30) })).length,
  "spend, 30 days": async (db) =>
    (await listSpend(db, { accountId: ACCOUNT, from: daysAgo(30), to: daysAgo(-1), most: 200 })).length,
};

const dataDir = await makeDataDir();
const user = await prepareServiceUser({ isRoot: process.getuid?.() === 0, report: say, run: runCommand });
const postgres = await startPostgres({ env: {}, dataDir, runAs: user, report: say, log: () => undefined });
const db = connect(postgres.connection, { poolMax: 2, applicationName: "bench" });
try {
  await migrate(db);
  const startedAt = performance.now();
  await generate(db);
  await tidy(postgres.connection);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  say(
    `${COUNT} executions made in ${seconds} s. Goal: p95 of a page of ${PAGE} at most ${GOAL_MS} ms with every filter, and of what is shown beside.`,
  );
  const all: Measured[] = [];
  const note = (measured: Measured): void => {
    all.push(measured);
    const [p50, p95] = [measured.p50.toFixed(1), measured.p95.toFixed(1)];
    const verdict = measured.p95 <= GOAL_MS ? "" : "  ← MISSED";
    say(`  ${measured.what.padEnd(40)} p50 ${p50} ms, p95 ${p95} ms, ${measured.found} found${verdict}`);
  };
  for (const [what, conditions] of Object.entries(FILTERS)) note(await measurePages(db, what, conditions));
  for (const [what, act] of Object.entries(OTHERS)) note(await measure(what, () => act(db)));
  const at = new Date().toISOString();
  const machine = `${availableParallelism()} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB`;
  mkdirSync(join(ROOT, "bench/results"), { recursive: true });
  const file = join(ROOT, "bench/results", `${at.slice(0, 10)}-executions.json`);
  writeFileSync(file, `${JSON.stringify({ at, machine, count: COUNT, rounds: ROUNDS, page: PAGE, measured: all })}\n`);
  say(`Raw numbers: ${file.slice(ROOT.length)}`);
  process.exitCode = all.every(({ p95 }) => p95 <= GOAL_MS) ? 0 : 1;
} finally {
  await db.destroy();
  await postgres.stop();
  await removeDataDir(dataDir);
}
