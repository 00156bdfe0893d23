import { setTimeout as sleep } from "node:timers/promises";
import type { Declared } from "../record.ts";
import type { Progress } from "./clients.ts";
import type { Committer } from "./committer.ts";
import type { ScheduleStep, SchedulesPlan } from "./schedules.ts";

const MINUTE_MS = 60_000;
const LOOK_MS = 100;
const AGAIN_MS = 500;
/** After the first ticks were due, so long is waited for one that has started something: a record may take 75 seconds. */
const STARTED_MAX_MS = 150_000;
/** The last commits, after which nothing is due, come at this share of the run. */
const LAST_AT = 0.9;

export interface ScheduleRun {
  readonly executions: number;
  readonly progress: Progress;
  readonly isLate: () => boolean;
  /** Whether a tick has started something. */
  readonly hasStarted: () => Promise<boolean>;
  readonly say: (step: string) => void;
}

type Wait = (isTime: () => boolean) => Promise<void>;

/**
 * Changes schedules as planned, one step after the other: `begin` commits the first, `run` takes all steps and, when a tick has started
 * something at least, makes the last commits.
 */
export function createScheduleDriver(committer: Committer, plan: SchedulesPlan) {
  let begunAt = 0;
  return {
    async begin(): Promise<void> {
      for (const { name, first } of plan.workflows) await committer.commit({ name, declared: first });
      begunAt = Date.now();
    },
    async run(load: ScheduleRun): Promise<void> {
      const wait: Wait = async (isTime) => {
        while (!isTime() && !load.isLate()) await sleep(LOOK_MS);
      };
      const hasCome = (share: number): boolean => load.progress.accepted.size >= share * load.executions;
      for (const step of plan.steps) {
        await wait(() => hasCome(step.at));
        if (load.isLate()) break;
        load.say(describeStep(step));
        await takeStep(committer, step, wait);
      }
      await wait(() => hasCome(LAST_AT));
      const dueAt = (Math.floor(begunAt / MINUTE_MS) + 1) * MINUTE_MS;
      if (plan.workflows.length > 0) await wait(() => Date.now() > dueAt);
      while (plan.workflows.length > 0 && Date.now() < dueAt + STARTED_MAX_MS && !load.isLate()) {
        if (await load.hasStarted()) break;
        await sleep(AGAIN_MS);
      }
      for (const each of plan.last) await committer.commit(each);
    },
  };
}

async function takeStep(committer: Committer, step: ScheduleStep, wait: Wait): Promise<void> {
  switch (step.kind) {
    case "commit":
      return committer.commit(step);
    case "moment": {
      const at = (Math.floor((Date.now() + step.leadMs) / MINUTE_MS) + 1) * MINUTE_MS - step.leadMs;
      await wait(() => Date.now() >= at);
      await Promise.all(step.commits.map((each) => committer.commit(each)));
      return;
    }
    case "backfill":
      return committer.backfill(step.name, step.minutes);
    case "delete":
      return committer.remove(step.name);
  }
}

function describeStep(step: ScheduleStep): string {
  switch (step.kind) {
    case "commit":
      return `commit ${step.name}: ${describe(step.declared)}`;
    case "moment":
      return `as the next minute begins: ${step.commits.map(({ name, declared }) => `${name}: ${describe(declared)}`).join("; ")}`;
    case "backfill":
      return `backfill ${step.name}: ${step.minutes} minutes`;
    case "delete":
      return `delete ${step.name}`;
  }
}

function describe(declared: Declared | null): string {
  return declared === null
    ? "no schedule"
    : `${declared.cron} ${declared.timezone}${declared.enabled ? "" : ", paused"}`;
}
