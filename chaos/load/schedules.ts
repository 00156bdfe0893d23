import { createRandom, type Random } from "../random.ts";
import type { Declared } from "../record.ts";

/** A workflow that is started by the clock: what its program takes, and its first schedule. */
export interface ScheduledPlan {
  readonly name: string;
  readonly seconds: number;
  readonly first: Declared;
}

/** What a commit declares; null: no schedule. */
export interface PlannedCommit {
  readonly name: string;
  readonly declared: Declared | null;
}

/** Something that is done to schedules. `at`: when, as a share of the executions asked for. */
export type ScheduleStep = { readonly at: number } & (
  | ({ readonly kind: "commit" } & PlannedCommit)
  /** Commits that are sent together so long before a minute begins that they are made as it does: what is due then may be before or after. */
  | { readonly kind: "moment"; readonly leadMs: number; readonly commits: readonly PlannedCommit[] }
  /** Somebody asks for what was due in so many minutes that are past. */
  | { readonly kind: "backfill"; readonly name: string; readonly minutes: number }
  /** The workflow is deleted, whatever of it is under way. */
  | { readonly kind: "delete"; readonly name: string }
);

export interface SchedulesPlan {
  readonly workflows: readonly ScheduledPlan[];
  /** In the order of their time. */
  readonly steps: readonly ScheduleStep[];
  /** What is committed last, so that nothing is due any more. */
  readonly last: readonly PlannedCommit[];
}

const EVERY_MINUTE = "* * * * *";
/** In zones half an hour away from UTC most of them are due at other minutes than in UTC. */
const OTHER_CRONS = [EVERY_MINUTE, "*/2 * * * *", "1-59/2 * * * *", "*/4,3-59/4 * * * *", "* */2 * * *"];
/** Due so seldom that it is not while somebody looks. */
const SELDOM = "0 0 1 1 *";
/** The last steps come before this share. */
const STEPS_END = 0.85;
/** Of the changes that may come, in these shares. The rest are commits that leave the schedule as it is. */
const SHARES = { pause: 0.3, move: 0.3, remove: 0.25 };
/** One moment and one backfill in any run, and one more for so many changes. */
const CHANGES_PER_EXTRA = 10;
const LEAD_MS_MAX = 400;
/** Turned off and on as a minute begins: one that runs, and one that does not, or the other way round by then. */
const TOGGLED = ["clock skip", "clock paused"];
/** Of these, what was due in so many minutes before is asked for. The programs of the one are over at once, those of the other are not when it is due again. */
const BACKFILLED = [
  { name: "clock queue", minutes: 8 },
  { name: "clock skip", minutes: 3 },
];
const DELETED = "clock allow";

function everyMinute(
  name: string,
  seconds: number,
  policy: Pick<Declared, "timezone" | "overlap" | "catchup"> & Partial<Declared>,
): ScheduledPlan {
  return { name, seconds, first: { enabled: true, cron: EVERY_MINUTE, jitterSeconds: 0, ...policy } };
}

/** All policies; programs that are over at once, within the minute, and after the next tick; zones of all kinds of offsets. A short run takes the first few. */
const WORKFLOWS: readonly ScheduledPlan[] = [
  everyMinute("clock skip", 20, { timezone: "Asia/Kolkata", overlap: "skip", catchup: "latest" }),
  everyMinute("clock queue", 0.1, { timezone: "America/St_Johns", overlap: "queue", catchup: "all" }),
  everyMinute("clock allow", 20, { timezone: "UTC", overlap: "allow", catchup: "none", jitterSeconds: 2 }),
  everyMinute("clock cancel", 20, { timezone: "Europe/Berlin", overlap: "cancel_previous", catchup: "all" }),
  everyMinute("clock paused", 0.1, {
    timezone: "Asia/Kathmandu",
    overlap: "skip",
    catchup: "none",
    enabled: false,
  }),
  everyMinute("clock skip long", 70, { timezone: "Australia/Lord_Howe", overlap: "skip", catchup: "all" }),
  // Two minutes in a row, then three to catch up.
  everyMinute("clock queue long", 70, {
    timezone: "Pacific/Chatham",
    overlap: "queue",
    catchup: "latest",
    cron: "*/5,1-59/5 * * * *",
  }),
  everyMinute("clock allow long", 70, { timezone: "America/New_York", overlap: "allow", catchup: "all" }),
  everyMinute("clock cancel long", 70, { timezone: "Asia/Tokyo", overlap: "cancel_previous", catchup: "latest" }),
  everyMinute("clock jitter", 0.1, { timezone: "UTC", overlap: "allow", catchup: "all", jitterSeconds: 5 }),
];

export const SCHEDULES_MAX = WORKFLOWS.length;

/**
 * The first `count` workflows with a schedule, `changes` commits to them, spread over the run, and what else is done to schedules
 * meanwhile. Depends on these and the seed alone.
 */
export function planSchedules(seed: string, { count, changes }: { count: number; changes: number }): SchedulesPlan {
  const random = createRandom(seed, "schedules");
  const workflows = WORKFLOWS.slice(0, count);
  const current = new Map<string, Declared | null>(workflows.map(({ name, first }) => [name, first]));
  const steps = listSlots(random, workflows.length === 0 ? 0 : changes, workflows).flatMap((slot) =>
    fill(random, slot, { workflows, current }),
  );
  const last = workflows.flatMap(({ name, first }, index) =>
    current.has(name) ? [{ name, declared: lastOf(index, first) }] : [],
  );
  return { workflows, steps, last };
}

type Slot = { readonly at: number } & (
  | { readonly kind: "change" | "moment" | "delete" }
  | { readonly kind: "backfill"; readonly name: string; readonly minutes: number }
);

/** When something of which kind is done, in order. The first moment is the first minute at which anything is due. */
function listSlots(random: Random, changes: number, workflows: readonly ScheduledPlan[]): Slot[] {
  const has = (wanted: string): boolean => workflows.some(({ name }) => name === wanted);
  const spread = (count: number): number[] =>
    Array.from({ length: count }, (_, index) => (STEPS_END * (index + random.next())) / count);
  const extras = Math.floor(changes / CHANGES_PER_EXTRA);
  const asked = BACKFILLED.filter(({ name }) => has(name));
  const slots: Slot[] = [
    ...spread(changes).map((at): Slot => ({ kind: "change", at })),
    ...(TOGGLED.some(has) ? [0, ...spread(extras)] : []).map((at): Slot => ({ kind: "moment", at })),
    ...(asked.length > 0 ? spread(1 + extras) : []).map(
      (at, index): Slot => ({ kind: "backfill", at, ...(asked[index % asked.length] as (typeof BACKFILLED)[number]) }),
    ),
    ...(has(DELETED) ? [{ kind: "delete", at: STEPS_END * random.between(0.5, 1) } as const] : []),
  ];
  return slots.toSorted((one, other) => one.at - other.at);
}

/** What is done there, as schedules are by then; keeps how they are after it. */
function fill(
  random: Random,
  slot: Slot,
  { workflows, current }: { workflows: readonly ScheduledPlan[]; current: Map<string, Declared | null> },
): ScheduleStep[] {
  const { at } = slot;
  const firstOf = (name: string): Declared => workflows.find((each) => each.name === name)?.first as Declared;
  const declare = (name: string, declared: Declared | null): PlannedCommit => {
    current.set(name, declared);
    return { name, declared };
  };
  switch (slot.kind) {
    case "change": {
      const name = random.pick([...current.keys()]);
      return [{ kind: "commit", at, ...declare(name, changeOf(random, current.get(name) ?? null, firstOf(name))) }];
    }
    case "moment": {
      const commits = TOGGLED.filter((name) => current.has(name)).map((name) =>
        declare(name, toggle(current.get(name) ?? null, firstOf(name))),
      );
      return [{ kind: "moment", at, leadMs: random.integer(0, LEAD_MS_MAX), commits }];
    }
    case "backfill": {
      const { name, minutes } = slot;
      const isThere = current.get(name) !== null;
      return [
        ...(isThere ? [] : [{ kind: "commit", at, ...declare(name, firstOf(name)) } as const]),
        { kind: "backfill", at, name, minutes },
      ];
    }
    case "delete":
      current.delete(DELETED);
      return [{ kind: "delete", at, name: DELETED }];
  }
}

function toggle(current: Declared | null, first: Declared): Declared {
  return current === null ? { ...first, enabled: true } : { ...current, enabled: !current.enabled };
}

/** Put back, resumed, paused, moved to other times, removed, or left as it is. */
function changeOf(random: Random, current: Declared | null, first: Declared): Declared | null {
  if (current === null) return { ...first, enabled: true };
  if (!current.enabled) return { ...current, enabled: true };
  const chance = random.next();
  if (chance < SHARES.pause) return { ...current, enabled: false };
  if (chance < SHARES.pause + SHARES.move) {
    return { ...current, cron: random.pick(OTHER_CRONS.filter((cron) => cron !== current.cron)) };
  }
  return chance < SHARES.pause + SHARES.move + SHARES.remove ? null : current;
}

function lastOf(index: number, first: Declared): Declared | null {
  if (index % 3 === 0) return null;
  return index % 3 === 1 ? { ...first, enabled: false } : { ...first, enabled: true, cron: SELDOM };
}
