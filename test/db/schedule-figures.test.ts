import { expect, test } from "@jest/globals";
import { Registry } from "prom-client";
import { queryRows } from "../../db/connect.ts";
import { listTicks } from "../../db/schedules/ticks.ts";
import { createLog } from "../../src/log.ts";
import { createRecordFigures } from "../../src/metrics/record.ts";
import { countTicks } from "../../src/metrics/ticks.ts";
import { accountForTicks } from "../../src/schedules/tick-watch.ts";
import { aFileDatabase } from "../support/file-database.ts";
import { aScheduledWorkflow, aTickRoom } from "../support/schedules.ts";

const SILENT = createLog({ level: "silent", terminal: false });
const SINCE = new Date("2026-05-04T08:30:00Z");
const NOON = new Date("2026-05-04T12:30:00Z");

const { db } = await aFileDatabase();

async function valuesOf(registry: Registry, name: string): Promise<Record<string, number>> {
  const { values } = (await registry.getSingleMetric(name)?.get()) ?? { values: [] };
  return Object.fromEntries(values.map(({ labels, value }) => [Object.values(labels).join(), value]));
}

test("figures of schedules, with changes that Temporal was not told, say how many and since when", async () => {
  const figures = async () => {
    const registry = new Registry();
    await createRecordFigures({ db, registry })();
    return Promise.all(
      ["waiting", "oldest_seconds"].map(
        async (name) => (await valuesOf(registry, `treadle_schedule_changes_${name}`))[""] ?? Number.NaN,
      ),
    );
  };
  expect(await figures()).toEqual([0, 0]);
  for (let count = 0; count < 3; count += 1) await aScheduledWorkflow(db, { since: SINCE });
  await queryRows(
    db,
    `update schedule_changes set noted_at = now() - interval '1 hour'
      where workflow_id = (select min(workflow_id) from schedule_changes)`,
  );
  const [waiting = 0, oldestSeconds = 0] = await figures();
  expect(waiting).toBe(3);
  expect(oldestSeconds).toBeGreaterThanOrEqual(3_600);
  expect(oldestSeconds).toBeLessThan(7_200);
});

test("figures of ticks, of those that nobody fired, count what became of each by its outcome", async () => {
  const missed = await aScheduledWorkflow(db, { since: SINCE, schedule: { catchup: "none" } });
  const paused = await aScheduledWorkflow(db, { since: SINCE, schedule: { enabled: false } });
  const started = await aScheduledWorkflow(db, {
    since: SINCE,
    schedule: { catchup: "all", maxLatenessSeconds: 86_400 },
  });
  await queryRows(db, `update schedules set look_at = null where workflow_id <> all(:ids)`, {
    ids: [missed.workflowId, paused.workflowId, started.workflowId],
  });
  const registry = new Registry();
  const onTick = countTicks(registry);
  const room = aTickRoom(db, NOON);
  await accountForTicks(
    { db, ticks: room, startsMax: 8, now: () => NOON, onTick, log: SILENT },
    { watchedSince: NOON, signal: new AbortController().signal },
  );
  for (const tick of room.told) onTick(tick);
  const { workflowId } = started;
  expect((await listTicks(db, { workflowId, before: null, limit: 10 })).map(({ source }) => source)).toEqual(
    Array(4).fill("repair"),
  );
  expect(await valuesOf(registry, "treadle_ticks_total")).toMatchObject({
    missed: 4,
    paused: 4,
    started: 1,
    skipped_overlap: 3,
  });
});
