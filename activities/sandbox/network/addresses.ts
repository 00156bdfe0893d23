import { lookup } from "node:dns/promises";
import { isIPv4, isIPv6 } from "node:net";
import { type Launcher, runCommand } from "./commands.ts";
import { type AddressRange, parseRange } from "./ranges.ts";

/** Names with changing answers: a server just dropped from the answer still runs. */
const REMEMBER_MS = 24 * 60 * 60 * 1_000;

export type ResolveName = (name: string) => Promise<readonly string[]>;

/** Answers the IPv4 addresses that executions must not reach because they are ours. */
export type ReadOwnRanges = () => Promise<AddressRange[]>;

/**
 * Reads the host's own addresses from the kernel's table of what it delivers to itself, on every interface, also without
 * carrier; and those of `protectedHosts`: names, addresses and ranges. A name counts with every answer of the last day.
 * Rejects when a name has never had an answer: then we do not know what to protect.
 */
export function createOwnRangesReader(deps: {
  readonly launcher: Launcher;
  readonly ipPath: string;
  readonly protectedHosts: readonly string[];
  readonly resolveName?: ResolveName | undefined;
  readonly now?: () => number;
}): ReadOwnRanges {
  const { launcher, ipPath, protectedHosts, resolveName = resolveBySystem, now = Date.now } = deps;
  const names = protectedHosts.filter((host) => /[^\d./]/.test(host) && !isIPv6(host));
  const fixed = protectedHosts.filter((host) => !/[^\d./]/.test(host)).map(parseRange);
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
    const table = await runCommand(launcher, [ipPath, "-4", "-json", "route", "show", "table", "local"]);
    const named = await Promise.all([...seen].map(([name, answers]) => refreshName(name, answers)));
    return [...parseLocalTable(table), ...fixed, ...named.flat()];
  };
}

/** Destinations that the kernel delivers to itself or to everybody nearby. */
function parseLocalTable(text: string): AddressRange[] {
  const routes = JSON.parse(text || "[]") as readonly { readonly dst?: string }[];
  return routes.map(({ dst = "" }) => parseRange(dst));
}

async function resolveBySystem(name: string): Promise<string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}
