import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";

/** Lists of Temporal's may be behind what was changed by some seconds. */
export const LISTED_MAX_MS = 60_000;
export const LOOK_MS = 500;

/** A schedule as Temporal has it: when it is going to fire next, Unix milliseconds, as told at `askedAt`. */
export interface Timetable {
  readonly workflowId: string;
  readonly paused: boolean;
  readonly nextAt: readonly number[];
  readonly askedAt: number;
}

/**
 * Asks the service's own Temporal, through its pages and with the operator's token, for all schedules it has: again while it does
 * not list those that are `declared`, and no other, for a minute at most. `dataDir` is of a service that runs.
 */
export async function readTimetables(dataDir: string, declared: readonly string[]): Promise<Timetable[]> {
  const pages = await openPages(dataDir);
  try {
    const deadline = Date.now() + LISTED_MAX_MS;
    let listed = await listIds(pages.read);
    while (listed.join() !== declared.toSorted().join() && Date.now() < deadline) {
      await sleep(LOOK_MS);
      listed = await listIds(pages.read);
    }
    return await Promise.all(
      listed.map(async (workflowId) => {
        const { schedule, info } = await pages.read<Described>(`/${encodeURIComponent(workflowId)}`);
        const nextAt = (info.futureActionTimes ?? []).map((time) => Date.parse(time));
        return { workflowId, paused: schedule.state?.paused === true, nextAt, askedAt: Date.now() };
      }),
    );
  } finally {
    await pages.close();
  }
}

/** Of the file by which a service says that it is up. */
interface Ready {
  readonly temporalUiUrl: string;
  readonly caFile: string;
}

type Read = <T>(path: string) => Promise<T>;

interface Described {
  readonly schedule: { readonly state?: { readonly paused?: boolean } };
  readonly info: { readonly futureActionTimes?: readonly string[] };
}

interface Listed {
  readonly schedules?: readonly { readonly scheduleId: string }[];
  readonly nextPageToken?: string;
}

/** What Temporal's pages ask for schedules with, below their path. */
async function openPages(dataDir: string): Promise<{ read: Read; close: () => Promise<void> }> {
  const { temporalUiUrl, caFile } = JSON.parse(await readFile(join(dataDir, "ready.json"), "utf8")) as Ready;
  const token = (await readFile(join(dataDir, "keys/operator-token"), "utf8")).trim();
  const agent = new Agent({ connect: { ca: await readFile(caFile, "utf8") } });
  const read: Read = async (path) => {
    const url = `${temporalUiUrl}/api/v1/namespaces/treadle/schedules${path}`;
    const answer = await request(url, { dispatcher: agent, headers: { authorization: `Bearer ${token}` } });
    const body = await answer.body.json();
    if (answer.statusCode !== 200) throw new Error(`Temporal answered ${answer.statusCode}: ${JSON.stringify(body)}`);
    return body as never;
  };
  return { read, close: () => agent.close() };
}

async function listIds(read: Read): Promise<string[]> {
  const ids: string[] = [];
  let token = "";
  do {
    const page = await read<Listed>(`?maximumPageSize=1000&nextPageToken=${encodeURIComponent(token)}`);
    ids.push(...(page.schedules ?? []).map(({ scheduleId }) => scheduleId));
    token = page.nextPageToken ?? "";
  } while (token !== "");
  return ids.sort();
}
