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
/** What is over after this is stuck. */
const PATIENCE_MS = 1_800_000;
const PROGRAM = "def main():\n    return None\n";

/** Publishes workflows with a schedule the way the command line does, and looks at the record around the service. */
export async function openSchedules(service: BenchService) {
  const token = (await readFile(join(service.dataDir, "keys/operator-token"), "utf8")).trim();
  const database = new pg.Client({
    host: join(service.dataDir, "postgres/socket"),
    user: "treadle",
    database: "treadle",
  });
  await database.connect();

  /** A new workflow, or a commit to one. Answers the workflow's id. */
  async function publish(cron: string, given: { name: string; workflowId?: string }): Promise<string> {
    const config = `name: ${given.name}\ntriggers:\n  schedule: { enabled: true, cron: "${cron}", overlap: skip }\n`;
    const files = { "config.yaml": config, "main.py": PROGRAM };
    const query = given.workflowId === undefined ? { name: given.name } : { workflow: given.workflowId };
    const answer = await request(`${service.ready.apiUrl}/operator/publish`, {
      method: "POST",
      query,
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

  async function ask<Row>(sql: string, values: readonly unknown[] = []): Promise<Row> {
    const { rows } = await database.query(sql, [...values]);
    return rows[0] as Row;
  }

  /** Looks until a question is answered with zero. */
  async function untilNone(sql: string, values: readonly unknown[] = []): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS;
    while ((await ask<{ left: number }>(sql, values)).left > 0) {
      if (Date.now() > deadline) throw new Error(`Still not over after half an hour: ${sql}`);
      await sleep(LOOK_MS);
    }
  }

  async function publishAll<Item>(items: readonly Item[], one: (item: Item, index: number) => Promise<string>) {
    const ids: string[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      for (let index = next++; index < items.length; index = next++)
        ids[index] = await one(items[index] as Item, index);
    };
    await Promise.all(Array.from({ length: PUBLISHERS }, work));
    return ids;
  }

  /** Until Temporal knows of every schedule. */
  const untilTold = (): Promise<void> => untilNone("select count(*)::int as left from schedule_changes");

  return {
    /** Makes so many schedules; seconds until they are published, and until Temporal has them. */
    async create(count: number, cron: string): Promise<{ ids: string[]; publishedSeconds: number; seconds: number }> {
      const startedAt = performance.now();
      const names = Array.from({ length: count }, (_, index) => `schedule ${index}`);
      const ids = await publishAll(names, (name) => publish(cron, { name }));
      const publishedSeconds = (performance.now() - startedAt) / 1_000;
      await untilTold();
      return { ids, publishedSeconds, seconds: (performance.now() - startedAt) / 1_000 };
    },
    /** Changes each by one commit; seconds until Temporal has all, and how many schedules it was told of. */
    async change(ids: readonly string[], cron: string): Promise<{ seconds: number; told: number }> {
      const startedAt = performance.now();
      const before = await ask<{ last: string }>("select last_value as last from schedule_change_numbers");
      await publishAll(ids, (workflowId, index) => publish(cron, { name: `schedule ${index}`, workflowId }));
      await untilTold();
      const after = await ask<{ last: string }>("select last_value as last from schedule_change_numbers");
      return { seconds: (performance.now() - startedAt) / 1_000, told: Number(after.last) - Number(before.last) };
    },
    /** What became of everything due at a minute, once all of it has come to its end. */
    async judge(ids: readonly string[], dueAt: Date): Promise<Burst> {
      const given = [ids, dueAt];
      await untilNone(
        `select cardinality($1::text[]) - count(*)::int as left from ticks where workflow_id = any($1) and nominal_at = $2`,
        given,
      );
      await untilNone(
        `select count(*)::int as left from executions where workflow_id = any($1) and finished_at is null`,
        given.slice(0, 1),
      );
      const { rows } = await database.query(
        `select t.outcome, t.source, extract(epoch from e.started_at - t.nominal_at)::float8 as late,
                extract(epoch from e.finished_at - t.nominal_at)::float8 as over, e.state
           from ticks t left join executions e on e.id = t.execution_id
          where t.workflow_id = any($1) and t.nominal_at = $2`,
        given,
      );
      const executions = await ask<{ count: number }>(
        `select count(*)::int as count from executions where workflow_id = any($1) and created_at >= $2`,
        given,
      );
      return toBurst(rows as TickRow[], executions.count);
    },
    close: () => database.end(),
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
