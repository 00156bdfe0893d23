import type pg from "pg";
import type { Db } from "../db/connect.ts";
import { EXECUTION_ENDED } from "../db/credits.ts";
import { listEnded } from "../db/executions.ts";
import type { ExecutionId } from "../domain/ids.ts";

/** How often waiting calls look at the record itself: the net under a notification that was lost. */
const LOOK_MS = 5_000;
const RECONNECT_MS = 500;

/** Calls that wait for the end of an execution, woken by this process, by a notification, or by the record. */
export interface Waiters {
  /** True when the execution ended within the time; false when the time was over first. */
  wait(executionId: ExecutionId, timeoutMs: number): Promise<boolean>;
  resolve(executionId: ExecutionId): void;
  count(): number;
  close(): Promise<void>;
}

/** Listens to the database on a session of its own, made anew when it breaks. */
export function createWaiters(deps: {
  db: Db;
  openSession: () => pg.Client;
  /** Another channel the same session listens to. */
  onNotice: { channel: string; receive: (payload: string) => void };
  onFault: (error: unknown) => void;
}): Waiters {
  const waiting = new Map<ExecutionId, Set<() => void>>();
  let session: pg.Client | undefined;
  let closed = false;
  let retry: NodeJS.Timeout | undefined;

  function resolve(executionId: ExecutionId): void {
    const calls = waiting.get(executionId);
    waiting.delete(executionId);
    for (const call of calls ?? []) call();
  }

  async function lookAtRecord(): Promise<void> {
    if (waiting.size === 0) return;
    for (const id of await listEnded(deps.db, [...waiting.keys()])) resolve(id);
  }

  async function listen(): Promise<void> {
    const client = deps.openSession();
    client.on("error", deps.onFault);
    client.on("end", () => {
      if (!closed) retry = setTimeout(() => void listen().catch(deps.onFault), RECONNECT_MS).unref();
    });
    client.on("notification", ({ channel, payload = "" }) => {
      if (channel === EXECUTION_ENDED) resolve(payload as ExecutionId);
      else deps.onNotice.receive(payload);
    });
    await client.connect();
    // Closed while it connected: nobody else would end it.
    if (closed) return client.end();
    session = client;
    await client.query(`listen ${client.escapeIdentifier(EXECUTION_ENDED)}`);
    await client.query(`listen ${client.escapeIdentifier(deps.onNotice.channel)}`);
    // What was announced while nobody listened is found in the record.
    await lookAtRecord();
  }

  void listen().catch((error: unknown) => {
    deps.onFault(error);
  });
  const looking = setInterval(() => void lookAtRecord().catch(deps.onFault), LOOK_MS).unref();

  return {
    wait(executionId, timeoutMs) {
      return new Promise((done) => {
        const calls = waiting.get(executionId) ?? new Set();
        waiting.set(executionId, calls);
        const timer = setTimeout(() => {
          calls.delete(wake);
          if (calls.size === 0 && waiting.get(executionId) === calls) waiting.delete(executionId);
          done(false);
        }, timeoutMs);
        const wake = (): void => {
          clearTimeout(timer);
          done(true);
        };
        calls.add(wake);
      });
    },
    resolve,
    count: () => [...waiting.values()].reduce((sum, calls) => sum + calls.size, 0),
    async close() {
      closed = true;
      clearInterval(looking);
      clearTimeout(retry);
      await session?.end().catch(deps.onFault);
    },
  };
}
