import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { insertTicks } from "../../db/schedules/ticks.ts";
import { TICK_OUTCOMES } from "../../domain/schedules/ticks.ts";
import { formatSpan, OUTCOME_WORDS } from "../../src/cli/tick-words.ts";
import { findViewerZone, formatClock, formatUtc } from "../../src/cli/wall-clock.ts";
import { createExecutionId } from "../../src/ids.ts";
import type { TestWorkflow } from "../support/builders.ts";
import { anAccount } from "../support/builders.ts";
import { aScheduledWorkflow, aWorkflowWithSchedules } from "../support/schedules.ts";
import { aCliService, type CliResult, type CliService, cli } from "./cli-service.ts";

const HOUR_MS = 3_600_000;
const LAST_HOUR = Math.floor(Date.now() / HOUR_MS);
/** Where the viewer of these tests is: five hours and three quarters ahead, all year. */
const HERE = "Asia/Kathmandu";

let service: CliService;
beforeAll(async () => {
  service = await aCliService();
});
afterAll(() => service?.close());

function hoursAgo(count: number): Date {
  return new Date((LAST_HOUR - count) * HOUR_MS);
}

const write = (at: Date): string => at.toISOString().replace(".000Z", "Z");

function seen(...argv: string[]): Promise<CliResult> {
  return cli(["schedules", ...argv], { env: { TREADLE_DATA_DIR: service.dataDir, TZ: HERE } });
}

test("schedules list, without any, says so", async () => {
  const { code, out } = await seen("list");
  expect([code, out]).toEqual([0, "No workflow has a schedule.\n"]);
});

test("schedules list, on a terminal, tells each in plain words, its next run by three clocks, its last tick and what Temporal does not know", async () => {
  const accountId = await anAccount(service.db, { name: "scheduled" });
  const schedule = { cron: "0 9 * * *", timezone: "America/New_York" };
  const { workflowId } = await aScheduledWorkflow(service.db, { since: hoursAgo(9), accountId, schedule });
  const paused = await aScheduledWorkflow(service.db, {
    since: hoursAgo(9),
    accountId,
    schedule: { ...schedule, enabled: false },
  });
  await queryRows(
    service.db,
    `update schedule_changes set noted_at = now() - interval '1 day' where workflow_id = :workflowId`,
    { workflowId },
  );
  await queryRows(service.db, `delete from schedule_changes where workflow_id <> :workflowId`, { workflowId });
  const executionId = createExecutionId();
  const nominalAt = new Date("2026-05-04T13:00:00Z");
  await insertTicks(service.db, [
    { workflowId, nominalAt, outcome: "started", reason: "", source: "clock", executionId, decidedAt: nominalAt },
  ]);
  const { code, out } = await seen("list", "--account", "scheduled");
  const [first = "", second = ""] = out.split("\n\n");
  expect([code, first.split("\n")]).toEqual([
    0,
    [
      `${workflowId}  a workflow`,
      "  every day at 09:00, America/New_York",
      expect.stringMatching(/^ {2}next {2}\w{3} \d{4}-\d\d-\d\d 09:00 -0[45]:00 America\/New_York$/),
      expect.stringMatching(/^ {8}\w{3} \d{4}-\d\d-\d\d 1[89]:45 \+05:45 here \(Asia\/Kathmandu\)$/),
      expect.stringMatching(/^ {8}\w{3} \d{4}-\d\d-\d\d 1[34]:00 UTC$/),
      `  last  Mon 2026-05-04 09:00 -04:00  started  ${executionId}`,
      "  Temporal does not know the last change yet, for 24 h now.",
    ],
  ]);
  expect(second.trimEnd().split("\n")).toEqual([
    `${paused.workflowId}  a workflow`,
    "  every day at 09:00, America/New_York",
    "  next  paused: enabled is false in config.yaml",
    "  last  nothing yet",
  ]);
  const listed = (await seen("list", "--account", "scheduled", "--json")).json()["schedules"];
  expect(listed).toMatchObject([
    { workflowId, nextRun: { local: expect.stringMatching(/T09:00:00-0[45]:00$/) }, lastTick: { executionId } },
    { workflowId: paused.workflowId, nextRun: null, untoldSeconds: null },
  ]);
});

test("schedules next, with -n, shows so many by three clocks and notes changes of the clock", async () => {
  const schedule = { cron: "30 2 * * 0", timezone: "Europe/Berlin" };
  const { workflowId } = await aScheduledWorkflow(service.db, { since: hoursAgo(1), schedule });
  const { out } = await seen("next", workflowId, "-n", "60");
  const [description, headings = "", ...rows] = out.trimEnd().split("\n");
  expect([description, headings.split(/ {2,}/)]).toEqual([
    "every Sunday at 02:30, Europe/Berlin",
    ["Europe/Berlin", "Here (Asia/Kathmandu)", "UTC"],
  ]);
  expect(rows).toHaveLength(60);
  const clock = String.raw`\w{3} \d{4}-\d\d-\d\d \d\d:\d\d`;
  for (const row of rows) expect(row).toMatch(new RegExp(`^${clock} \\+0[12]:00 +${clock} \\+05:45 +${clock}`));
  expect(rows.filter((row) => row.includes("02:30 comes twice that day"))).not.toEqual([]);
  expect(rows.filter((row) => row.includes("03:00 +02:00") && row.includes("02:30 does not exist"))).not.toEqual([]);
  expect((await seen("next", workflowId, "--count", "3", "--json")).json()["nextRuns"]).toHaveLength(3);
});

async function aTickedWorkflow(): Promise<TestWorkflow> {
  const workflow = await aScheduledWorkflow(service.db, { since: hoursAgo(99) });
  const { workflowId } = workflow;
  const ticks = TICK_OUTCOMES.map((outcome, index) => {
    const nominalAt = hoursAgo(index + 1);
    const isBegun = outcome === "started" || outcome === "refused_credits";
    return {
      workflowId,
      nominalAt,
      outcome,
      source: "clock" as const,
      reason: outcome === "started" ? "" : `because of ${outcome}`,
      executionId: isBegun ? createExecutionId() : null,
      decidedAt: new Date(nominalAt.getTime() + (index + 1) * 1_000),
    };
  });
  await insertTicks(service.db, ticks);
  return workflow;
}

test("schedules ticks, of every outcome, shows a word for each, why and how late, and how to see earlier ones", async () => {
  const { workflowId } = await aTickedWorkflow();
  const all = await seen("ticks", workflowId);
  const lines = all.out.trimEnd().split("\n");
  expect([all.code, all.err, lines.length]).toEqual([0, "", TICK_OUTCOMES.length + 1]);
  for (const [index, outcome] of TICK_OUTCOMES.entries()) {
    expect(lines[index + 1]).toContain(OUTCOME_WORDS[outcome]);
    expect(lines[index + 1]).toContain(`${index + 1}.0 s`);
    if (outcome !== "started") expect(lines[index + 1]).toContain(`because of ${outcome}`);
  }
  const page = await seen("ticks", workflowId, "-n", "2");
  expect(page.out.trimEnd().split("\n")).toHaveLength(3);
  expect(page.err).toBe(`Earlier ones: --before ${write(hoursAgo(2))}\n`);
  const earlier = (await seen("ticks", workflowId, "-n", "2", "--before", write(hoursAgo(2)), "--json")).json();
  expect(earlier["ticks"]).toMatchObject([{ outcome: TICK_OUTCOMES[2] }, { outcome: TICK_OUTCOMES[3] }]);
  const refused = await seen("ticks", workflowId, "--before", "soon");
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("before is not a time")]);
});

test("schedules backfill, first dry, then twice, starts each past tick once and says so", async () => {
  const { workflowId } = await aScheduledWorkflow(service.db, { since: hoursAgo(1) });
  const period = ["--from", write(hoursAgo(4)), "--to", write(hoursAgo(1))];
  const dry = await seen("backfill", workflowId, ...period, "--dry-run");
  expect([dry.code, dry.out.trimEnd().split("\n").at(-1)]).toEqual([0, "3 would be started, 0 were started before."]);
  expect(dry.out.match(/would start/g)).toHaveLength(3);
  const first = await seen("backfill", workflowId, ...period);
  expect([first.code, first.out.trimEnd().split("\n").at(-1)]).toEqual([0, "3 started, 0 were started before."]);
  const again = (await seen("backfill", workflowId, ...period, "--json")).json();
  expect(again).toMatchObject({ started: 0, startedBefore: 3, left: 0, stopped: null });
  const rows = await queryRows(service.db, `select id from executions where workflow_id = :workflowId`, { workflowId });
  expect(rows).toHaveLength(3);
  // How late they are says nothing.
  expect((await seen("ticks", workflowId)).out.match(/ started +- +backfill +ex_/g)).toHaveLength(3);
});

test("schedules backfill, that cannot go on, exits 1 and says how far it came and what to do", async () => {
  const { workflowId } = await aScheduledWorkflow(service.db, {
    since: hoursAgo(1),
    schedule: { overlap: "allow" },
    manifest: { concurrency: { executionsMax: 1, whenFull: "reject" } },
  });
  const { code, out } = await seen("backfill", workflowId, "--from", write(hoursAgo(4)), "--to", write(hoursAgo(1)));
  expect([code, out.trimEnd().split("\n").slice(-3)]).toEqual([
    1,
    [
      "1 started, 0 were started before, 2 not.",
      expect.stringMatching(
        /^Stopped at \w{3} .* \+00:00: As many executions of the workflow were under way as it allows: 1\.$/,
      ),
      expect.stringMatching(/^Wait until .*goes on where it stopped/),
    ],
  ]);
});

test("schedules, with names, are listed each and told apart by --schedule", async () => {
  const schedules = { nightly: { cron: "30 2 * * *" }, hourly: {} };
  const { workflowId, accountId } = await aWorkflowWithSchedules(service.db, { since: hoursAgo(3), schedules });
  await queryRows(service.db, `update accounts set name = 'named' where id = :accountId`, { accountId });
  const { out } = await seen("list", "--account", "named");
  const heads = out.split("\n").filter((line) => line.startsWith(workflowId));
  expect(heads).toEqual(["hourly", "nightly"].map((name) => `${workflowId}  a workflow  ${name}`));
  const next = await seen("next", workflowId, "--schedule", "nightly", "-n", "1");
  expect(next.out).toContain("every day at 02:30, UTC");
  const others = "Choose one of its others with --schedule: hourly, nightly.";
  expect((await seen("next", workflowId)).err).toContain(`declares no schedule. ${others}`);
  const period = ["--from", write(hoursAgo(2)), "--to", write(hoursAgo(0))];
  expect((await seen("backfill", workflowId, ...period)).err).toContain("Choose one of its others: hourly, nightly.");
  expect((await seen("backfill", workflowId, "--schedule", "hourly", ...period)).out).toContain("2 started");
  const count = async (name: string) =>
    ((await seen("ticks", workflowId, "--schedule", name, "--json")).json()["ticks"] as unknown[]).length;
  expect([await count("hourly"), await count("nightly")]).toEqual([2, 0]);
});

test("schedules backfill, without a time, is wrong usage; of no schedule, is refused", async () => {
  expect((await seen("backfill", "wf_0000000000000000", "--from", "2026-01-01")).code).toBe(2);
  const { code, err } = await seen("backfill", "wf_0000000000000000", "--from", "2026-01-01", "--to", "2026-01-02");
  expect([code, err]).toEqual([1, expect.stringContaining("no such workflow")]);
});

test("the viewer's zone, of TZ and of none, is a zone that there is", () => {
  expect(findViewerZone({ env: { TZ: ":America/New_York" } })).toBe("America/New_York");
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  expect([findViewerZone({ env: { TZ: "Nowhere/At_All" } }), findViewerZone({ env: {} })]).toEqual([own, own]);
});

test("clocks and spans, for people, are short", () => {
  expect(formatClock("2026-11-02T08:00:00Z", "Europe/Berlin")).toBe("Mon 2026-11-02 09:00 +01:00");
  expect(formatClock("2026-11-01T23:30:00Z", "Europe/Berlin")).toBe("Mon 2026-11-02 00:30 +01:00");
  expect(formatUtc("2026-11-02T08:00:00Z")).toBe("Mon 2026-11-02 08:00");
  expect([0.412, 45.2, 300, 10_800, 864_000].map(formatSpan)).toEqual(["0.4 s", "45 s", "5 min", "3 h", "10 days"]);
});
