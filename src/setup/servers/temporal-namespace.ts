import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "@temporalio/client";
import { messageOf } from "../../../domain/message-of.ts";
import { type TemporalEntry, toConnection } from "./temporal-proxy.ts";

/** Keyword attributes by which the Temporal UI, and we, find executions. */
export const SEARCH_ATTRIBUTES = ["TreadleWorkflow", "TreadleCommit", "TreadleTrigger", "TreadleAccount"] as const;

/** How long Temporal shows closed executions; the development server's own choice is one day. */
const RETENTION_DAYS = 30;
const CONNECT_TIMEOUT_MS = 1_000;
const POLL_MS = 50;
const KEYWORD = 2; // temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
/** Codes of gRPC. */
const GRPC = { notFound: 5, alreadyExists: 6, permissionDenied: 7, unimplemented: 12, unauthenticated: 16 } as const;
/** Of what does not pass: a caller without the right, and a cluster that has no such call for callers. */
const FINAL = new Set<number>([GRPC.permissionDenied, GRPC.unimplemented, GRPC.unauthenticated]);
const CLUSTER_TIMEOUT_MS = 5_000;
const ADVICE_ON_CALLERS = "Correct TEMPORAL_API_KEY, or TEMPORAL_TLS_CERT and TEMPORAL_TLS_KEY.";
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

/** Why a cluster's namespace cannot be used, and what to do about it. */
export class NamespaceError extends Error {
  override readonly name = "NamespaceError";
  /** Whether it may be gone in a moment. */
  readonly passes: boolean;

  constructor(message: string, passes: boolean) {
    super(message);
    this.passes = passes;
  }
}

/**
 * Makes sure that a cluster has our namespace and its search attributes, and makes what lacks. Rejects with a
 * NamespaceError when it may not.
 */
export async function requireNamespace(entry: TemporalEntry, namespace: string): Promise<void> {
  const { Connection } = await loadTemporalClient();
  let step = `it cannot be asked for the namespace ${namespace} (TEMPORAL_NAMESPACE). ${ADVICE_ON_CALLERS}`;
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ ...toConnection(entry), connectTimeout: CLUSTER_TIMEOUT_MS });
    const { workflowService } = connection;
    const known = await workflowService.describeNamespace({ namespace }).catch((error: unknown) => {
      if (codeOf(error) !== GRPC.notFound) throw error;
    });
    if (known === undefined) {
      step = `it lacks the namespace ${namespace} (TEMPORAL_NAMESPACE), and does not let this service make it. Make it, with ${RETENTION_DAYS} days of closed executions.`;
      const seconds = RETENTION_DAYS * SECONDS_PER_DAY;
      const made = { namespace, workflowExecutionRetentionPeriod: { seconds } };
      type Made = Parameters<Connection["workflowService"]["registerNamespace"]>[0];
      await workflowService.registerNamespace(made as unknown as Made).catch((error: unknown) => {
        if (codeOf(error) !== GRPC.alreadyExists) throw error;
      });
    }
    step = `the namespace ${namespace} lacks search attributes, and this service may not add them. Add ${SEARCH_ATTRIBUTES.join(", ")}, each of the type Keyword.`;
    const aliases = Object.values(known?.config?.customSearchAttributeAliases ?? {});
    if (!SEARCH_ATTRIBUTES.every((name) => aliases.includes(name))) await addSearchAttributes(connection, namespace);
  } catch (error) {
    throw new NamespaceError(`${step} It says: ${messageOf(error)}.`, !FINAL.has(codeOf(error) ?? -1));
  } finally {
    await connection?.close();
  }
}

const codeOf = (error: unknown): number | undefined => {
  const { code, cause } = error as { code?: number; cause?: { code?: number } };
  return code ?? cause?.code;
};

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
    if (codeOf(error) !== GRPC.alreadyExists) throw error;
  }
}
