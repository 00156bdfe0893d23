import { lookup, Resolver } from "node:dns/promises";
import { isIPv4 } from "node:net";
import { DENIED_RANGES, isRange, isWithin, parseRange } from "../../domain/address-ranges.ts";
import { type Destination, NEVER_GRANTED } from "../../domain/destinations.ts";
import type { ResolveName } from "./addresses.ts";

/** A connection goes on for so long after its name has begun to lead elsewhere. */
const REMEMBER_MS = 24 * 60 * 60 * 1_000;
/** A public name may have another answer each time. Those that came last count. */
const ANSWERS_MAX = 64;
const LOOKUP_TIMEOUT_MS = 2_000;
const LOOKUP_TRIES = 2;

/** Where a destination is. */
export interface Located {
  readonly destination: Destination;
  /** What its name leads to now; nothing for a range. */
  readonly current: readonly string[];
  /** All that may be connected to, as addresses and ranges. */
  readonly reachable: readonly string[];
}

/** Where destinations are: looked up by this process, for programs that can look nothing up themselves. */
export interface AddressBook {
  /** Looks the names of these destinations up again. Never rejects: a name without an answer keeps those it had. */
  refresh(destinations: readonly Destination[]): Promise<void>;
  find(destination: Destination): Located;
  /** Forgets the names of all others. */
  keepOnly(destinations: readonly Destination[]): void;
}

interface Entry {
  current: readonly string[];
  /** When each address was last an answer, the oldest first. */
  readonly seen: Map<string, number>;
}

/**
 * `nameservers` are asked for public names, those of the machine without. `closed` are ranges where nobody may connect
 * to without a grant. `resolveName` stands for both ways to look a name up.
 */
export function createAddressBook(settings: {
  readonly nameservers?: readonly string[] | undefined;
  readonly closed?: readonly string[] | undefined;
  readonly resolveName?: ResolveName | undefined;
  readonly now?: () => number;
}): AddressBook {
  const { closed = DENIED_RANGES, now = Date.now } = settings;
  const resolvePublic = settings.resolveName ?? createPublicResolver(settings.nameservers);
  const resolveGranted = settings.resolveName ?? resolveBySystem;
  const entries = new Map<string, Entry>();
  const keyOf = ({ host, grantId }: Destination): string => `${grantId === null ? "public" : "granted"} ${host}`;

  async function look(destination: Destination): Promise<void> {
    const { host, grantId } = destination;
    const answers = await (grantId === null ? resolvePublic : resolveGranted)(host).catch(() => undefined);
    if (answers === undefined) return;
    // A public name that leads to a private address leads nowhere.
    const current = answers.filter(
      (address) => isIPv4(address) && isOpen(address, grantId === null ? closed : NEVER_GRANTED),
    );
    const seen = entries.get(keyOf(destination))?.seen ?? new Map<string, number>();
    for (const address of current) {
      seen.delete(address);
      seen.set(address, now());
    }
    for (const [address, time] of seen) if (now() - time > REMEMBER_MS || seen.size > ANSWERS_MAX) seen.delete(address);
    entries.set(keyOf(destination), { current: current.slice(0, ANSWERS_MAX), seen });
  }

  return {
    async refresh(destinations) {
      const named = destinations.filter(({ host }) => !isRange(host));
      const wanted = new Map(named.map((destination) => [keyOf(destination), destination]));
      await Promise.all([...wanted.values()].map(look));
    },
    find(destination) {
      const { host } = destination;
      if (isRange(host)) return { destination, current: host.includes("/") ? [] : [host], reachable: [host] };
      const { current, seen } = entries.get(keyOf(destination)) ?? { current: [], seen: new Map() };
      return { destination, current, reachable: [...seen.keys()] };
    },
    keepOnly(destinations) {
      const wanted = new Set(destinations.map(keyOf));
      for (const key of entries.keys()) if (!wanted.has(key)) entries.delete(key);
    },
  };
}

/**
 * Not by the system: that takes a thread of a few for as long as a name server likes, and workflows choose these names.
 * Each time anew, as it reads the machine's name servers when it is made.
 */
function createPublicResolver(nameservers: readonly string[] | undefined): ResolveName {
  return (name) => {
    const resolver = new Resolver({ timeout: LOOKUP_TIMEOUT_MS, tries: LOOKUP_TRIES });
    if (nameservers !== undefined) resolver.setServers(nameservers);
    return resolver.resolve4(name);
  };
}

async function resolveBySystem(name: string): Promise<string[]> {
  return (await lookup(name, { family: 4, all: true })).map(({ address }) => address);
}

/** Returns whether an address may be connected to by those for whom these ranges are closed. */
function isOpen(address: string, closed: readonly string[]): boolean {
  return !isWithin(closed.map(parseRange), parseRange(address).first);
}
