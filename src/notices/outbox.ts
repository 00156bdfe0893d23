import type { Db } from "../../db/connect.ts";
import {
  listDueNotices,
  markNoticesStarted,
  NOTICE_WRITTEN,
  restartLostNotices,
  writeSlowNotices,
} from "../../db/notices/notices.ts";
import type { Subscription } from "../../db/subscription.ts";
import { forEachAtOnce } from "../../system/at-once.ts";
import { type Repeating, repeat } from "../../system/repeating.ts";
import type { Log } from "../log.ts";
import type { StartDelivery } from "../temporal/notices.ts";

/** How often it is looked for what no announcement told of: notices that are due later, runs that take long. */
const LOOK_MS = 10_000;
const BATCH = 100;
const STARTS_AT_ONCE = 10;
/** Tries are an hour apart at most: what nobody has tried for longer, Temporal does not know any more. */
const LOST_SECONDS = 2 * 3_600;
/** Every so manieth look is one for lost notices: once a minute. */
const LOOKS_FOR_LOST = 6;

/** Hands notices to Temporal. Any number of processes may do so: of two starts of one notice, the second finds the first. */
export function createNoticeOutbox({ db, log }: { db: Db; log: Log }): {
  readonly subscription: Subscription;
  open(start: StartDelivery): Repeating;
} {
  let look: () => void = () => undefined;
  let looks = 0;
  return {
    subscription: { channel: NOTICE_WRITTEN, onNotify: () => look(), onReconnect: () => look() },
    open(start) {
      const repeating = repeat(
        async () => {
          await writeSlowNotices(db);
          if (looks++ % LOOKS_FOR_LOST === 0) await restartLostNotices(db, LOST_SECONDS);
          return startDue(db, start);
        },
        {
          everyMs: LOOK_MS,
          onError: (error) => log.warn({ event: "fault", error }, "Notices could not be handed to Temporal yet."),
        },
      );
      // An announcement that comes while it looks may be of a row that this look has missed.
      look = () => void repeating.now().then(() => repeating.now());
      return repeating;
    },
  };
}

/** Starts what is due. Returns whether there may be more. */
async function startDue(db: Db, start: StartDelivery): Promise<boolean> {
  const due = await listDueNotices(db, BATCH);
  const started: string[] = [];
  try {
    await forEachAtOnce(due, STARTS_AT_ONCE, async (id) => {
      await start(id);
      started.push(id);
    });
  } finally {
    if (started.length > 0) await markNoticesStarted(db, started);
  }
  return due.length === BATCH;
}
