import { ACCESS_ENDED, listOpenAccess } from "../../db/accounts/open-access.ts";
import type { Db } from "../../db/connect.ts";
import type { Subscription } from "../../db/subscription.ts";
import { repeat } from "../../system/repeating.ts";
import type { Log } from "../log.ts";

/** How often the record is polled for what has expired, which sends no notification. */
const POLL_MS = 60_000;

/** Everything that is open for a user, until the session or token they came with ends. */
export interface OpenAccess {
  /**
   * Calls `end` once when the session or token of that id ends for any reason, also when it was not good from the
   * beginning. Returns how to leave: then it is not called.
   */
  follow(accessId: string, end: () => void): Promise<() => void>;
  /** The notifications of the database that it needs. */
  readonly subscriptions: readonly Subscription[];
  close(): Promise<void>;
}

export function createOpenAccess({ db, log }: { db: Db; log: Log }): OpenAccess {
  const followed = new Map<string, Set<() => void>>();

  function end(accessId: string): void {
    const ends = followed.get(accessId);
    followed.delete(accessId);
    for (const each of ends ?? []) each();
  }

  async function poll(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const open = new Set(await listOpenAccess(db, ids));
    for (const id of ids) if (!open.has(id)) end(id);
  }

  const pollAll = (): Promise<void> => poll([...followed.keys()]);
  const onError = (error: unknown): void =>
    log.warn({ event: "fault", error }, "Who may go on following could not be asked yet.");
  const polling = repeat(pollAll, { everyMs: POLL_MS, first: "later", onError });

  return {
    async follow(accessId, endOne) {
      const ends = followed.get(accessId) ?? new Set();
      followed.set(accessId, ends.add(endOne));
      const leave = (): void => {
        ends.delete(endOne);
        if (ends.size === 0 && followed.get(accessId) === ends) followed.delete(accessId);
      };
      try {
        // It may have ended between the question who calls and now.
        await poll([accessId]);
      } catch (error) {
        leave();
        throw error;
      }
      return leave;
    },
    subscriptions: [{ channel: ACCESS_ENDED, onNotify: end, onReconnect: () => void pollAll().catch(onError) }],
    close: polling.close,
  };
}
