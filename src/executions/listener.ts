import type pg from "pg";
import type { Db } from "../../db/connect.ts";
import { listEnded } from "../../db/executions/executions.ts";
import { EXECUTION_ENDED } from "../../db/ledger/credits.ts";
import type { Subscription } from "../../db/subscription.ts";
import type { ExecutionResult } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { repeat } from "../../system/repeating.ts";

/** How often the record is polled for waiting calls: a notification may be lost. */
const POLL_MS = 5_000;
const RECONNECT_MS = 500;

/** Wakes calls that wait for the end of an execution: by this process, by a notification, or by the record. */
export interface Listener {
  /**
   * Resolves when the execution ended within the time: to its result, or to true where that is in the record alone. Resolves to
   * false when the time was over, or the caller gone, first.
   */
  wait(executionId: ExecutionId, timeoutMs: number, gone?: AbortSignal): Promise<ExecutionResult | boolean>;
  /** Wakes the calls that wait for an execution. */
  resolve(executionId: ExecutionId, result?: ExecutionResult): void;
  /** Returns how many calls wait. */
  count(): number;
  /** Releases all calls, as if their time were over, and later ones at once. */
  release(): void;
  close(): Promise<void>;
}

/** Listens to the database on a session of its own. It connects again when that breaks. */
export function startListener(deps: {
  db: Db;
  openSession: () => pg.Client;
  /** Other channels the same session listens to. */
  subscriptions: readonly Subscription[];
  /** Whether this process ends the execution at this moment. Then it wakes those who wait, and has the result for them. */
  isEndingHere?: (executionId: ExecutionId) => boolean;
  onError: (error: unknown) => void;
}): Listener {
  const waits = createWaits();
  let session: pg.Client | undefined;
  let closed = false;
  let retry: NodeJS.Timeout | undefined;

  async function pollRecord(): Promise<void> {
    const ids = waits.listIds();
    if (ids.length === 0) return;
    for (const id of await listEnded(deps.db, ids)) waits.resolve(id);
  }

  async function listen(): Promise<void> {
    const client = deps.openSession();
    client.on("error", deps.onError);
    client.on("end", () => {
      if (!closed) retry = setTimeout(() => void listen().catch(deps.onError), RECONNECT_MS).unref();
    });
    client.on("notification", ({ channel, payload = "" }) => {
      if (channel === EXECUTION_ENDED && deps.isEndingHere?.(payload as ExecutionId) !== true)
        waits.resolve(payload as ExecutionId);
      for (const subscription of deps.subscriptions)
        if (subscription.channel === channel) subscription.onNotify(payload);
    });
    await client.connect();
    // Closed while it connected: nobody else would end it.
    if (closed) return client.end();
    session = client;
    for (const channel of new Set([EXECUTION_ENDED, ...deps.subscriptions.map((subscription) => subscription.channel)]))
      await client.query(`listen ${client.escapeIdentifier(channel)}`);
    for (const subscription of deps.subscriptions) subscription.onReconnect?.();
    // What was announced while nobody listened is found in the record.
    await pollRecord();
  }

  void listen().catch((error: unknown) => {
    deps.onError(error);
  });
  const polling = repeat(pollRecord, { everyMs: POLL_MS, first: "later", onError: deps.onError });

  return {
    wait: waits.wait,
    resolve: waits.resolve,
    count: waits.count,
    release: waits.release,
    async close() {
      closed = true;
      clearTimeout(retry);
      await polling.close();
      await session?.end().catch(deps.onError);
    },
  };
}

/** The calls of this process that wait, by execution. */
function createWaits(): Omit<Listener, "close"> & { listIds(): ExecutionId[] } {
  const waiting = new Map<ExecutionId, Set<(ended: ExecutionResult | boolean) => void>>();
  let isReleased = false;
  return {
    wait(executionId, timeoutMs, gone) {
      if (isReleased) return Promise.resolve(false);
      return new Promise((done) => {
        const calls = waiting.get(executionId) ?? new Set();
        waiting.set(executionId, calls);
        const stop = (ended: ExecutionResult | boolean): void => {
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
    resolve(executionId, result) {
      const calls = waiting.get(executionId);
      waiting.delete(executionId);
      for (const call of calls ?? []) call(result ?? true);
    },
    release() {
      isReleased = true;
      for (const calls of waiting.values()) for (const call of calls) call(false);
      waiting.clear();
    },
    count: () => [...waiting.values()].reduce((sum, calls) => sum + calls.size, 0),
    listIds: () => [...waiting.keys()],
  };
}
