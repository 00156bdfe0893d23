import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { request } from "undici";
import { createArchive } from "../src/publish/archive.ts";
import { type Figure, toFigure } from "./figures.ts";
import type { BenchService } from "./service.ts";

const PUBLISHERS = 8;
const LOOK_MS = 500;
/** What is not over after this is stuck. */
const PATIENCE_MS = 1_800_000;
const PROGRAM = "def main():\n    return None\n";

export interface Schedules {
  /** Makes so many; seconds until they are published, and until Temporal has them. */
  create(count: number, cron: string): Promise<{ ids: string[]; publishedSeconds: number; seconds: number }>;
  /** Changes each by one commit; seconds until Temporal has all, and how many schedules it was told of. */
  change(ids: readonly string[], cron: string): Promise<{ seconds: number; told: number }>;
  /** What became of everything due at a minute, once all of it has come to its end. */
  judge(ids: readonly string[], dueAt: Date): Promise<Burst>;
  close(): Promise<void>;
}

/** Schedules published the way the command line does, and judged by the record, around the service. */
export async function openSchedules(service: BenchService): Promise<Schedules> {
  const token = (await readFile(join(service.dataDir, "keys/operator-token"), "utf8")).trim();
  const database = new pg.Client({
    host: join(service.dataDir, "postgres/socket"),
    user: "treadle",
    database: "treadle",
  });
  await database.connect();
  const record = createRecord(database);
  const publish = (cron: string, name: string, workflowId?: string): Promise<string> =>
    publishSchedule(service, token, { cron, name, workflowId });
  const untilTold = (): Promise<void> => record.untilNone("select count(*)::int as left from schedule_changes");
  const readLastChange = async (): Promise<number> =>
    Number((await record.ask<{ last: string }>("select last_value as last from schedule_change_numbers")).last);
  return {
    async create(count, cron) {
      const startedAt = performance.now();
      const names = Array.from({ length: count }, (_, index) => `schedule ${index}`);
      const ids = await mapTogether(names, (name) => publish(cron, name));
      const publishedSeconds = (performance.now() - startedAt) / 1_000;
      await untilTold();
      return { ids, publishedSeconds, seconds: (performance.now() - startedAt) / 1_000 };
    },
    async change(ids, cron) {
      const startedAt = performance.now();
      const before = await readLastChange();
      await mapTogether(ids, (workflowId, index) => publish(cron, `schedule ${index}`, workflowId));
      await untilTold();
      return { seconds: (performance.now() - startedAt) / 1_000, told: (await readLastChange()) - before };
    },
    judge: (ids, dueAt) => judgeBurst(record, ids, dueAt),
    close: () => database.end(),
  };
}

/** A new workflow, or a commit to one. Answers the workflow's id. */
async function publishSchedule(
  service: BenchService,
  token: string,
  given: { cron: string; name: string; workflowId: string | undefined },
): Promise<string> {
  const { cron, name, workflowId } = given;
  const config = `name: ${name}\ntriggers:\n  schedule: { enabled: true, cron: "${cron}", overlap: skip }\n`;
  const files = { "config.yaml": config, "main.py": PROGRAM };
  const answer = await request(`${service.ready.apiUrl}/publish`, {
    method: "POST",
    query: workflowId === undefined ? { name } : { workflow: workflowId },
    dispatcher: service.agent,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/x-tar" },
    body: createArchive(
      Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text), executable: false })),
    ),
  });
  const body = (await answer.body.json()) as { workflowId?: string };
  if (body.workflowId === undefined)
    throw new Error(`Publishing answered ${answer.statusCode}: ${JSON.stringify(body)}`);
  return body.workflowId;
}

async function mapTogether<Item>(
  items: readonly Item[],
  one: (item: Item, index: number) => Promise<string>,
): Promise<string[]> {
  const answers: string[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++)
      answers[index] = await one(items[index] as Item, index);
  };
  await Promise.all(Array.from({ length: PUBLISHERS }, work));
  return answers;
}

function createRecord(database: pg.Client) {
  const list = async <Row>(sql: string, values: readonly unknown[] = []): Promise<Row[]> =>
    (await database.query(sql, [...values])).rows as Row[];
  const ask = async <Row>(sql: string, values: readonly unknown[] = []): Promise<Row> =>
    (await list<Row>(sql, values))[0] as Row;
  return {
    list,
    ask,
    /** Looks until a question is answered with zero. */
    async untilNone(sql: string, values: readonly unknown[] = []): Promise<void> {
      const deadline = Date.now() + PATIENCE_MS;
      while ((await ask<{ left: number }>(sql, values)).left > 0) {
        if (Date.now() > deadline) throw new Error(`Still not over after half an hour: ${sql}`);
        await sleep(LOOK_MS);
      }
    },
  };
}

interface TickRow {
  readonly outcome: string;
  readonly source: string;
  readonly late: number | null;
  readonly over: number | null;
  readonly state: string | null;
}

/** What a minute at which many schedules were due came to. Seconds after the minute. */
export interface Burst {
  readonly ticks: number;
  readonly executions: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** By the look after ticks, in place of Temporal's clock. */
  readonly repaired: number;
  readonly started: Figure;
  readonly lastStarted: number;
  readonly lastOver: number;
}

async function judgeBurst(
  record: ReturnType<typeof createRecord>,
  ids: readonly string[],
  dueAt: Date,
): Promise<Burst> {
  const given = [ids, dueAt];
  await record.untilNone(
    `select cardinality($1::text[]) - count(*)::int as left from ticks where workflow_id = any($1) and nominal_at = $2`,
    given,
  );
  await record.untilNone(
    `select count(*)::int as left from executions where workflow_id = any($1) and finished_at is null`,
    [ids],
  );
  const rows = await record.list<TickRow>(
    `select t.outcome, t.source, extract(epoch from e.started_at - t.nominal_at)::float8 as late,
            extract(epoch from e.finished_at - t.nominal_at)::float8 as over, e.state
       from ticks t left join executions e on e.id = t.execution_id
      where t.workflow_id = any($1) and t.nominal_at = $2`,
    given,
  );
  const { count } = await record.ask<{ count: number }>(
    `select count(*)::int as count from executions where workflow_id = any($1) and created_at >= $2`,
    given,
  );
  return toBurst(rows, count);
}

function toBurst(rows: readonly TickRow[], executions: number): Burst {
  const outcomes: Record<string, number> = {};
  for (const { outcome, state } of rows) {
    const name = state === null ? outcome : `${outcome}, ${state}`;
    outcomes[name] = (outcomes[name] ?? 0) + 1;
  }
  const late = rows.flatMap((row) => row.late ?? []);
  return {
    ticks: rows.length,
    executions,
    outcomes,
    repaired: rows.filter(({ source }) => source === "repair").length,
    started: toFigure(late),
    lastStarted: Math.max(...late),
    lastOver: Math.max(...rows.map(({ over }) => over ?? 0)),
  };
}
