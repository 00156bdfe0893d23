import { lookup } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIPv4, isIPv6 } from "node:net";
import { type AddressRange, parseRange } from "../../domain/address-ranges.ts";

/** Names with changing answers: a server just dropped from the answer still runs. */
const REMEMBER_MS = 24 * 60 * 60 * 1_000;
/** The routes of the network namespace that this process is in, with any mounts (proc(5)). */
const ROUTES_FILE = "/proc/self/net/fib_trie";
/** What the kernel delivers to itself or to everybody nearby. */
const OWN_ROUTE_TYPES = new Set(["LOCAL", "BROADCAST", "ANYCAST"]);

export type ResolveName = (name: string) => Promise<readonly string[]>;

/** Returns the IPv4 addresses that executions must not reach because they are ours. */
export type ReadOwnRanges = () => Promise<AddressRange[]>;

/**
 * Reads the host's own addresses from the kernel's tables of what it delivers to itself, on every interface, also
 * without carrier. It starts no program, since it is asked every few seconds. Adds those of `protectedHosts`: names,
 * addresses and ranges. A name counts with every answer of the last day. Rejects when a name has never had an answer:
 * then we do not know what to protect.
 */
export function createOwnRangesReader(deps: {
  readonly protectedHosts: readonly string[];
  readonly resolveName?: ResolveName | undefined;
  readonly now?: (() => number) | undefined;
  /** Reads the kernel's tables, in the form of `/proc/net/fib_trie`. */
  readonly readRoutes?: () => Promise<string>;
}): ReadOwnRanges {
  const { protectedHosts, resolveName, now } = deps;
  const { readRoutes = () => readFile(ROUTES_FILE, "utf8") } = deps;
  const readHosts = createHostRangesReader({ hosts: protectedHosts, resolveName, now });
  return async () => [...parseOwnRoutes(await readRoutes()), ...(await readHosts())];
}

/** Reads the addresses of `hosts` as `createOwnRangesReader` does those of its protected hosts. */
export function createHostRangesReader(deps: {
  readonly hosts: readonly string[];
  readonly resolveName?: ResolveName | undefined;
  readonly now?: (() => number) | undefined;
}): ReadOwnRanges {
  const { hosts, resolveName = resolveBySystem, now = Date.now } = deps;
  const names = hosts.filter((host) => /[^\d./]/.test(host) && !isIPv6(host));
  const fixed = hosts.filter((host) => !/[^\d./]/.test(host)).map(parseRange);
  const seen = new Map(names.map((name) => [name, new Map<string, number>()]));

  async function refreshName(name: string, answers: Map<string, number>): Promise<AddressRange[]> {
    try {
      for (const address of await resolveName(name)) answers.set(address, now());
    } catch (error) {
      if (answers.size === 0)
        throw new Error(`${name}, which executions must not reach, could not be resolved.`, { cause: error });
    }
    for (const [address, time] of answers) if (now() - time > REMEMBER_MS) answers.delete(address);
    return [...answers.keys()].filter((address) => isIPv4(address)).map(parseRange);
  }

  return async () => {
    const named = await Promise.all([...seen].map(([name, answers]) => refreshName(name, answers)));
    return [...fixed, ...named.flat()];
  };
}

/**
 * Destinations that the kernel delivers to itself or to everybody nearby. Each is a leaf, `|-- 192.0.2.2`, with its
 * prefixes below it, `/32 host LOCAL`; a table merged with another shows them twice. Throws when nothing looks like a
 * table: to know of no own address is not the same as to have none.
 */
function parseOwnRoutes(text: string): AddressRange[] {
  if (!/^(?:Main|Local|Id \d+):$/m.test(text)) throw new Error(`${ROUTES_FILE} holds no table of routes.`);
  const own = new Set<string>();
  let address = "";
  for (const line of text.split("\n")) {
    const [, leaf, prefix, type] = /^\s*(?:\|-- ([\d.]+)|(\/\d+) \S+ ([A-Z]+)(?:\s.*)?)$/.exec(line) ?? [];
    if (leaf !== undefined) address = leaf;
    else if (type !== undefined && OWN_ROUTE_TYPES.has(type)) own.add(`${address}${prefix}`);
  }
  return [...own].map(parseRange);
}

async function resolveBySystem(name: string): Promise<string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}
