import { once } from "node:events";
import type { RequestOptions } from "node:https";
import { type ConnectionOptions, connect } from "node:tls";
import type { TLSConfig } from "@temporalio/client";
import { DOOR_NAME, type DoorCertificates } from "./door-certificates.ts";

/** What a caller asks for that only wants to know when the door is gone. As in temporal-enclosure.py. */
const WATCH = "treadle-watch";
const HTTP = "http/1.1";
/** Where the service shows the server's web interface. */
export const PAGES_PATH = "/temporal";

/** Where a Temporal takes calls, and what it asks of callers. */
export interface TemporalEntry {
  /** host:port of the gRPC endpoint. */
  readonly address: string;
  /** Undefined where nothing is asked. */
  readonly certificates?: DoorCertificates | undefined;
}

/** The entry of an enclosed server. */
export interface GuardedEntry extends TemporalEntry {
  readonly certificates: DoorCertificates;
}

/** Returns what a connection of Temporal's clients takes. */
export function toConnection({ address, certificates }: TemporalEntry): { address: string; tls?: TLSConfig } {
  if (certificates === undefined) return { address };
  const { ca, caller } = certificates;
  const clientCertPair = { crt: Buffer.from(caller.cert), key: Buffer.from(caller.key) };
  return {
    address,
    tls: { serverNameOverride: DOOR_NAME, serverRootCACertificate: Buffer.from(ca), clientCertPair },
  };
}

/** What `request` of node:https takes, and of node:http where nothing is asked. */
export type PagesTarget = RequestOptions & Pick<ConnectionOptions, "ALPNProtocols">;

/** Returns what a request for the web interface of an enclosed server takes. */
export function toPages(entry: GuardedEntry): PagesTarget {
  return { ...toTls(entry), ALPNProtocols: [HTTP] };
}

/**
 * Resolves when the door has let us in, and calls `onGone` when it is gone after that. Rejects when it does not open, or on
 * abort.
 */
export async function watchDoor(
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

function toTls({ address, certificates: { ca, caller } }: GuardedEntry) {
  const [host = ""] = address.split(":");
  return { host, port: portOf(address), servername: DOOR_NAME, ca, cert: caller.cert, key: caller.key };
}
