import { createRandom, type Random } from "../random.ts";
import type { Declared } from "../record.ts";

/** A workflow that is started by the clock: what its program takes, and its first schedule. */
export interface ScheduledPlan {
  readonly name: string;
  readonly seconds: number;
  readonly first: Declared;
}

/** A commit that changes a schedule. `at`: when, as a share of the executions asked for. Null: it has none. */
export interface ScheduleChange {
  readonly at: number;
  readonly name: string;
  readonly declared: Declared | null;
}

export interface SchedulesPlan {
  readonly workflows: readonly ScheduledPlan[];
  readonly changes: readonly ScheduleChange[];
  /** What is committed last, so that nothing is due any more. */
  readonly last: readonly Omit<ScheduleChange, "at">[];
}

const EVERY_MINUTE = "* * * * *";
const OTHER_CRONS = [EVERY_MINUTE, "*/2 * * * *", "1-59/2 * * * *", "*/3,1-59/5 * * * *"];
/** Due so seldom that it is not while somebody looks. */
const SELDOM = "0 0 1 1 *";
/** The last changes come before this share. */
const CHANGES_END = 0.85;
/** Of the changes that may come, in these shares. The rest are commits that leave the schedule as it is. */
const SHARES = { pause: 0.3, move: 0.3, remove: 0.25 };

function everyMinute(
  name: string,
  seconds: number,
  policy: Pick<Declared, "overlap" | "catchup"> & Partial<Declared>,
): ScheduledPlan {
  return { name, seconds, first: { enabled: true, cron: EVERY_MINUTE, jitterSeconds: 0, ...policy } };
}

/** All policies; programs that are over at once, within the minute, and after the next tick. A short run takes the first few. */
const WORKFLOWS: readonly ScheduledPlan[] = [
  everyMinute("clock skip", 20, { overlap: "skip", catchup: "latest" }),
  everyMinute("clock queue", 0.1, { overlap: "queue", catchup: "all" }),
  everyMinute("clock allow", 20, { overlap: "allow", catchup: "none", jitterSeconds: 2 }),
  everyMinute("clock cancel", 20, { overlap: "cancel_previous", catchup: "all" }),
  everyMinute("clock paused", 0.1, { overlap: "skip", catchup: "none", enabled: false }),
  everyMinute("clock skip long", 70, { overlap: "skip", catchup: "all" }),
  // Two minutes in a row, then three to catch up.
  everyMinute("clock queue long", 70, { overlap: "queue", catchup: "latest", cron: "*/5,1-59/5 * * * *" }),
  everyMinute("clock allow long", 70, { overlap: "allow", catchup: "all" }),
  everyMinute("clock cancel long", 70, { overlap: "cancel_previous", catchup: "latest" }),
  everyMinute("clock jitter", 0.1, { overlap: "allow", catchup: "all", jitterSeconds: 5 }),
];

export const SCHEDULES_MAX = WORKFLOWS.length;

/** The first `count` workflows with a schedule, and `changes` commits to them, spread over the run. Depends on these and the seed alone. */
export function planSchedules(seed: string, { count, changes }: { count: number; changes: number }): SchedulesPlan {
  const random = createRandom(seed, "schedules");
  const workflows = WORKFLOWS.slice(0, count);
  const current = new Map<string, Declared | null>(workflows.map(({ name, first }) => [name, first]));
  const planned = Array.from({ length: workflows.length === 0 ? 0 : changes }, (_, index): ScheduleChange => {
    const { name, first } = random.pick(workflows);
    const declared = changeOf(random, current.get(name) ?? null, first);
    current.set(name, declared);
    return { at: (CHANGES_END * (index + random.next())) / changes, name, declared };
  });
  const last = workflows.map(({ name, first }, index) => ({ name, declared: lastOf(index, first) }));
  return { workflows, changes: planned, last };
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
