import type { Db } from "../db/connect.ts";
import { ACCESS_ENDED, listOpenAccess } from "../db/open-access.ts";
import type { Log } from "./log.ts";
import type { Notice } from "./waiters.ts";

/** What expires is announced by nobody: it is looked for this often. */
const LOOK_MS = 60_000;

/** Whatever is open for somebody, until the session or the token that they came with is not good any more. */
export interface OpenAccess {
  /**
   * Calls `end` once when the session or token of that id is not good any more, however that comes to be, also when it was
   * not from the beginning. Answers how to leave: then it is not called.
   */
  follow(accessId: string, end: () => void): Promise<() => void>;
  /** What it has to hear of the database. */
  readonly notices: readonly Notice[];
  close(): void;
}

export function createOpenAccess({ db, log }: { db: Db; log: Log }): OpenAccess {
  const followed = new Map<string, Set<() => void>>();

  function end(accessId: string): void {
    const ends = followed.get(accessId);
    followed.delete(accessId);
    for (const each of ends ?? []) each();
  }

  async function look(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const open = new Set(await listOpenAccess(db, ids));
    for (const id of ids) if (!open.has(id)) end(id);
  }

  const lookAtAll = (): void =>
    void look([...followed.keys()]).catch((error: unknown) =>
      log.warn({ event: "fault", error }, "Who may go on following could not be asked yet."),
    );
  const timer = setInterval(lookAtAll, LOOK_MS).unref();

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
        await look([accessId]);
      } catch (error) {
        leave();
        throw error;
      }
      return leave;
    },
    notices: [{ channel: ACCESS_ENDED, receive: end, missed: lookAtAll }],
    close: () => clearInterval(timer),
  };
}
