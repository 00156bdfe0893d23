import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { release } from "../../../db/ledger/credits.ts";
import { insertTicks } from "../../../db/schedules/ticks.ts";
import type { ExecutionId, WorkflowId } from "../../../domain/ids.ts";
import { anAccount, aWorkflow, type TestWorkflow } from "../../support/builders.ts";
import type { Answer } from "../../support/https.ts";
import { aScheduledWorkflow, commitSchedule } from "../../support/schedules.ts";
import { anOperatorService, type OperatorService } from "./operator-service.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

let service: OperatorService;

beforeAll(async () => {
  service = await anOperatorService();
});

afterAll(() => service?.close());

/** Of all these tests, also of those that run while an hour ends. */
const LAST_HOUR = Math.floor(Date.now() / HOUR_MS);

/** The beginning of the hour so many hours ago. */
function hoursAgo(count: number): Date {
  return new Date((LAST_HOUR - count) * HOUR_MS);
}

const write = (at: Date): string => at.toISOString().replace(".000Z", "Z");
const at = (workflowId: string, path: string): string => `/api/workflows/${workflowId}/${path}`;

async function addTick(workflowId: WorkflowId, nominalAt: Date, given: { outcome?: "missed" | "paused" } = {}) {
  const outcome = given.outcome ?? "missed";
  const decidedAt = new Date(nominalAt.getTime() + 90_500);
  await insertTicks(service.db, [
    { workflowId, nominalAt, outcome, reason: "It was so.", source: "repair", executionId: null, decidedAt },
  ]);
}

/** Temporal has been told of everything, or was to be so long ago. */
async function tell(workflowId: WorkflowId, waitingSeconds: number | null): Promise<void> {
  await queryRows(
    service.db,
    waitingSeconds === null
      ? `delete from schedule_changes where workflow_id = :workflowId`
      : `update schedule_changes set noted_at = now() - make_interval(secs => ${waitingSeconds}) where workflow_id = :workflowId`,
    { workflowId },
  );
}

test("GET /schedules, of an account, shows each in plain words with its next run, why it is paused, its last tick and whether Temporal knows", async () => {
  const accountId = await anAccount(service.db);
  const since = hoursAgo(3);
  const schedule = { cron: "30 6 * * 1-5", timezone: "Europe/Berlin" };
  const before = await aScheduledWorkflow(service.db, { since, accountId, schedule: { cron: "0 5 * * *" } });
  const enabled = await commitSchedule(service.db, before, { schedule, at: hoursAgo(2) });
  const paused = await aScheduledWorkflow(service.db, { since, accountId, schedule: { ...schedule, enabled: false } });
  await aWorkflow(service.db, { accountId });
  await tell(enabled.workflowId, 90);
  // Less long ago than a moment, however long this takes.
  await tell(paused.workflowId, -600);
  await addTick(paused.workflowId, hoursAgo(2));
  await addTick(paused.workflowId, hoursAgo(1), { outcome: "paused" });

  const mine = service.as(await service.tokenOf(accountId));
  const common = { ...schedule, name: "a workflow", description: "every weekday at 06:30, Europe/Berlin" };
  const answer = (await mine("/api/schedules")).json() as { schedules: { untoldSeconds: number | null }[] };
  expect(answer).toEqual({
    schedules: [
      {
        ...common,
        workflowId: enabled.workflowId,
        nextRun: { utc: expect.stringMatching(/T0[45]:30:00Z$/), local: expect.stringMatching(/T06:30:00\+0[12]:00$/) },
        paused: false,
        reason: null,
        untoldSeconds: expect.any(Number),
        lastTick: null,
      },
      {
        ...common,
        workflowId: paused.workflowId,
        nextRun: null,
        paused: true,
        reason: "enabled is false in config.yaml",
        untoldSeconds: null,
        lastTick: expect.objectContaining({ nominalAt: write(hoursAgo(1)), outcome: "paused", reason: "It was so." }),
      },
    ],
  });
  expect(answer.schedules[0]?.untoldSeconds).toBeGreaterThanOrEqual(90);
  await tell(enabled.workflowId, null);
  expect((await mine("/api/schedules")).json()).toMatchObject({ schedules: [{ untoldSeconds: null }, {}] });
});

test("DELETE /workflows, of one with a schedule, ends the schedule and has Temporal told", async () => {
  const { workflowId } = await aScheduledWorkflow(service.db, { since: hoursAgo(3) });
  await tell(workflowId, null);
  const before = Date.now();
  expect((await service.operator(`/api/workflows/${workflowId}`, { method: "DELETE" })).status).toBe(200);
  const rows = await queryRows<{ until: Date; look_at: Date; changes: number }>(
    service.db,
    `select s.until, s.look_at, (select count(*)::int from schedule_changes c where c.workflow_id = s.workflow_id) as changes
       from schedules s where s.workflow_id = :workflowId`,
    { workflowId },
  );
  expect(rows).toEqual([{ until: expect.any(Date), look_at: rows[0]?.until, changes: 1 }]);
  expect(Number(rows[0]?.until)).toBeGreaterThanOrEqual(before);
  const { schedules } = (await service.operator("/api/schedules")).json() as { schedules: object[] };
  expect(schedules).not.toContainEqual(expect.objectContaining({ workflowId }));
});

test("GET /schedule?count, over a change of the clock, notes what it does; none while it is paused", async () => {
  const since = hoursAgo(3);
  const schedule = { cron: "30 2 * * *", timezone: "Europe/Berlin" };
  const { workflowId } = await aScheduledWorkflow(service.db, { since, schedule });
  // More than a year of them: the clock is put forward and put back meanwhile.
  const sundays = await aScheduledWorkflow(service.db, { since, schedule: { ...schedule, cron: "30 2 * * 0" } });
  const next = (await service.operator(at(workflowId, "schedule?count=100"))).json() as {
    nextRuns: { utc: string; local: string }[];
  };
  expect(next).toMatchObject({
    schedule: { timezone: "Europe/Berlin", description: "every day at 02:30, Europe/Berlin" },
    paused: false,
  });
  expect(next.nextRuns).toHaveLength(100);
  expect(next.nextRuns.every((run) => Date.parse(run.utc) === Date.parse(run.local))).toBe(true);
  const { nextRuns } = (await service.operator(at(sundays.workflowId, "schedule?count=60"))).json() as {
    nextRuns: { local: string; note?: string }[];
  };
  const notes = nextRuns.flatMap(({ note }) => note ?? []);
  expect(notes).toContain("02:30 does not exist: the clock is put forward from 02:00 to 03:00");
  expect(notes).toContain("02:30 comes twice that day: it runs once, the first time");

  const paused = await aScheduledWorkflow(service.db, { since, schedule: { enabled: false } });
  expect((await service.operator(at(paused.workflowId, "schedule"))).json()).toMatchObject({
    paused: true,
    nextRuns: [],
  });
  const plain = await aWorkflow(service.db);
  expect((await service.operator(at(plain.workflowId, "schedule"))).json()).toMatchObject({ schedule: null });
  expect((await service.operator(at(workflowId, "schedule?count=101"))).status).toBe(400);
});

test("GET /ticks, page by page, shows every tick once, the newest first, by the schedule's own clock", async () => {
  const schedule = { timezone: "Asia/Kathmandu" };
  const { workflowId } = await aScheduledWorkflow(service.db, { since: hoursAgo(9), schedule });
  for (const count of [5, 4, 3, 2, 1]) await addTick(workflowId, hoursAgo(count));
  type Page = { ticks: { nominalAt: string }[]; nextBefore: string | null };
  const shown: string[] = [];
  let before: string | null = "";
  for (let page = 0; before !== null && page < 9; page += 1) {
    const query: string = before === "" ? "" : `&before=${before}`;
    const answer = (await service.operator(at(workflowId, `ticks?limit=2${query}`))).json() as unknown as Page;
    shown.push(...answer.ticks.map(({ nominalAt }) => nominalAt));
    before = answer.nextBefore;
  }
  expect(shown).toEqual([1, 2, 3, 4, 5].map((count) => write(hoursAgo(count))));
  const [newest] = ((await service.operator(at(workflowId, "ticks"))).json() as unknown as Page).ticks;
  expect(newest).toEqual({
    nominalAt: write(hoursAgo(1)),
    local: expect.stringMatching(/:45:00\+05:45$/),
    outcome: "missed",
    reason: "It was so.",
    lateSeconds: 90.5,
    executionId: null,
    source: "repair",
    decidedAt: expect.any(String),
    status: null,
  });
  for (const query of ["before=soon", "limit=0", "limit=201"])
    expect((await service.operator(at(workflowId, `ticks?${query}`))).status).toBe(400);
});

function backfill(workflow: Pick<TestWorkflow, "workflowId">, json: object): Promise<Answer> {
  return service.operator(at(workflow.workflowId, "backfills"), { method: "POST", json });
}

function executionsOf({ workflowId }: Pick<TestWorkflow, "workflowId">): Promise<{ id: ExecutionId }[]> {
  return queryRows(service.db, `select id from executions where workflow_id = :workflowId order by created_at`, {
    workflowId,
  });
}

test("backfill, as a dry run, shows which ticks would run and starts none", async () => {
  const workflow = await aScheduledWorkflow(service.db, { since: hoursAgo(1) });
  const period = { from: write(hoursAgo(3)), to: write(hoursAgo(1)) };
  const answer = await backfill(workflow, { ...period, dryRun: true });
  expect([answer.status, answer.json()]).toEqual([
    200,
    {
      workflowId: workflow.workflowId,
      timezone: "UTC",
      ...period,
      dryRun: true,
      started: 0,
      startedBefore: 0,
      left: 2,
      stopped: null,
      ticks: [3, 2].map((count) => ({
        nominalAt: write(hoursAgo(count)),
        local: write(hoursAgo(count)).replace("Z", "+00:00"),
        state: "due",
        executionId: null,
      })),
    },
  ]);
  expect(await executionsOf(workflow)).toEqual([]);
});

test("backfill, repeated and by several at once, starts each tick once, also those that were missed", async () => {
  const workflow = await aScheduledWorkflow(service.db, { since: hoursAgo(4) });
  await addTick(workflow.workflowId, hoursAgo(3));
  const period = { from: write(hoursAgo(5)), to: write(hoursAgo(0)) };
  const first = await Promise.all([1, 2, 3].map(() => backfill(workflow, period)));
  const counted = first.map((answer) => answer.json() as { started: number; startedBefore: number; left: number });
  expect(counted.map(({ started, startedBefore, left }) => [started + startedBefore, left])).toEqual(
    Array(3).fill([5, 0]),
  );
  expect(counted.reduce((sum, { started }) => sum + started, 0)).toBe(5);
  const executions = await executionsOf(workflow);
  expect(executions).toHaveLength(5);
  const again = (await backfill(workflow, period)).json() as { ticks: { executionId: ExecutionId }[] };
  expect(again).toMatchObject({ started: 0, startedBefore: 5, left: 0, stopped: null });
  expect(again.ticks.map(({ executionId }) => executionId).sort()).toEqual(executions.map(({ id }) => id).sort());
});

test("backfill, at the first tick that cannot begin, stops, says what to do, and goes on from there when it is repeated", async () => {
  const workflow = await aScheduledWorkflow(service.db, {
    since: hoursAgo(1),
    schedule: { overlap: "allow" },
    manifest: { concurrency: { executionsMax: 2, whenFull: "reject" } },
  });
  const period = { from: write(hoursAgo(6)), to: write(hoursAgo(1)) };
  expect((await backfill(workflow, period)).json()).toMatchObject({
    started: 2,
    left: 3,
    stopped: {
      nominalAt: write(hoursAgo(4)),
      outcome: "refused_concurrency",
      reason: expect.stringContaining("allows: 2"),
      whatToDo: expect.stringContaining("goes on where it stopped"),
    },
    ticks: ["started", "started", "due", "due", "due"].map((state) => ({ state })),
  });
  for (const { id } of await executionsOf(workflow))
    await release(service.db, { executionId: id, status: "cancelled", failure: null, message: "" });
  expect((await backfill(workflow, period)).json()).toMatchObject({
    started: 2,
    startedBefore: 2,
    left: 1,
    stopped: { nominalAt: write(hoursAgo(2)) },
  });
  expect(await executionsOf(workflow)).toHaveLength(4);
});

test("backfill, with too few credits, starts nothing and says to give some", async () => {
  const accountId = await anAccount(service.db, { microCredits: 5n });
  const workflow = await aScheduledWorkflow(service.db, { since: hoursAgo(1), accountId });
  expect((await backfill(workflow, { from: write(hoursAgo(3)), to: write(hoursAgo(1)) })).json()).toMatchObject({
    started: 0,
    left: 2,
    stopped: { outcome: "refused_credits", whatToDo: expect.stringContaining("Give the account credits") },
  });
  expect(await executionsOf(workflow)).toEqual([]);
});

test.each<[string, () => object, string]>([
  ["the future", () => ({ from: write(hoursAgo(1)), to: write(hoursAgo(-3)) }), "to: is in the future"],
  ["no time between", () => ({ from: write(hoursAgo(1)), to: write(hoursAgo(1)) }), "from: is not before to"],
  [
    "more than is on record",
    () => ({ from: write(hoursAgo(24 * 366)), to: write(hoursAgo(1)) }),
    "from: is more than 365 days ago",
  ],
  [
    "a thousand ticks and more",
    () => ({ from: write(hoursAgo(1_100)), to: write(hoursAgo(1)) }),
    "to: is too far away: one backfill takes 1000 ticks",
  ],
  ["no time", () => ({ from: "yesterday", to: write(hoursAgo(1)) }), "from: is not a time"],
  ["a field that is none", () => ({ from: write(hoursAgo(2)), to: write(hoursAgo(1)), force: true }), "force"],
])("backfill, of %s, is refused and starts nothing", async (_what, period, message) => {
  const workflow = await aScheduledWorkflow(service.db, { since: hoursAgo(1) });
  const answer = await backfill(workflow, period());
  expect([answer.status, answer.json()["message"]]).toEqual([400, expect.stringContaining(message)]);
  expect(await executionsOf(workflow)).toEqual([]);
});

test("backfill, split as its refusal says, takes a thousand ticks and none twice", async () => {
  const workflow = await aScheduledWorkflow(service.db, { since: hoursAgo(1) });
  const from = write(hoursAgo(1_003));
  const refused = (await backfill(workflow, { from, to: write(hoursAgo(0)) })).json()["message"] as string;
  const [, end = ""] = /Go to (\S+) first/.exec(refused) ?? [];
  const parts = [
    { from, to: end },
    { from: end, to: write(hoursAgo(0)) },
  ];
  const left = await Promise.all(
    parts.map(async (part) => (await backfill(workflow, { ...part, dryRun: true })).json()["left"]),
  );
  expect(left).toEqual([1_000, 3]);
});

test("backfill, by local times, takes them by the schedule's own clock", async () => {
  const timezone = "Asia/Kathmandu";
  const workflow = await aScheduledWorkflow(service.db, {
    since: hoursAgo(1),
    schedule: { timezone, cron: "*/15 * * * *" },
  });
  const local = (instant: Date): string => new Date(instant.getTime() + 345 * MINUTE_MS).toISOString().slice(0, 16);
  const period = { from: local(hoursAgo(2)), to: local(hoursAgo(1)), dryRun: true };
  expect((await backfill(workflow, period)).json()).toMatchObject({
    from: write(hoursAgo(2)),
    to: write(hoursAgo(1)),
    left: 4,
  });
});
