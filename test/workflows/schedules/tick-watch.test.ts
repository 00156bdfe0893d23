import { beforeEach, expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { listSchedules, listSchedulesToLookAt } from "../../../db/schedules/schedules.ts";
import { listTicks } from "../../../db/schedules/ticks.ts";
import { endWatch, keepWatch } from "../../../db/schedules/watch.ts";
import { nextTicks } from "../../../domain/cron/next-runs.ts";
import type { WorkflowId } from "../../../domain/ids.ts";
import { cronOf } from "../../../domain/schedules/declaration.ts";
import { createLog } from "../../../src/log.ts";
import { toDesired } from "../../../src/schedules/temporal-schedules.ts";
import { accountForTicks } from "../../../src/schedules/tick-watch.ts";
import { aFileDatabase } from "../../support/file-database.ts";
import { aScheduledWorkflow, aTickRoom, commitSchedule } from "../../support/schedules.ts";

const { db } = await aFileDatabase();
const log = createLog({ level: "fatal", terminal: false });

beforeEach(async () => {
  await db.raw("update schedules set look_at = null");
  await db.raw("delete from schedule_watch");
});

const SINCE = new Date("2026-05-04T07:30:00Z");
const noon = new Date("2026-05-04T12:02:00Z");

function minutesAfter(instant: Date, minutes: number): Date {
  return new Date(instant.getTime() + minutes * 60_000);
}

/** Looks once at `now`, as a service that came back then, unless it was there since another time. */
async function look(now: Date, options: { watchedSince?: Date; fire?: () => Promise<never> } = {}) {
  const room = aTickRoom(db, now);
  await db.raw("delete from schedule_watch");
  for (const at of [options.watchedSince ?? now, now])
    await db.raw(
      "insert into schedule_watch values (true, 'proc_test', ?, ?) on conflict (only_row) do update set seen_at = excluded.seen_at",
      [at, at],
    );
  const ticks = options.fire === undefined ? room : { fire: options.fire };
  const given = { watchedSince: options.watchedSince ?? now, signal: new AbortController().signal };
  const unfired = await accountForTicks({ db, ticks, startsMax: 8, now: () => now, log }, given);
  return { unfired, started: room.started };
}

async function recordOf(workflowId: WorkflowId): Promise<string[]> {
  const ticks = await listTicks(db, { workflowId, before: null, limit: 10_000 });
  return ticks.toReversed().map((tick) => `${tick.nominalAt.toISOString().slice(11, 16)} ${tick.outcome}`);
}

test.each([
  ["none", ["08:00 missed", "09:00 missed", "10:00 missed", "11:00 missed", "12:00 missed"]],
  ["latest", ["08:00 missed", "09:00 missed", "10:00 missed", "11:00 missed", "12:00 started"]],
  ["all", ["08:00 missed", "09:00 missed", "10:00 started", "11:00 started", "12:00 started"]],
] as const)(
  "a service that was away for hours, catchup %s, finds every tick and gives it a record",
  async (catchup, expected) => {
    const schedule = { catchup, overlap: "allow" as const, maxLatenessSeconds: 7_320 };
    const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, schedule });
    const { unfired } = await look(noon);
    expect(await recordOf(workflowId)).toEqual(expected);
    expect(unfired).toBe(0);
    // Another look finds nothing to do.
    await look(minutesAfter(noon, 1));
    expect(await recordOf(workflowId)).toHaveLength(5);
  },
);

test("ticks that nobody fired while the service was there, are started and counted", async () => {
  const { workflowId } = await aScheduledWorkflow(db, {
    since: SINCE,
    schedule: { catchup: "none", overlap: "allow", maxLatenessSeconds: 7_200 },
  });
  const { unfired, started } = await look(minutesAfter(SINCE, 95), { watchedSince: SINCE });
  expect({ unfired, started: started.length }).toEqual({ unfired: 2, started: 2 });
  expect(await recordOf(workflowId)).toEqual(["08:00 started", "09:00 started"]);
});

test("ticks of a crowd, which Temporal was told to fire later, are started, and say nothing against Temporal", async () => {
  const schedule = { catchup: "none", overlap: "allow", maxLatenessSeconds: 7_200 } as const;
  const crowd: WorkflowId[] = [];
  for (let count = 0; count < 27; count++)
    crowd.push((await aScheduledWorkflow(db, { since: SINCE, schedule })).workflowId);
  const apart = await aScheduledWorkflow(db, { since: SINCE, schedule: { ...schedule, cron: "1 9 * * *" } });
  const spreads = new Map<WorkflowId, number>();
  for (const schedule of await listSchedules(db, { after: "", limit: 10_000 }))
    spreads.set(schedule.workflowId, toDesired(schedule, SINCE).jitterSeconds);
  const isSpread = (workflowId: WorkflowId): boolean => spreads.get(workflowId) === 900;
  expect(crowd.map(isSpread)).toEqual([...Array<boolean>(25).fill(false), true, true]);
  expect(spreads.get(apart.workflowId)).toBe(0);
  // From the minute of their first tick on, those of the crowd alone are started.
  const early = { watchedSince: SINCE };
  expect((await look(new Date("2026-05-04T07:59:59.900Z"), early)).started).toEqual([]);
  expect((await look(new Date("2026-05-04T08:00:00.250Z"), early)).started).toHaveLength(2);
  expect(await recordOf(crowd[0] as WorkflowId)).toEqual([]);
  expect(await recordOf(crowd[26] as WorkflowId)).toEqual(["08:00 started"]);
  await db.raw("update schedules set look_at = null where not workflow_id = any (?)", [crowd.slice(23)]);
  const { unfired, started } = await look(minutesAfter(SINCE, 35), { watchedSince: SINCE });
  expect({ unfired, started: started.length }).toEqual({ unfired: 2, started: 2 });
});

test("a tick that is Temporal's to fire yet, is left alone until its time is over", async () => {
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE });
  await look(new Date("2026-05-04T08:00:05Z"));
  expect(await recordOf(workflowId)).toEqual([]);
  await look(new Date("2026-05-04T08:00:07Z"));
  expect(await recordOf(workflowId)).toEqual(["08:00 started"]);
});

test("ticks with a record, keep it", async () => {
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, schedule: { overlap: "allow" } });
  const room = aTickRoom(db, new Date("2026-05-04T09:00:00Z"));
  const fired = await room.fire({ workflowId, firedAt: new Date("2026-05-04T09:00:00Z") }, "clock");
  await look(new Date("2026-05-04T10:30:00Z"));
  const ticks = await listTicks(db, { workflowId, before: null, limit: 10 });
  expect(ticks.map(({ source }) => source)).toEqual(["repair", "clock", "repair"]);
  expect(ticks[1]?.executionId).toBe(fired.kind === "decided" ? fired.executionId : "");
});

test("declarations that were changed, paused and taken away, are each accounted for in their own time", async () => {
  const first = await aScheduledWorkflow(db, { since: SINCE, schedule: { cron: "0 * * * *" } });
  const { workflowId } = first;
  const at = (time: string) => new Date(`2026-05-04T${time}:00Z`);
  const second = await commitSchedule(db, first, { at: at("08:30"), schedule: { cron: "0 * * * *", enabled: false } });
  const third = await commitSchedule(db, second, { at: at("10:00"), schedule: { cron: "*/20 * * * *" } });
  const fourth = await commitSchedule(db, third, { at: at("10:50"), schedule: null });
  await commitSchedule(db, fourth, { at: at("11:30"), schedule: { cron: "45 * * * *" } });
  await look(at("12:10"));
  expect(await recordOf(workflowId)).toEqual([
    "08:00 missed",
    "09:00 paused",
    "10:00 paused",
    "10:20 missed",
    "10:40 missed",
    "11:45 started",
  ]);
  expect(await listSchedulesToLookAt(db, { now: at("12:10"), limit: 10 })).toEqual([]);
});

test.each([
  ["paused", { enabled: false }, ["08:00 started", "09:00 paused", "10:00 paused"]],
  ["moved to other times", { cron: "45 * * * *" }, ["08:00 missed", "08:45 missed", "09:45 started"]],
  ["moved to times that have not come", { cron: "0 12 * * *" }, ["08:00 started"]],
] as const)(
  "a schedule with catchup latest, that was %s while nobody looked after it, starts the latest tick there was, whoever finds it",
  async (_, changed, expected) => {
    const schedule = { catchup: "latest" as const, overlap: "allow" as const, maxLatenessSeconds: 10_800 };
    const now = new Date("2026-05-04T10:02:00Z");
    const both = await Promise.all([1, 2].map(() => aScheduledWorkflow(db, { since: SINCE, schedule })));
    for (const workflow of both)
      await commitSchedule(db, workflow, { at: minutesAfter(SINCE, 60), schedule: { ...schedule, ...changed } });
    const [fired, looked] = both.map(({ workflowId }) => workflowId) as [WorkflowId, WorkflowId];
    await aTickRoom(db, now).fire({ workflowId: fired, firedAt: new Date("2026-05-04T08:00:00Z") }, "clock");
    expect(await recordOf(fired)).toEqual(expected.slice(0, 1));
    await look(now);
    expect([await recordOf(fired), await recordOf(looked)]).toEqual([expected, expected]);
  },
);

test("a tick that could not be started, stays due, and keeps no other schedule's ticks", async () => {
  const broken = await aScheduledWorkflow(db, { since: SINCE });
  await look(new Date("2026-05-04T08:05:00Z"), { fire: async () => Promise.reject(new Error("away")) });
  expect(await recordOf(broken.workflowId)).toEqual([]);
  const other = await aScheduledWorkflow(db, { since: SINCE });
  await look(new Date("2026-05-04T08:06:00Z"));
  expect([await recordOf(broken.workflowId), await recordOf(other.workflowId)]).toEqual([
    ["08:00 started"],
    ["08:00 started"],
  ]);
});

test("weeks of minutes, are all recorded, none twice", async () => {
  const since = new Date("2026-04-27T00:00:00Z");
  const schedule = { cron: "* * * * *", catchup: "latest" as const, maxLatenessSeconds: 3_600 };
  const { workflowId } = await aScheduledWorkflow(db, { since, schedule });
  await look(new Date("2026-05-04T00:01:04Z"));
  const [row] = await queryRows(
    db,
    `select count(*)::int as count, count(*) filter (where outcome = 'started')::int as started, min(nominal_at) as first,
            max(nominal_at) as last from ticks where workflow_id = :workflowId`,
    { workflowId },
  );
  expect(row).toEqual({
    count: 10_080,
    started: 0,
    first: new Date("2026-04-27T00:01:00Z"),
    last: new Date("2026-05-04T00:00:00Z"),
  });
});

test("two that look at once, give each tick one record and one execution", async () => {
  const schedule = { catchup: "all" as const, overlap: "allow" as const, maxLatenessSeconds: 86_400 };
  const workflows = await Promise.all(
    Array.from({ length: 10 }, () => aScheduledWorkflow(db, { since: SINCE, schedule })),
  );
  const found = await Promise.all([look(noon), look(noon), look(noon)]);
  const started = new Set(found.flatMap((one) => one.started));
  expect(started.size).toBe(50);
  for (const { workflowId } of workflows) expect(await recordOf(workflowId)).toHaveLength(5);
  const rows = await queryRows(db, `select id from executions where workflow_id = any(:ids)`, {
    ids: workflows.map(({ workflowId }) => workflowId),
  });
  expect(rows).toHaveLength(50);
});

/** Numbers that look random and are the same in each run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test.each([1, 2, 3, 4, 5, 6])(
  "any mixture of commits, firings and absences (seed %i), leaves every nominal tick with one record",
  async (seed) => {
    const random = createRandom(seed);
    const crons = ["*/5 * * * *", "7,37 * * * *", "0 * * * *", "* 9-10 * * *", "*/15 2-3 * * *"];
    const zones = ["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/New_York"];
    const aDeclaration = () => ({
      cron: crons[random(crons.length)] as string,
      timezone: zones[random(zones.length)] as string,
      enabled: random(4) > 0,
      catchup: (["none", "latest", "all"] as const)[random(3)] as "none",
      overlap: (["skip", "queue", "allow", "cancel_previous"] as const)[random(4)] as "skip",
      maxLatenessSeconds: [60, 600, 7_200][random(3)] as number,
    });
    let now = SINCE;
    let workflow = await aScheduledWorkflow(db, { since: now, schedule: aDeclaration() });
    const { workflowId } = workflow;
    for (let step = 0; step < 60; step += 1) {
      const before = now;
      now = new Date(now.getTime() + [1_000, 30_000, 61_000, 600_000, 5_400_000][random(5)]! * (1 + random(2)));
      const room = aTickRoom(db, now);
      if (random(3) > 0) {
        // What Temporal may do: fire some of what was due, some twice, some never, and now and then what nobody asked for.
        const minutes = Math.min(90, Math.floor((now.getTime() - before.getTime()) / 60_000) + 1);
        for (let fired = 0; fired < 6; fired += 1) {
          const minute = Math.floor(now.getTime() / 60_000) - random(minutes);
          await room.fire({ workflowId, firedAt: new Date(minute * 60_000) }, "clock");
        }
      }
      if (random(3) === 0) await look(now, random(2) === 0 ? { watchedSince: SINCE } : {});
      if (random(4) === 0) {
        const schedule = random(6) === 0 ? null : aDeclaration();
        workflow = await commitSchedule(db, workflow, { schedule, at: now });
      }
    }
    await look(new Date(now.getTime() + 120_000));
    await expectComplete(workflowId, now);
  },
);

async function expectComplete(workflowId: WorkflowId, until: Date): Promise<void> {
  const declared = await queryRows<{
    cron: string;
    timezone: string;
    enabled: boolean;
    since: Date;
    until: Date | null;
  }>(db, `select cron, timezone, enabled, since, until from schedules where workflow_id = :workflowId order by id`, {
    workflowId,
  });
  const ticks = await listTicks(db, { workflowId, before: null, limit: 100_000 });
  const recorded = new Map(ticks.map((tick) => [tick.nominalAt.toISOString(), tick]));
  const expected: string[] = [];
  for (const { since, until: end, enabled, ...schedule } of declared) {
    const last = end === null || end > until ? until : end;
    for (const at of nextTicks(cronOf(schedule), schedule.timezone, since, Number.POSITIVE_INFINITY, last)) {
      expected.push(at.toISOString());
      expect([at, recorded.get(at.toISOString())?.outcome === "paused"]).toEqual([at, !enabled]);
    }
  }
  expect(ticks.filter(({ nominalAt }) => nominalAt <= until).map(({ nominalAt }) => nominalAt.toISOString())).toEqual(
    expected.toReversed(),
  );
  const executions = await queryRows<{ id: string }>(
    db,
    `select id from executions where workflow_id = :workflowId and trigger = 'schedule' order by id`,
    { workflowId },
  );
  const begun = ticks.flatMap(({ executionId }) => executionId ?? []);
  expect(executions.map(({ id }) => id)).toEqual(begun.toSorted());
}

test("keepWatch, by two, is held by the first until it ends or is not heard of", async () => {
  const at = (second: number) => new Date(SINCE.getTime() + second * 1_000);
  const keep = async (holder: string, second: number) => (await keepWatch(db, { holder, now: at(second) })).held;
  expect([await keep("a", 0), await keep("b", 10), await keep("a", 20), await keep("b", 49)]).toEqual([
    true,
    false,
    true,
    false,
  ]);
  expect([await keep("b", 51), await keep("a", 52)]).toEqual([true, false]);
  await endWatch(db, "b");
  expect(await keep("a", 60)).toBe(true);
  // Handing over is no break.
  expect((await keepWatch(db, { holder: "a", now: at(61) })).since).toEqual(at(0));
});

test("keepWatch, after a break, counts anew", async () => {
  await keepWatch(db, { holder: "a", now: SINCE });
  const back = new Date(SINCE.getTime() + 46_000);
  expect(await keepWatch(db, { holder: "a", now: back })).toMatchObject({ held: true, since: back });
});
