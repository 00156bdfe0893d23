import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { BenchService } from "./service.ts";

/** The accounts of PostgreSQL and of the service's process, by name; all only grow. */
type Counts = Readonly<Record<string, number>>;

/** PostgreSQL publishes what a session has done after at most so long. */
const PUBLISHED_MS = 2_000;

/**
 * Counts what one `hello` makes PostgreSQL and the service do, its story in Temporal included. What they do anyway in the
 * same time is taken off. Transactions that only read count, too.
 */
export async function countHello(service: BenchService, calls: number): Promise<Counts> {
  const host = join(service.dataDir, "postgres/socket");
  const client = new pg.Client({ host, user: "treadle", database: "treadle" });
  await client.connect();
  try {
    const before = await read(client, service);
    const since = performance.now();
    for (let call = 0; call < calls; call += 1) await service.execute("hello", { name: "Ada" });
    await sleep(PUBLISHED_MS);
    const busyMs = performance.now() - since;
    const between = await read(client, service);
    await sleep(busyMs);
    const after = await read(client, service);
    return Object.fromEntries(
      Object.keys(before).map((name) => {
        const busy = (between[name] ?? 0) - (before[name] ?? 0);
        const idle = (after[name] ?? 0) - (between[name] ?? 0);
        return [name, (busy - idle) / calls];
      }),
    );
  } finally {
    await client.end();
  }
}

async function read(client: pg.Client, { ready }: BenchService): Promise<Counts> {
  const { rows } = await client.query<Record<string, number>>(
    `select (select sum(xact_commit)::float from pg_stat_database) as transactions,
            (select sum(fsyncs)::float from pg_stat_io where object = 'wal') as "walSyncs",
            (select wal_bytes::float from pg_stat_wal) as "walBytes"`,
  );
  const io = await readFile(`/proc/${ready.pid}/io`, "utf8");
  const find = (name: string): number => Number(new RegExp(`^${name}: (\\d+)`, "m").exec(io)?.[1]);
  return Object.assign(rows[0] ?? {}, { serviceReads: find("syscr"), serviceWrites: find("syscw") });
}
