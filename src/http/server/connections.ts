import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "./network-of.ts";

/** Of `max`: connections that are open only to answer 503 on them. Beyond that a connection is closed without a word. */
const REFUSING_SHARE = 0.1;
const REFUSING_MIN = 8;
/** All connections come from the proxy then; whom it serves is known only from the requests. */
const THE_PROXY = "proxy";

export interface ConnectionBounds {
  /** Connections that are served at the same time. */
  readonly max: number;
  /** Those of one address; of one /64 of IPv6. Not applied to a trusted proxy. */
  readonly perAddressMax: number;
}

/** What is open, and what was turned away since the start. */
export interface ConnectionFigures {
  readonly open: number;
  readonly max: number;
  /** Answered 503. */
  readonly refused: number;
  /** Closed without an answer: there were as many to refuse as may be. */
  readonly closed: number;
  /** Idle ones that were closed to make room for a new one. */
  readonly ended: number;
}

export interface Connections {
  /** Counts a connection until it closes, and decides what becomes of it. */
  admit(socket: Socket): "serve" | "refuse" | "close";
  /** Notes that a call is under way on the connection of this socket until its response closes. */
  follow(socket: Socket, response: ServerResponse): void;
  figures(): ConnectionFigures;
}

interface Network {
  count: number;
  /** Without a call since they were opened, the oldest first. */
  readonly silent: Set<Entry>;
  /** Between two calls, the longest first. */
  readonly idle: Set<Entry>;
}

interface Entry {
  /** Kept, because a socket that has closed has forgotten its address. */
  readonly key: string;
  readonly socket: Socket;
  readonly name: string;
  readonly network: Network;
  calls: number;
}

/** How many connections may be open only to be refused, beside those that are served. */
export function refusingMax(max: number): number {
  return Math.max(REFUSING_MIN, Math.ceil(max * REFUSING_SHARE));
}

/**
 * Bounds connections in all and per address. Where an address has as many as it may, its new one replaces an idle one
 * of its own, or is refused. Where all slots are taken, a new one replaces an idle connection of the address that has
 * most. That address has to have more than the new one's: one that only holds connections open keeps nobody out. A
 * connection with a call under way is never closed for another.
 */
export function createConnections(bounds: ConnectionBounds, options: { trustProxy: boolean }): Connections {
  const networks = new Map<string, Network>();
  /** By address and port of the other side: the socket of a TLS connection is another one than that below it. */
  const entries = new Map<string, Entry>();
  const refusals = createRefusals(bounds.max);
  let ended = 0;

  function remove(entry: Entry): void {
    if (entries.get(entry.key) !== entry) return;
    entries.delete(entry.key);
    const { network } = entry;
    network.silent.delete(entry);
    network.idle.delete(entry);
    network.count -= 1;
    if (network.count === 0) networks.delete(entry.name);
  }

  function end(entry: Entry | undefined): boolean {
    if (entry === undefined) return false;
    ended += 1;
    remove(entry);
    entry.socket.destroy();
    return true;
  }

  function makeRoom(own: Network | undefined): boolean {
    const ownCount = own?.count ?? 0;
    if (!options.trustProxy && ownCount >= bounds.perAddressMax) return end(first(own?.idle));
    if (entries.size < bounds.max) return true;
    // One more than it has now: who has as many as the new one's address would not gain by the exchange.
    const heaviest = findHeaviest(networks.values(), ownCount + 1);
    return end(first(heaviest?.idle) ?? first(heaviest?.silent) ?? first(own?.idle));
  }

  return {
    admit(socket) {
      const { remoteAddress } = socket;
      if (remoteAddress === undefined) return "close"; // Gone already.
      const name = options.trustProxy ? THE_PROXY : networkOf(remoteAddress);
      if (!makeRoom(networks.get(name))) return refusals.refuse(socket);
      const network = networks.get(name) ?? { count: 0, silent: new Set(), idle: new Set() };
      networks.set(name, network);
      network.count += 1;
      const entry = { key: keyOf(socket), socket, name, network, calls: 0 };
      network.silent.add(entry);
      entries.set(entry.key, entry);
      socket.once("close", () => remove(entry));
      return "serve";
    },
    follow(socket, response) {
      const entry = entries.get(keyOf(socket));
      if (entry === undefined) return;
      entry.calls += 1;
      entry.network.silent.delete(entry);
      entry.network.idle.delete(entry);
      response.once("close", () => {
        entry.calls -= 1;
        if (entry.calls === 0 && entries.get(entry.key) === entry) entry.network.idle.add(entry);
      });
    },
    figures: () => ({ open: entries.size, max: bounds.max, ended, ...refusals.counts }),
  };
}

/** Counts connections that are open only to be refused, and closes those beyond their bound. */
function createRefusals(max: number) {
  const counts = { refused: 0, closed: 0 };
  let open = 0;
  return {
    counts,
    refuse(socket: Socket): "refuse" | "close" {
      if (open >= refusingMax(max)) {
        counts.closed += 1;
        return "close";
      }
      counts.refused += 1;
      open += 1;
      socket.once("close", () => {
        open -= 1;
      });
      return "refuse";
    },
  };
}

/**
 * Returns the network with most connections among networks that have an idle one; undefined where none has more than
 * `count`.
 */
function findHeaviest(networks: Iterable<Network>, count: number): Network | undefined {
  let heaviest: Network | undefined;
  for (const network of networks) {
    if (network.idle.size + network.silent.size === 0) continue;
    if (network.count > (heaviest?.count ?? count)) heaviest = network;
  }
  return heaviest;
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function first<T>(set: Set<T> | undefined): T | undefined {
  return set?.values().next().value;
}
