import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { listMissing } from "./checker/ticks.ts";
import { openDatabase } from "./database.ts";
import type { Disk } from "./disk.ts";
import { type Places, readUnderWay, type UnderWay } from "./evidence.ts";
import { countUnsent, hastenNotices } from "./notices.ts";
import { list } from "./processes.ts";
import type { Service } from "./service.ts";

/** So long after the last time that fewer were open: what hostile tenants have in the queue takes minutes. */
const ENDED_MAX_MS = 240_000;
const SWEPT_MAX_MS = 40_000;
/** Temporal has seconds to fire a tick, the service some more to find out that it did not; kills and pauses delay both. */
const RECORDED_MAX_MS = 150_000;
/** A try that was killed is noticed after 30 s, and the next of several comes minutes later. */
const TOLD_MAX_MS = 240_000;
const LOOK_MS = 500;
/** Older than anything that the service leaves to time: what a dead request left in storage is removed after that. */
const AGED_MS = 26 * 3_600_000;

/**
 * Until nothing is under way: every execution has ended, what the service leaves to time has had its time, and each tick up to
 * `committedAt`, after which nothing is due any more, has its record. Then notices have reached the places that answer.
 */
export async function settleDown(
  { service, disk, places, say }: { service: Service; disk: Disk; places: Places; say: (line: string) => void },
  committedAt: number,
): Promise<void> {
  const dataDir = places.database;
  await disk.accept();
  await disk.empty();
  await service.ready();
  say(`The load is over; ${(await readUnderWay(dataDir)).open} executions are open.`);
  await waitForEnds(dataDir);
  await hastenNotices(dataDir);
  if (places.storage !== undefined) await ageStorage(places.storage);
  await ageUploads(dataDir, AGED_MS);
  await service.stop({ last: false });
  while (service.isReady()) await sleep(50);
  await service.ready();
  await waitUntil(dataDir, SWEPT_MAX_MS, ({ uploads }) => uploads === 0);
  const isRecorded = ({ schedules, ticks, untold }: UnderWay): boolean =>
    untold === 0 && listMissing(schedules, ticks, committedAt).length === 0;
  await waitUntil(dataDir, RECORDED_MAX_MS, isRecorded);
  // A tick whose record came late may have begun something.
  await waitForEnds(dataDir);
  const told = Date.now() + TOLD_MAX_MS;
  do {
    await hastenNotices(dataDir);
    await sleep(LOOK_MS);
  } while ((await countUnsent(dataDir)) > 0 && Date.now() < told);
  const swept = Date.now() + SWEPT_MAX_MS;
  const isSpooled = () => places.dataDirs.some((dir) => list(join(dir, "spool")).length > 0);
  while (isSpooled() && Date.now() < swept) await sleep(LOOK_MS);
}

/** Waits until nothing is open, as long as that becomes less. */
async function waitForEnds(dataDir: string): Promise<void> {
  let [least, deadline] = [Number.POSITIVE_INFINITY, Date.now() + ENDED_MAX_MS];
  while (least > 0 && Date.now() < deadline) {
    const { open } = await readUnderWay(dataDir).catch(() => ({ open: least }));
    if (open < least) [least, deadline] = [open, Date.now() + ENDED_MAX_MS];
    await sleep(LOOK_MS);
  }
}

/** Asks again until the condition holds, or until the time is over: what is wrong then is for the checker to say. */
async function waitUntil(dataDir: string, patienceMs: number, holds: (found: UnderWay) => boolean): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (Date.now() < deadline) {
    const found = await readUnderWay(dataDir).catch(() => undefined);
    if (found !== undefined && holds(found)) return;
    await sleep(LOOK_MS);
  }
}

/** Makes everything in storage look as if it had been there since yesterday, but what the service is moving there meanwhile. */
async function ageStorage(folder: string): Promise<void> {
  const then = new Date(Date.now() - AGED_MS);
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    await utimes(join(entry.parentPath, entry.name), then, then).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  }
}

/** Makes requests that left files in storage, and no execution, look as old as that. */
async function ageUploads(dataDir: string, ms: number): Promise<void> {
  const client = await openDatabase(dataDir);
  try {
    await client.query("update uploads set begun_at = begun_at - make_interval(secs => $1)", [ms / 1_000]);
  } finally {
    await client.end();
  }
}
