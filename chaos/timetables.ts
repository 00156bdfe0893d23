import { setTimeout as sleep } from "node:timers/promises";
import { Client, Connection } from "@temporalio/client";
import type { Process } from "./processes.ts";

/** Lists of Temporal's may be behind what was changed by some seconds. */
const LISTED_MAX_MS = 60_000;
const LOOK_MS = 500;

/** A schedule as Temporal has it: when it is going to fire next, Unix milliseconds, as told at `askedAt`. */
export interface Timetable {
  readonly workflowId: string;
  readonly paused: boolean;
  readonly nextAt: readonly number[];
  readonly askedAt: number;
}

/**
 * Asks the service's own Temporal, found by its process, for all schedules it has: again while it does not list those that are
 * `declared`, and no other, for a minute at most.
 */
export async function readTimetables(temporal: Process | undefined, declared: readonly string[]): Promise<Timetable[]> {
  const argument = (name: string): string => temporal?.command[temporal.command.indexOf(name) + 1] ?? "";
  const connection = await Connection.connect({ address: `127.0.0.1:${argument("--port")}` });
  try {
    const { schedule } = new Client({ connection, namespace: argument("--namespace") });
    const deadline = Date.now() + LISTED_MAX_MS;
    let listed = await listIds(schedule);
    while (listed.join() !== declared.toSorted().join() && Date.now() < deadline) {
      await sleep(LOOK_MS);
      listed = await listIds(schedule);
    }
    return await Promise.all(
      listed.map(async (workflowId) => {
        const { state, info } = await schedule.getHandle(workflowId).describe();
        const nextAt = info.nextActionTimes.map((time) => time.getTime());
        return { workflowId, paused: state.paused, nextAt, askedAt: Date.now() };
      }),
    );
  } finally {
    await connection.close();
  }
}

async function listIds(schedule: Client["schedule"]): Promise<string[]> {
  const ids: string[] = [];
  for await (const { scheduleId } of schedule.list()) ids.push(scheduleId);
  return ids.sort();
}
