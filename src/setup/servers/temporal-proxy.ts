import { once } from "node:events";
import type { RequestOptions } from "node:https";
import { type ConnectionOptions, connect } from "node:tls";
import type { TLSConfig } from "@temporalio/client";
import { type Identity, PROXY_NAME, type ProxyCertificates } from "./proxy-certificates.ts";

/** What a caller asks for that only wants to know when the proxy is gone. As in temporal-enclosure.py. */
const WATCH = "treadle-watch";
const HTTP = "http/1.1";
/** Where the service shows the server's web interface. */
export const PAGES_PATH = "/temporal";

/** How a connection to Temporal is encrypted, PEM texts. What is undefined is as usual: public authorities, no certificate of ours. */
export interface TemporalTls {
  /** The authorities that sign the server's certificate. */
  readonly ca?: string | undefined;
  /** What we show the server. */
  readonly caller?: Identity | undefined;
  /** The name in the server's certificate; undefined: the host of its address. */
  readonly serverName?: string | undefined;
}

/** Where a Temporal takes calls, and what it asks of callers. */
export interface TemporalEntry {
  /** host:port of the gRPC endpoint. */
  readonly address: string;
  /** Undefined where the connection is not encrypted. */
  readonly tls?: TemporalTls | undefined;
  /** Undefined where none is asked for. */
  readonly apiKey?: string | undefined;
}

/** The entry of an enclosed server. */
export interface GuardedEntry extends TemporalEntry {
  readonly tls: TemporalTls;
  readonly certificates: ProxyCertificates;
}

/** Returns the entry of an enclosed server, host:port, with the certificates of its proxy. */
export function toGuarded(address: string, certificates: ProxyCertificates): GuardedEntry {
  const { ca, caller } = certificates;
  return { address, certificates, tls: { ca, caller, serverName: PROXY_NAME } };
}

/** Returns what a connection of Temporal's clients takes. */
export function toConnection({ address, tls, apiKey }: TemporalEntry): {
  address: string;
  tls?: TLSConfig;
  apiKey?: string;
} {
  if (tls === undefined) return { address };
  const { ca, caller, serverName } = tls;
  return {
    address,
    tls: {
      ...(serverName === undefined ? {} : { serverNameOverride: serverName }),
      ...(ca === undefined ? {} : { serverRootCACertificate: Buffer.from(ca) }),
      ...(caller && { clientCertPair: { crt: Buffer.from(caller.cert), key: Buffer.from(caller.key) } }),
    },
    ...(apiKey === undefined ? {} : { apiKey }),
  };
}

/** What `request` of node:https takes, and of node:http where nothing is asked. */
export type PagesTarget = RequestOptions & Pick<ConnectionOptions, "ALPNProtocols">;

/** Returns what a request for the web interface of an enclosed server takes. */
export function toPages(entry: GuardedEntry): PagesTarget {
  return { ...toTls(entry), ALPNProtocols: [HTTP] };
}

/**
 * Resolves when the proxy has let us in, and calls `onGone` when it is gone after that. Rejects when it does not open, or on
 * abort.
 */
export async function watchProxy(
  entry: GuardedEntry,
  { signal, onGone }: { signal: AbortSignal; onGone: () => void },
): Promise<void> {
  const socket = connect({ ...toTls(entry), ALPNProtocols: [WATCH] });
  socket.on("error", () => {}); // its close says it
  socket.unref();
  await once(socket, "secureConnect", { signal });
  socket.once("close", onGone);
  socket.resume();
}

/** Returns the port of an address, host:port. */
export function portOf(address: string): number {
  return Number(address.split(":").at(-1));
}

/** Returns what a TLS connection of Node.js takes. */
export function toSocket({ ca, caller, serverName }: TemporalTls): ConnectionOptions {
  return {
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(ca === undefined ? {} : { ca }),
    ...caller,
  };
}

function toTls({ address, tls }: GuardedEntry) {
  const [host = ""] = address.split(":");
  return { host, port: portOf(address), ...toSocket(tls) };
}
