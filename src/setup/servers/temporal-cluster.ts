import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../../domain/message-of.ts";
import type { Settings } from "../../config.ts";
import type { Temporal } from "./temporal.ts";
import { NamespaceError, requireNamespace } from "./temporal-namespace.ts";
import { type TemporalEntry, type TemporalTls, toSocket } from "./temporal-proxy.ts";

/** As long as a server may take that is started together with us. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 500;
const GREETING_MS_MAX = 5_000;
/** Of a server that is starting, or is not known by its name yet. */
const PASSING = new Set(["ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ABORT_ERR"]);
const CLOSED = "it closes the connection";

export type ClusterSettings = Pick<
  Settings,
  | "TEMPORAL_ADDRESS"
  | "TEMPORAL_TLS_CA"
  | "TEMPORAL_TLS_CERT"
  | "TEMPORAL_TLS_KEY"
  | "TEMPORAL_TLS_SERVER_NAME"
  | "TEMPORAL_API_KEY"
>;

/**
 * Opens a Temporal cluster that is not ours. It is waited for as long as a server needs to start. The
 * namespace and the search attributes are made where they lack and this caller may. Rejects, naming setting and reason,
 * when it cannot be used. Nothing of it is stopped by `stop`.
 */
export async function openCluster(
  entry: TemporalEntry,
  { TEMPORAL_NAMESPACE: namespace, TEMPORAL_UI_URL: uiUrl }: Pick<Settings, "TEMPORAL_NAMESPACE" | "TEMPORAL_UI_URL">,
  patienceMs = PATIENCE_MS,
): Promise<Temporal> {
  const { address, tls, apiKey } = entry;
  const deadline = Date.now() + patienceMs;
  for (;;) {
    try {
      await greet(entry);
      await requireNamespace(entry, namespace);
      break;
    } catch (error) {
      if (!passes(error) || Date.now() > deadline) throw new Error(describe(entry, error), { cause: error });
      await sleep(PAUSE_MS);
    }
  }
  return {
    address,
    tls,
    apiKey,
    namespace,
    ...(uiUrl === undefined ? {} : { uiUrl }),
    source: `TEMPORAL_ADDRESS (${address})`,
    pid: () => undefined,
    exited: new Promise(() => {}),
    stop: async () => {},
  };
}

/**
 * Returns how the cluster of `TEMPORAL_ADDRESS` is called, with what its files hold; undefined without that setting. To be called
 * before the process becomes another user, who may not read them.
 */
export async function readClusterEntry(settings: ClusterSettings): Promise<TemporalEntry | undefined> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_API_KEY: apiKey } = settings;
  return address === undefined ? undefined : { address, tls: await readTls(settings), apiKey };
}

/** Undefined where no setting asks for TLS. An API key is never sent without it. */
async function readTls(settings: ClusterSettings): Promise<TemporalTls | undefined> {
  const { TEMPORAL_TLS_CA, TEMPORAL_TLS_CERT, TEMPORAL_TLS_KEY, TEMPORAL_TLS_SERVER_NAME: serverName } = settings;
  const asked = [TEMPORAL_TLS_CA, TEMPORAL_TLS_CERT, serverName, settings.TEMPORAL_API_KEY];
  if (asked.every((value) => value === undefined)) return undefined;
  const [ca, cert, key] = await Promise.all([
    readGiven("TEMPORAL_TLS_CA", TEMPORAL_TLS_CA),
    readGiven("TEMPORAL_TLS_CERT", TEMPORAL_TLS_CERT),
    readGiven("TEMPORAL_TLS_KEY", TEMPORAL_TLS_KEY),
  ]);
  return { ca, caller: cert === undefined || key === undefined ? undefined : { cert, key }, serverName };
}

async function readGiven(name: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new Error(`The file of ${name}, ${path}, cannot be read: ${messageOf(error)}. Name a PEM file.`);
  }
}

/** Resolves when the server speaks as a gRPC server does. Its clients' own errors do not say why one does not. */
async function greet(entry: TemporalEntry): Promise<void> {
  const scheme = entry.tls === undefined ? "http" : "https";
  const session = connect(`${scheme}://${entry.address}`, entry.tls === undefined ? {} : toSocket(entry.tls));
  const closed = once(session, "close").then(() => Promise.reject(new Error(CLOSED)));
  closed.catch(() => {});
  try {
    await Promise.race([once(session, "remoteSettings", { signal: AbortSignal.timeout(GREETING_MS_MAX) }), closed]);
  } finally {
    session.destroy();
  }
}

function passes(error: unknown): boolean {
  if (error instanceof NamespaceError) return error.passes;
  return PASSING.has((error as NodeJS.ErrnoException).code ?? "");
}

function describe({ address, tls }: TemporalEntry, error: unknown): string {
  const start = `Cannot use the Temporal cluster of TEMPORAL_ADDRESS (${address}): `;
  if (error instanceof NamespaceError) return `${start}${error.message}`;
  const reason = (error as { code?: unknown }).code === "ABORT_ERR" ? "it does not answer" : messageOf(error);
  const advice =
    tls === undefined
      ? "Correct TEMPORAL_ADDRESS, set TEMPORAL_TLS_CA where it expects TLS,"
      : "Correct TEMPORAL_ADDRESS, TEMPORAL_TLS_CA, TEMPORAL_TLS_CERT, TEMPORAL_TLS_KEY or TEMPORAL_TLS_SERVER_NAME,";
  return `${start}${reason}. ${advice} or unset TEMPORAL_ADDRESS to use the service's own server.`;
}
