import type pg from "pg";
import type { Db } from "../db/connect.ts";
import { EXECUTION_ENDED } from "../db/credits.ts";
import { listEnded } from "../db/executions.ts";
import type { ExecutionId } from "../domain/ids.ts";

/** How often waiting calls look at the record itself: the net under a notification that was lost. */
const LOOK_MS = 5_000;
const RECONNECT_MS = 500;

/** What is done with the payload of a notification. */
export interface Notice {
  readonly channel: string;
  readonly receive: (payload: string) => void;
  /** Called when this begins to be heard, at first and after each interruption: what was announced before may have been missed. */
  readonly missed?: () => void;
}

/** Calls that wait for the end of an execution, woken by this process, by a notification, or by the record. */
export interface Waiters {
  /** True when the execution ended within the time; false when the time was over, or the caller gone, first. */
  wait(executionId: ExecutionId, timeoutMs: number, gone?: AbortSignal): Promise<boolean>;
  resolve(executionId: ExecutionId): void;
  count(): number;
  /** Lets go of all calls, as if their time were over, and of those that come from then on. */
  letGo(): void;
  close(): Promise<void>;
}

/** Listens to the database on a session of its own, made anew when it breaks. */
export function createWaiters(deps: {
  db: Db;
  openSession: () => pg.Client;
  /** Other channels the same session listens to. */
  notices: readonly Notice[];
  onFault: (error: unknown) => void;
}): Waiters {
  const waits = createWaits();
  let session: pg.Client | undefined;
  let closed = false;
  let retry: NodeJS.Timeout | undefined;

  async function lookAtRecord(): Promise<void> {
    const ids = waits.listIds();
    if (ids.length === 0) return;
    for (const id of await listEnded(deps.db, ids)) waits.resolve(id);
  }

  async function listen(): Promise<void> {
    const client = deps.openSession();
    client.on("error", deps.onFault);
    client.on("end", () => {
      if (!closed) retry = setTimeout(() => void listen().catch(deps.onFault), RECONNECT_MS).unref();
    });
    client.on("notification", ({ channel, payload = "" }) => {
      if (channel === EXECUTION_ENDED) waits.resolve(payload as ExecutionId);
      for (const notice of deps.notices) if (notice.channel === channel) notice.receive(payload);
    });
    await client.connect();
    // Closed while it connected: nobody else would end it.
    if (closed) return client.end();
    session = client;
    for (const channel of new Set([EXECUTION_ENDED, ...deps.notices.map((notice) => notice.channel)]))
      await client.query(`listen ${client.escapeIdentifier(channel)}`);
    for (const notice of deps.notices) notice.missed?.();
    // What was announced while nobody listened is found in the record.
    await lookAtRecord();
  }

  void listen().catch((error: unknown) => {
    deps.onFault(error);
  });
  const looking = setInterval(() => void lookAtRecord().catch(deps.onFault), LOOK_MS).unref();

  return {
    wait: waits.wait,
    resolve: waits.resolve,
    count: waits.count,
    letGo: waits.letGo,
    async close() {
      closed = true;
      clearInterval(looking);
      clearTimeout(retry);
      await session?.end().catch(deps.onFault);
    },
  };
}

/** The calls of this process that wait, by execution. */
function createWaits(): Omit<Waiters, "close"> & { listIds(): ExecutionId[] } {
  const waiting = new Map<ExecutionId, Set<(ended: boolean) => void>>();
  let hasLetGo = false;
  return {
    wait(executionId, timeoutMs, gone) {
      if (hasLetGo) return Promise.resolve(false);
      return new Promise((done) => {
        const calls = waiting.get(executionId) ?? new Set();
        waiting.set(executionId, calls);
        const stop = (ended: boolean): void => {
          clearTimeout(timer);
          gone?.removeEventListener("abort", giveUp);
          done(ended);
        };
        const giveUp = (): void => {
          calls.delete(stop);
          if (calls.size === 0 && waiting.get(executionId) === calls) waiting.delete(executionId);
          stop(false);
        };
        const timer = setTimeout(giveUp, timeoutMs);
        calls.add(stop);
        if (gone?.aborted === true) giveUp();
        else gone?.addEventListener("abort", giveUp, { once: true });
      });
    },
    resolve(executionId) {
      const calls = waiting.get(executionId);
      waiting.delete(executionId);
      for (const call of calls ?? []) call(true);
    },
    letGo() {
      hasLetGo = true;
      for (const calls of waiting.values()) for (const call of calls) call(false);
      waiting.clear();
    },
    count: () => [...waiting.values()].reduce((sum, calls) => sum + calls.size, 0),
    listIds: () => [...waiting.keys()],
  };
}
