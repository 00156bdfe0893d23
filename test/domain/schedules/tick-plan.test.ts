import { expect, test } from "@jest/globals";
import { parseCron } from "../../../domain/manifest/cron.ts";
import type { Catchup } from "../../../domain/manifest/manifest.ts";
import { judgeTick, ON_TIME_SECONDS, planTicks } from "../../../domain/schedules/tick-plan.ts";

const CATCHUPS: readonly Catchup[] = ["none", "latest", "all"];
const HOURLY = cronOf("0 * * * *");

function cronOf(text: string) {
  const result = parseCron(text);
  if (!result.ok) throw new Error(text);
  return result.cron;
}

function at(time: string): Date {
  return new Date(`2026-05-04T${time}Z`);
}

function plan(given: {
  since: string;
  now: string;
  catchup: Catchup;
  maxLatenessSeconds?: number;
  recorded?: readonly string[];
  pauses?: readonly [string, string | null][];
  countMax?: number;
  cron?: string;
}) {
  const { since, now, catchup, maxLatenessSeconds = 7_200, recorded = [], pauses = [], countMax = 100 } = given;
  const { ticks, accountedUntil } = planTicks({
    cron: given.cron === undefined ? HOURLY : cronOf(given.cron),
    timezone: "UTC",
    policy: { catchup, maxLatenessSeconds },
    since: at(since),
    now: at(now),
    recorded: new Set(recorded.map((time) => at(time).getTime())),
    pauses: pauses.map(([from, to]) => ({ from: at(from), to: to === null ? null : at(to) })),
    countMax,
  });
  const lines = ticks.map(({ at: tick, verdict }) => {
    const what = verdict.kind === "missed" ? verdict.reason : verdict.kind;
    return `${tick.toISOString().slice(11, 16)} ${what}`;
  });
  return { lines, until: accountedUntil.toISOString().slice(11, 19), ticks };
}

test.each<[Catchup, string[]]>([
  ["none", ["08:00 too_late", "09:00 too_late", "10:00 catchup_none", "11:00 catchup_none", "12:00 catchup_none"]],
  ["latest", ["08:00 too_late", "09:00 too_late", "10:00 superseded", "11:00 superseded", "12:00 start"]],
  ["all", ["08:00 too_late", "09:00 too_late", "10:00 start", "11:00 start", "12:00 start"]],
])("planTicks, after five hours away with catchup %s, gives each tick its end", (catchup, expected) => {
  expect(plan({ since: "07:30:00", now: "12:02:00", catchup, maxLatenessSeconds: 7_320 }).lines).toEqual(expected);
});

test.each(CATCHUPS)("planTicks, catchup %s and everything recorded, plans nothing", (catchup) => {
  const recorded = ["08:00:00", "09:00:00", "10:00:00"];
  expect(plan({ since: "07:30:00", now: "10:30:00", catchup, recorded }).lines).toEqual([]);
});

test.each<[Catchup, string]>([
  ["none", "09:00 catchup_none"],
  ["latest", "09:00 superseded"],
  ["all", "09:00 start"],
])("planTicks, catchup %s and a hole before a recorded tick, ends only the hole", (catchup, expected) => {
  const recorded = ["08:00:00", "10:00:00"];
  expect(plan({ since: "07:30:00", now: "10:30:00", catchup, recorded }).lines).toEqual([expected]);
});

test("planTicks, a tick that is on time, leaves it to Temporal and is accounted until before it", () => {
  expect(plan({ since: "08:30:00", now: "09:01:00", catchup: "all" })).toMatchObject({ lines: [], until: "08:59:59" });
  const next = plan({ since: "08:59:59", now: "09:01:01", catchup: "all" });
  expect(next.lines).toEqual(["09:00 start"]);
  expect(next.ticks[0]?.lateSeconds).toBe(61);
});

test("planTicks, asked again from where it was accounted, neither repeats nor leaves out", () => {
  const whole = plan({ since: "00:00:00", now: "12:34:00", catchup: "all", maxLatenessSeconds: 86_400 }).lines;
  let since = new Date(at("00:00:00"));
  const lines: string[] = [];
  for (let round = 0; round < 20; round += 1) {
    const step = planTicks({
      ...{ cron: HOURLY, timezone: "UTC", policy: { catchup: "all", maxLatenessSeconds: 86_400 } },
      ...{ since, now: at("12:34:00"), recorded: new Set<number>(), countMax: 5 },
    });
    lines.push(...step.ticks.map((tick) => `${tick.at.toISOString().slice(11, 16)} ${tick.verdict.kind}`));
    expect(step.ticks.length).toBeLessThanOrEqual(5);
    since = step.accountedUntil;
  }
  expect(lines).toEqual(whole);
});

test("planTicks, with recorded ticks among the most it looks at, still goes on", () => {
  const recorded = ["08:00:00", "09:00:00"];
  expect(plan({ since: "07:30:00", now: "11:30:00", catchup: "all", recorded, countMax: 2 })).toMatchObject({
    lines: [],
    until: "09:00:00",
  });
});

test("planTicks, since and now the same or the wrong way round, plans nothing and does not go back", () => {
  expect(plan({ since: "09:30:00", now: "09:30:00", catchup: "all" })).toMatchObject({ lines: [], until: "09:30:00" });
  expect(plan({ since: "09:30:00", now: "08:30:00", catchup: "all" })).toMatchObject({ lines: [], until: "09:30:00" });
});

test.each(CATCHUPS)(
  "planTicks, catchup %s with a pause, calls what fell into it paused and judges the rest",
  (catchup) => {
    const pauses: [string, string | null][] = [
      ["08:00:00", "09:00:00"],
      ["09:30:00", "10:30:00"],
    ];
    const { lines } = plan({ since: "07:30:00", now: "10:40:00", catchup, pauses });
    expect(lines.filter((line) => line.endsWith("paused"))).toEqual(["08:00 paused", "10:00 paused"]);
    expect(lines).toHaveLength(3);
  },
);

test("planTicks, still paused, calls everything since paused", () => {
  const { lines } = plan({ since: "07:30:00", now: "10:40:00", catchup: "all", pauses: [["08:30:00", null]] });
  expect(lines).toEqual(["08:00 too_late", "09:00 paused", "10:00 paused"]);
});

test("planTicks, over a gap of the clock, plans its one tick", () => {
  const { ticks } = planTicks({
    cron: cronOf("*/30 2 * * *"),
    timezone: "Europe/Berlin",
    policy: { catchup: "all", maxLatenessSeconds: 7_200 },
    since: new Date("2026-03-28T12:00:00Z"),
    now: new Date("2026-03-29T02:00:00Z"),
    recorded: new Set(),
  });
  expect(ticks.map((tick) => tick.at.toISOString())).toEqual(["2026-03-29T01:00:00.000Z"]);
});

const LATENESS = [0, 1, ON_TIME_SECONDS, ON_TIME_SECONDS + 1, 299, 300, 301, 3_601];

test.each(CATCHUPS)("judgeTick, catchup %s at every lateness, with and without a later tick, is as told", (catchup) => {
  for (const late of LATENESS) {
    for (const hasLater of [false, true]) {
      const tick = at("09:00:00");
      const now = new Date(tick.getTime() + late * 1_000);
      const cron = cronOf(hasLater ? "* * * * *" : "0 9 * * *");
      const verdict = judgeTick({ cron, timezone: "UTC", policy: { catchup, maxLatenessSeconds: 300 } }, tick, now);
      const expected =
        late > 300
          ? "too_late"
          : late <= ON_TIME_SECONDS || catchup === "all"
            ? "start"
            : catchup === "none"
              ? "catchup_none"
              : hasLater
                ? "superseded"
                : "start";
      expect([late, hasLater, verdict.kind === "missed" ? verdict.reason : verdict.kind]).toEqual([
        late,
        hasLater,
        expected,
      ]);
    }
  }
});

test("judgeTick, a lateness bound below the time that counts as on time, holds", () => {
  const schedule = { cron: HOURLY, timezone: "UTC", policy: { catchup: "all", maxLatenessSeconds: 10 } as const };
  expect(judgeTick(schedule, at("09:00:00"), at("09:00:10"))).toEqual({ kind: "start" });
  expect(judgeTick(schedule, at("09:00:00"), at("09:00:11"))).toEqual({ kind: "missed", reason: "too_late" });
});
