import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "@temporalio/client";
import { type TemporalEntry, toConnection } from "./temporal-door.ts";

/** Keyword attributes by which the Temporal UI, and we, find executions. */
export const SEARCH_ATTRIBUTES = ["TreadleWorkflow", "TreadleCommit", "TreadleTrigger", "TreadleAccount"] as const;

/** How long Temporal shows closed executions; the development server's own choice is one day. */
const RETENTION_DAYS = 30;
const CONNECT_TIMEOUT_MS = 1_000;
const POLL_MS = 50;
const KEYWORD = 2; // temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
const ALREADY_EXISTS = 6; // of gRPC
const SECONDS_PER_DAY = 86_400;

/**
 * Waits until the Temporal behind `entry` answers for `namespace`, then makes that namespace ours. Closed executions
 * stay 30 days, and the search attributes exist also in data that an earlier version made. Rejects on abort.
 */
export async function prepareNamespace(options: {
  entry: TemporalEntry;
  namespace: string;
  signal: AbortSignal;
}): Promise<void> {
  const connection = await connectWhenReady(options);
  try {
    const { namespace } = options;
    const config = { workflowExecutionRetentionTtl: { seconds: RETENTION_DAYS * SECONDS_PER_DAY } };
    // The client's types want its 64-bit class where its encoder takes plain numbers.
    await connection.workflowService.updateNamespace({ namespace, config } as unknown as Parameters<
      Connection["workflowService"]["updateNamespace"]
    >[0]);
    await addSearchAttributes(connection, namespace);
  } finally {
    await connection.close();
  }
}

let client: Promise<typeof import("@temporalio/client")> | undefined;

/**
 * Loads Temporal's client, once: a server starts meanwhile. A caller that is about to lose sight of it does so before.
 */
export function loadTemporalClient(): Promise<typeof import("@temporalio/client")> {
  client ??= import("@temporalio/client");
  return client;
}

async function connectWhenReady({
  entry,
  namespace,
  signal,
}: {
  entry: TemporalEntry;
  namespace: string;
  signal: AbortSignal;
}): Promise<Connection> {
  const { Connection } = await loadTemporalClient();
  for (;;) {
    let connection: Connection | undefined;
    try {
      connection = await Connection.connect({ ...toConnection(entry), connectTimeout: CONNECT_TIMEOUT_MS });
      await connection.withDeadline(
        Date.now() + CONNECT_TIMEOUT_MS,
        () => connection?.workflowService.describeNamespace({ namespace }) ?? Promise.reject(),
      );
      signal.throwIfAborted();
      return connection;
    } catch {
      await connection?.close();
      signal.throwIfAborted();
      await sleep(POLL_MS, undefined, { signal });
    }
  }
}

async function addSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = SEARCH_ATTRIBUTES.filter((name) => !(name in (customAttributes ?? {})));
  if (missing.length === 0) return;
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
    });
  } catch (error) {
    if ((error as { code?: number }).code !== ALREADY_EXISTS) throw error;
  }
}
