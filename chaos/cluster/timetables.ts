import { setTimeout as sleep } from "node:timers/promises";
import { Client, Connection, type ConnectionOptions } from "@temporalio/client";
import { LISTED_MAX_MS, LOOK_MS, type Timetable } from "../timetables.ts";

/** As `readTimetables`, of a namespace of a Temporal server that is asked by a connection of its own. */
export async function askTimetables(
  server: ConnectionOptions,
  namespace: string,
  declared: readonly string[],
): Promise<Timetable[]> {
  const connection = await Connection.connect(server);
  try {
    const { schedule } = new Client({ connection, namespace });
    const list = async (): Promise<string[]> => {
      const ids: string[] = [];
      for await (const { scheduleId } of schedule.list()) ids.push(scheduleId);
      return ids.sort();
    };
    const deadline = Date.now() + LISTED_MAX_MS;
    let listed = await list();
    while (listed.join() !== declared.toSorted().join() && Date.now() < deadline) {
      await sleep(LOOK_MS);
      listed = await list();
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
