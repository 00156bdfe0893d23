import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { aScheduledService, type ScheduledService, type Tick } from "./scheduled-service.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Policies of schedules that are due every hour, last half an hour ago and next in half an hour: nothing but what is missed fires
 * while the test runs, and what is said of lateness leaves it twenty minutes.
 */
const POLICIES = {
  none: "catchup: none, max_lateness: 6h",
  latest: "catchup: latest, max_lateness: 6h",
  queue: "catchup: all, overlap: queue, max_lateness: 6h",
  skip: "catchup: all, overlap: skip, max_lateness: 6h, payload: { seconds: 120 }",
  allow: "catchup: all, overlap: allow, max_lateness: 6h",
  cancel: "catchup: all, overlap: cancel_previous, max_lateness: 6h, payload: { seconds: 120 }",
  late: "catchup: all, overlap: allow, max_lateness: 170m",
  jitter: "catchup: all, overlap: allow, jitter: 24m, max_lateness: 30m",
};

/** Two schedules of one workflow that are due at the same minutes. */
const NAMED = `  schedules:
    eu: { enabled: true, cron: "* * * * *", payload: { region: EU } }
    us: { enabled: true, cron: "* * * * *", payload: { region: US } }
`;

let room: ScheduledService;
let minutely: { workflowId: string; apiKey: string };
let jittered: string;
let named: string;
let backfilled: string;
let backfilledAt: string;
let minute: number;
const hourly = {} as Record<keyof typeof POLICIES, string>;

beforeAll(async () => {
  room = await aScheduledService();
  minutely = await room.publish(`enabled: true, cron: "* * * * *", overlap: allow, payload: { region: EU }`);
  jittered = (await room.publish(`enabled: true, cron: "* * * * *", overlap: allow, jitter: 25s`)).workflowId;
  named = (await room.publishTriggers(NAMED)).workflowId;
  backfilled = (await room.publish(`enabled: true, cron: "* * * * *", payload: { seconds: 25 }`)).workflowId;
  await backfillMinutes(backfilled, 4);
  minute = (new Date().getUTCMinutes() + 30) % 60;
  for (const [name, policies] of Object.entries(POLICIES) as [keyof typeof POLICIES, string][])
    hourly[name] = (await room.publish(`enabled: true, cron: "${minute} * * * *", ${policies}`)).workflowId;
}, 900_000);

afterAll(() => room?.close());

/** Asks for what was due in so many minutes before the last one. */
async function backfillMinutes(workflowId: string, count: number): Promise<void> {
  const now = Date.now();
  backfilledAt = new Date(now).toISOString();
  const to = Math.floor(now / MINUTE_MS) * MINUTE_MS - MINUTE_MS;
  const times = [to - count * MINUTE_MS, to].map((at) => new Date(at).toISOString()) as [string, string];
  const command = ["schedules", "backfill", workflowId, "--from", times[0], "--to", times[1], "--json"];
  expect((await room.command(command)).json()).toMatchObject({ started: count, left: 0, stopped: null });
}

async function readExecution(executionId: string | null): Promise<Record<string, unknown>> {
  for (;;) {
    const headers = { "x-api-key": minutely.apiKey };
    const { body } = await room.service().call(`/run-logs/${executionId}`, { method: "GET", headers });
    if (body.status !== "queued" && body.status !== "running") return body;
    await sleep(500);
  }
}

/** A workflow's executions in the order of their ticks, once they are as wanted. */
async function executionsUntil(workflowId: string, areWanted: (states: readonly unknown[]) => boolean) {
  for (;;) {
    const rows = await room.place.query(
      `select e.id, e.state, e.started_at, e.finished_at, e.admitted_at = e.created_at as at_once
         from executions e join ticks t on t.execution_id = e.id where e.workflow_id = $1 order by t.nominal_at`,
      [workflowId],
    );
    if (areWanted(rows.map(({ state }) => state))) return rows;
    await sleep(500);
  }
}

test("a schedule of every minute, fires within two seconds of the minute, with its payload, and leaves a record", async () => {
  // A machine that is busy at one minute may not be at the next.
  const isQuick = ({ lateSeconds }: Tick): boolean => lateSeconds < 2;
  const tick = (await room.ticksUntil(minutely.workflowId, (found) => found.some(isQuick))).find(isQuick);
  expect(tick).toMatchObject({ outcome: "started", source: "clock", reason: "", executionId: expect.any(String) });
  expect(tick?.nominalAt).toMatch(/:00Z$/);
  const execution = await readExecution(tick?.executionId ?? null);
  expect(execution).toMatchObject({ status: "success", outputs: { region: expect.any(String) } });
  const { region } = execution.outputs as { region: string };
  const headers = { "x-api-key": minutely.apiKey };
  expect((await room.service().call(region, { method: "GET", headers })).text).toBe("EU");
  const { due } = execution.outputs as { due: string };
  const nominalMs = Date.parse(tick?.nominalAt ?? "");
  const [nominal, previous] = [nominalMs, nominalMs - MINUTE_MS].map(
    (ms) => `${new Date(ms).toISOString().slice(0, 19)}+00:00`,
  );
  const written = (await room.service().call(due, { method: "GET", headers })).body;
  expect(written).toEqual([tick?.executionId, "schedule", nominal, previous]);
}, 400_000);

test("a schedule with overlap skip, while past ticks of it run for longer than a minute, starts what is due all the same", async () => {
  const isNext = ({ nominalAt }: Tick): boolean => nominalAt > backfilledAt;
  const ticks = await room.ticksUntil(backfilled, (found) => found.some(isNext));
  expect(ticks.find(isNext)).toMatchObject({ outcome: "started", executionId: expect.any(String) });
  expect(ticks.filter(({ source }) => source === "backfill")).toHaveLength(4);
  expect((await room.command(["workflows", "delete", backfilled])).code).toBe(0);
}, 400_000);

test("two schedules of one workflow, due at the same minute, start a run each, with its own payload and history", async () => {
  const isRun = ({ source, outcome }: Tick): boolean => source === "clock" && outcome === "started";
  const eu = (await room.ticksUntil(named, (found) => found.some(isRun), "eu")).filter(isRun);
  const us = await room.ticksUntil(named, (found) => found.some(isSameMinute), "us");
  const [one, other] = [eu[0] as Tick, us.find(isSameMinute) as Tick];
  function isSameMinute(tick: Tick): boolean {
    return isRun(tick) && tick.nominalAt === eu[0]?.nominalAt;
  }
  expect(other.executionId).not.toBe(one.executionId);
  for (const [{ executionId }, name] of [
    [one, "eu"],
    [other, "us"],
  ] as const) {
    const shown = await room.command(["executions", "record", executionId as string, "--json"]);
    expect(shown.json()).toMatchObject({ trigger: "schedule", schedule: name, inputs: { region: name.toUpperCase() } });
  }
  expect(await room.listTicks(named)).toEqual([]);
}, 400_000);

test("the same schedules, published once more, are not declared anew", async () => {
  await room.publishTriggers(`${NAMED}  api: { enabled: true }\n`, named);
  const rows = await room.place.query("select name, until from schedules where workflow_id = $1 order by name", [
    named,
  ]);
  expect(rows).toEqual([
    { name: "eu", until: null },
    { name: "us", until: null },
  ]);
});

let pausedAt: string;

test("a commit with enabled: false, pauses it", async () => {
  const paused = `enabled: false, cron: "* * * * *", overlap: allow, payload: { region: EU }`;
  await room.publish(paused, minutely.workflowId);
  pausedAt = new Date().toISOString();
  expect(await room.findSchedule(minutely.workflowId)).toMatchObject({
    paused: true,
    reason: "enabled is false in config.yaml",
    description: "every minute, UTC",
  });
});

let backAt: string;
const away = {} as Record<keyof typeof POLICIES, Tick[]>;

test("a service that was away for five due times and whose Temporal lost all it had, gives each of them its record", async () => {
  // Stands still, so that it looks after nothing while its record is dated back; then it is gone.
  room.place.signal("SIGSTOP");
  const back = "interval '5 hours'";
  await room.place.query(
    `update schedules set since = since - ${back}, accounted_until = accounted_until - ${back}, look_at = look_at - ${back}
      where workflow_id = any($1)`,
    [Object.values(hourly)],
  );
  await room.place.query(`update schedule_watch set since = since - ${back}, seen_at = seen_at - ${back}`);
  room.place.signal("SIGCONT");
  await room.whileDead(room.place.emptyTemporal);
  backAt = new Date().toISOString();
  for (const name of Object.keys(POLICIES) as (keyof typeof POLICIES)[]) {
    const ticks = await room.ticksUntil(hourly[name], (found) => found.length >= 5);
    away[name] = ticks;
    const hours = ticks.map(({ nominalAt }) => Date.parse(nominalAt) / HOUR_MS);
    expect(hours.map((hour) => hour - (hours[0] as number))).toEqual([0, 1, 2, 3, 4]);
  }
}, 600_000);

test.each<[keyof typeof POLICIES, string[], string]>([
  ["none", Array(5).fill("missed"), "The service was away when it was due, and catchup is none."],
  [
    "latest",
    ["missed", "missed", "missed", "missed", "started"],
    "The service was away when it was due, and a later one was due before it was back (catchup: latest).",
  ],
  ["queue", Array(5).fill("started"), ""],
  ["skip", ["started", ...Array(4).fill("skipped_overlap")], ""],
  ["allow", Array(5).fill("started"), ""],
  ["cancel", Array(5).fill("started"), ""],
  ["late", ["missed", "missed", "started", "started", "started"], "It was later than max_lateness allows."],
  ["jitter", ["missed", "missed", "missed", "missed", "started"], "It was later than max_lateness allows."],
])("the ticks of that time, with the policies of %s, became what they say", (name, outcomes, reason) => {
  const ticks = away[name];
  expect(ticks.map(({ outcome, source }) => `${outcome} ${source}`)).toEqual(outcomes.map((each) => `${each} repair`));
  expect(ticks[0]?.reason).toBe(reason);
});

test("the executions of that time, with overlap queue, ran one after the other in the order of their times", async () => {
  const rows = await executionsUntil(hourly.queue, (states) => states.every((state) => state === "success"));
  expect(rows).toHaveLength(5);
  rows.slice(1).forEach(({ started_at: startedAt }, index) => {
    expect((startedAt as Date) >= (rows[index]?.finished_at as Date)).toBe(true);
  });
}, 400_000);

test("the executions of that time, with overlap allow, waited for no other; with skip, the first was named", async () => {
  const rows = await executionsUntil(hourly.allow, (states) => states.every((state) => state === "success"));
  expect(rows.map(({ at_once: atOnce }) => atOnce)).toEqual(Array(5).fill(true));
  const [first, ...others] = away.skip;
  const reason = `${first?.executionId} of an earlier tick was still under way.`;
  expect(others.map((tick) => tick.reason)).toEqual(Array(4).fill(reason));
}, 400_000);

test("the executions of that time, with overlap cancel_previous, were cancelled but for the last", async () => {
  const rows = await executionsUntil(
    hourly.cancel,
    (states) => states.slice(0, 4).every((state) => state === "cancelled") && states[4] !== "queued",
  );
  expect(rows.map(({ state }) => state === "cancelled")).toEqual([true, true, true, true, false]);
}, 400_000);

test("the Temporal that lost all it had, has every schedule as it is declared again", async () => {
  const declared = [minutely.workflowId, jittered, `${named}:eu`, `${named}:us`, ...Object.values(hourly)];
  const timetables = await room.readTimetables(declared);
  expect(timetables.map(({ workflowId }) => workflowId)).toEqual(declared.toSorted());
  const pausedOnes = timetables.filter(({ paused }) => paused);
  expect(pausedOnes.map(({ workflowId }) => workflowId)).toEqual([minutely.workflowId]);
  const findNext = (wanted: string): readonly number[] =>
    timetables.find(({ workflowId }) => workflowId === wanted)?.nextAt ?? [];
  expect(new Date(findNext(hourly.latest)[0] ?? 0).getUTCMinutes()).toBe(minute);
  // Lateness may be the machine's; what Temporal is going to do is the schedule's alone.
  const secondsAfter = (wanted: string): number[] => findNext(wanted).map((at) => (at % MINUTE_MS) / 1_000);
  expect(Math.max(...secondsAfter(hourly.latest))).toBe(0);
  expect(Math.max(...secondsAfter(jittered))).toBeGreaterThan(0);
  expect(Math.max(...secondsAfter(jittered))).toBeLessThanOrEqual(25);
}, 600_000);

test("a schedule that is published under another name, ends and keeps its history, and the other goes on", async () => {
  await room.publishTriggers(NAMED.replace("eu:", "europe:"), named);
  const endedAt = new Date().toISOString();
  const before = await room.listTicks(named, "eu");
  await room.ticksUntil(named, (found) => found.some(({ nominalAt }) => nominalAt > endedAt), "europe");
  const after = (await room.listTicks(named, "eu")).filter(({ nominalAt }) => nominalAt > endedAt);
  expect([before.length > 0, after]).toEqual([true, []]);
  const declared = [minutely.workflowId, jittered, `${named}:europe`, `${named}:us`, ...Object.values(hourly)];
  const timetables = await room.readTimetables(declared);
  expect(timetables.map(({ workflowId }) => workflowId)).toEqual(declared.toSorted());
}, 400_000);

test("the Temporal that lost all it had, fires what it has again", async () => {
  await room.ticksUntil(jittered, (found) =>
    found.some(({ nominalAt, source, outcome }) => nominalAt > backAt && source === "clock" && outcome === "started"),
  );
}, 400_000);

test("a schedule with jitter, fires some seconds after its minute, and says of which minute", async () => {
  const ticks = await room.ticksUntil(jittered, (found) =>
    found.some(({ source, lateSeconds }) => source === "clock" && lateSeconds > 2),
  );
  expect(ticks.every(({ nominalAt }) => nominalAt.endsWith(":00Z"))).toBe(true);
}, 400_000);

test("the minutes after a pause, are recorded as paused and start nothing", async () => {
  const ticks = await room.ticksUntil(minutely.workflowId, (found) =>
    found.some(({ outcome }) => outcome === "paused"),
  );
  const after = ticks.filter(({ nominalAt }) => nominalAt > pausedAt);
  expect(after.length).toBeGreaterThan(0);
  expect(after.map(({ outcome, executionId }) => ({ outcome, executionId }))).toEqual(
    after.map(() => ({ outcome: "paused", executionId: null })),
  );
}, 400_000);

test("past ticks that are asked for, run once each, however often they are asked for", async () => {
  const before = await room.listTicks(minutely.workflowId);
  const paused = before.find(({ outcome }) => outcome === "paused") as Tick;
  const to = new Date(Date.parse(paused.nominalAt) + 1_000).toISOString();
  const backfill = () =>
    room.command(["schedules", "backfill", minutely.workflowId, "--from", paused.nominalAt, "--to", to]);
  expect([(await backfill()).code, (await backfill()).code]).toEqual([0, 0]);
  const after = (await room.listTicks(minutely.workflowId)).find(({ nominalAt }) => nominalAt === paused.nominalAt);
  expect(after).toMatchObject({ outcome: "started", source: "backfill" });
  expect(await readExecution(after?.executionId ?? null)).toMatchObject({ status: "success" });
  const counts = await room.place.query(
    `select (select count(*) from executions where trigger = 'schedule') as executions,
            (select count(*) from ticks where execution_id is not null) as ticks`,
  );
  expect(counts[0]?.executions).toEqual(counts[0]?.ticks);
});

test("past ticks of one schedule of several, run once, and the other has none of them", async () => {
  const [first] = await room.listTicks(named, "us");
  const to = Math.floor(Date.parse(first?.nominalAt ?? "") / MINUTE_MS) * MINUTE_MS;
  const times = [to - 2 * MINUTE_MS, to].map((at) => new Date(at).toISOString()) as [string, string];
  const command = ["schedules", "backfill", named, "--schedule", "us", "--from", times[0], "--to", times[1], "--json"];
  expect((await room.command(command)).json()).toMatchObject({ started: 2, left: 0, stopped: null });
  const isOf = ({ source }: Tick): boolean => source === "backfill";
  const [us, eu, europe] = await Promise.all(["us", "eu", "europe"].map((name) => room.listTicks(named, name)));
  expect([us?.filter(isOf).length, eu?.some(isOf), europe?.some(isOf)]).toEqual([2, false, false]);
}, 400_000);

test("a workflow that is deleted, has no schedule any more", async () => {
  const deleted = await room.command(["workflows", "delete", hourly.none]);
  expect([deleted.code, deleted.stderr]).toEqual([0, expect.any(String)]);
  const found = [await room.findSchedule(hourly.none), typeof (await room.findSchedule(hourly.latest))];
  expect(found).toEqual([undefined, "object"]);
  const rows = await room.place.query("select until is not null as ended from schedules where workflow_id = $1", [
    hourly.none,
  ]);
  expect(rows).toEqual([{ ended: true }]);
});
