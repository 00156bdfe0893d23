import { expect, test } from "@jest/globals";
import { parseCron } from "../../../domain/cron/cron.ts";
import type { Catchup } from "../../../domain/manifest/manifest.ts";
import {
  checkTick,
  findFirstDue,
  findNextLook,
  type Look,
  ON_TIME_SECONDS,
  planTicks,
  type TickPolicy,
} from "../../../domain/schedules/tick-plan.ts";

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

/** A schedule that nobody has looked after until now, unless told otherwise. */
function policyOf(policy: Partial<TickPolicy> & { catchup: Catchup }): TickPolicy {
  return {
    cron: HOURLY,
    timezone: "UTC",
    enabled: true,
    maxLatenessSeconds: 7_200,
    jitterSeconds: 0,
    spreadSeconds: 0,
    until: null,
    successorDueAt: null,
    ...policy,
  };
}

function lookAt(now: Date, watchedSince = now): Look {
  return { now, watchedSince };
}

function plan(given: {
  since: string;
  now: string;
  catchup: Catchup;
  maxLatenessSeconds?: number;
  recorded?: readonly string[];
  enabled?: boolean;
  until?: string;
  successorDueAt?: string;
  jitterSeconds?: number;
  watchedSince?: string;
  countMax?: number;
  cron?: string;
}) {
  const { since, now, catchup, maxLatenessSeconds = 7_200, recorded = [], countMax = 100 } = given;
  const { ticks, accountedUntil } = planTicks({
    policy: policyOf({
      catchup,
      maxLatenessSeconds,
      cron: given.cron === undefined ? HOURLY : cronOf(given.cron),
      enabled: given.enabled ?? true,
      jitterSeconds: given.jitterSeconds ?? 0,
      until: given.until === undefined ? null : at(given.until),
      successorDueAt: given.successorDueAt === undefined ? null : at(given.successorDueAt),
    }),
    since: at(since),
    look: lookAt(at(now), at(given.watchedSince ?? now)),
    recorded: new Set(recorded.map((time) => at(time).getTime())),
    countMax,
  });
  const lines = ticks.map(({ at: tick, result }) => {
    const what = result.kind === "missed" ? result.reason : result.kind;
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
  expect(plan({ since: "08:30:00", now: "09:00:05", catchup: "all" })).toMatchObject({ lines: [], until: "08:59:59" });
  const next = plan({ since: "08:59:59", now: "09:00:06", catchup: "all" });
  expect(next.lines).toEqual(["09:00 start"]);
  expect(next.ticks[0]?.lateSeconds).toBe(6);
});

test("planTicks, asked again from where it was accounted, neither repeats nor leaves out", () => {
  const whole = plan({ since: "00:00:00", now: "12:34:00", catchup: "all", maxLatenessSeconds: 86_400 }).lines;
  let since = new Date(at("00:00:00"));
  const lines: string[] = [];
  for (let round = 0; round < 20; round += 1) {
    const step = planTicks({
      policy: policyOf({ catchup: "all", maxLatenessSeconds: 86_400 }),
      since,
      look: lookAt(at("12:34:00")),
      recorded: new Set<number>(),
      countMax: 5,
    });
    lines.push(...step.ticks.map((tick) => `${tick.at.toISOString().slice(11, 16)} ${tick.result.kind}`));
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

test.each(CATCHUPS)("planTicks, catchup %s of a paused schedule, calls everything paused", (catchup) => {
  const { lines } = plan({ since: "07:30:00", now: "10:40:00", catchup, enabled: false });
  expect(lines).toEqual(["08:00 paused", "09:00 paused", "10:00 paused"]);
});

test("planTicks, of a declaration that holds no longer, plans its ticks to the end and none after", () => {
  const { lines, until } = plan({ since: "07:30:00", until: "09:00:00", now: "12:40:00", catchup: "all" });
  expect({ lines, until }).toEqual({ lines: ["08:00 too_late", "09:00 too_late"], until: "09:00:00" });
});

test.each<[string, { successorDueAt?: string }, string]>([
  ["nothing declared after that", {}, "10:00 start"],
  ["a time after that which is still to come", { successorDueAt: "12:41:00" }, "10:00 start"],
  ["a time after that which has come", { successorDueAt: "12:40:00" }, "10:00 superseded"],
])(
  "planTicks, catchup latest of a declaration that holds no longer and %s, takes its own last tick for the latest unless another came",
  (_, given, last) => {
    const { lines } = plan({
      since: "07:30:00",
      until: "10:30:00",
      now: "12:40:00",
      catchup: "latest",
      maxLatenessSeconds: 86_400,
      ...given,
    });
    expect(lines).toEqual(["08:00 superseded", "09:00 superseded", last]);
  },
);

test("checkTick, catchup latest of a declaration that ends later than now, counts what is due until now", () => {
  const policy = policyOf({ catchup: "latest", until: at("12:00:00") });
  expect(checkTick(policy, at("09:00:00"), lookAt(at("09:59:00")))).toEqual({ kind: "start" });
  expect(checkTick(policy, at("09:00:00"), lookAt(at("10:01:00")))).toMatchObject({ reason: "superseded" });
});

test("findFirstDue, of several declarations, is the first tick of one that was enabled, in its own time", () => {
  const declare = (since: string, until: string | null, given: { enabled?: boolean; cron?: string } = {}) => ({
    enabled: true,
    cron: "0 * * * *",
    timezone: "UTC",
    ...given,
    since: at(since),
    until: until === null ? null : at(until),
  });
  const short = declare("08:10:00", "08:40:00");
  const paused = declare("08:40:00", "10:10:00", { enabled: false });
  const last = declare("10:10:00", null, { cron: "30 * * * *" });
  expect(findFirstDue([])).toBeNull();
  expect(findFirstDue([short, paused])).toBeNull();
  expect(findFirstDue([last, paused, short])).toEqual(at("10:30:00"));
});

test.each(CATCHUPS)(
  "planTicks, catchup %s and a service that was there all the time, starts what is not too late",
  (catchup) => {
    const { lines } = plan({
      since: "07:30:00",
      now: "10:40:00",
      watchedSince: "08:30:00",
      catchup,
      maxLatenessSeconds: 10_000,
    });
    const before = { none: "catchup_none", latest: "superseded", all: "start" }[catchup];
    expect(lines).toEqual([`08:00 ${before}`, "09:00 start", "10:00 start"]);
  },
);

test("planTicks, with jitter, leaves a tick to Temporal for longer and takes it for that much less late", () => {
  const given = { since: "08:30:00", catchup: "none", jitterSeconds: 600, maxLatenessSeconds: 60 } as const;
  expect(plan({ ...given, now: "09:10:05" }).lines).toEqual([]);
  expect(plan({ ...given, now: "09:10:06" }).lines).toEqual(["09:00 start"]);
  expect(plan({ ...given, now: "09:11:01" }).lines).toEqual(["09:00 too_late"]);
  expect(checkTick(policyOf(given), at("09:00:00"), lookAt(at("09:11:00")))).toEqual({ kind: "start" });
});

test("findNextLook, of a schedule that goes on, is once its next tick is nobody else's to fire", () => {
  const look = findNextLook(policyOf({ catchup: "all", jitterSeconds: 30 }), {
    accountedUntil: at("09:00:00"),
    until: null,
  });
  expect(look?.toISOString()).toBe("2026-05-04T10:00:36.000Z");
});

test("findNextLook, of a declaration without another tick, is never", () => {
  const given = { accountedUntil: at("09:00:00"), until: at("09:59:00") };
  expect(findNextLook(policyOf({ catchup: "all" }), given)).toBeNull();
  expect(findNextLook(policyOf({ catchup: "all" }), { ...given, until: at("10:00:00") })).not.toBeNull();
});

test("planTicks, over a gap of the clock, plans its one tick", () => {
  const { ticks } = planTicks({
    policy: policyOf({ catchup: "all", cron: cronOf("*/30 2 * * *"), timezone: "Europe/Berlin" }),
    since: new Date("2026-03-28T12:00:00Z"),
    look: lookAt(new Date("2026-03-29T02:00:00Z")),
    recorded: new Set(),
  });
  expect(ticks.map((tick) => tick.at.toISOString())).toEqual(["2026-03-29T01:00:00.000Z"]);
});

const LATENESS = [0, 1, ON_TIME_SECONDS, ON_TIME_SECONDS + 1, 299, 300, 301, 3_601];

test.each(CATCHUPS)("checkTick, catchup %s at every lateness, with and without a later tick, is as told", (catchup) => {
  for (const late of LATENESS) {
    for (const hasLater of [false, true]) {
      const tick = at("09:00:00");
      const now = new Date(tick.getTime() + late * 1_000);
      const cron = cronOf(hasLater ? "* * * * *" : "0 9 * * *");
      const result = checkTick(policyOf({ cron, catchup, maxLatenessSeconds: 300 }), tick, lookAt(now));
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
      expect([late, hasLater, result.kind === "missed" ? result.reason : result.kind]).toEqual([
        late,
        hasLater,
        expected,
      ]);
    }
  }
});

test("checkTick, a lateness bound below the time that counts as on time, holds", () => {
  const policy = policyOf({ catchup: "all", maxLatenessSeconds: 10 });
  expect(checkTick(policy, at("09:00:00"), lookAt(at("09:00:10")))).toEqual({ kind: "start" });
  expect(checkTick(policy, at("09:00:00"), lookAt(at("09:00:11")))).toEqual({ kind: "missed", reason: "too_late" });
});
