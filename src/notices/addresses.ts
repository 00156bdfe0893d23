import { lookup } from "node:dns/promises";
import { BlockList, isIP, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { DENIED_RANGES, isWithin, parseRange } from "../../domain/address-ranges.ts";
import { covers, type Endpoint, findGrantProblem } from "../../domain/destinations.ts";
import { createHostRangesReader, createOwnRangesReader } from "../../sandbox/network/addresses.ts";

/** Of IPv6, only what is given out to networks of the internet, without what stands for other addresses or for none (RFC 6890). */
const GLOBAL_IPV6 = { network: "2000::", prefix: 3 };
const SPECIAL_IPV6 = [
  { network: "2001::", prefix: 23 }, // protocol assignments, Teredo among them
  { network: "2001:db8::", prefix: 32 }, // documentation
  { network: "2002::", prefix: 16 }, // 6to4: an IPv4 address in another form
  { network: "3fff::", prefix: 20 }, // documentation
];

/** A receiver that nothing is sent to. The message says why, for the owner of the place. */
export class RefusedReceiver extends Error {
  override readonly name = "RefusedReceiver";
}

export interface ReceiverRules {
  /** Host names, with a port or without, that the operator allows wherever they lead, also without TLS. */
  readonly allowedHosts: readonly string[];
  /** Names, addresses and ranges that no receiver may have, beside what is not public and this machine's own. */
  readonly protectedHosts: readonly string[];
  /** The same of receivers that an account was granted. */
  readonly ungrantableHosts: readonly string[];
}

/** Decides where notices may go. */
export interface ReceiverAddresses {
  /** Whether the operator allows this very host. */
  isAllowed(url: URL): boolean;
  /** Returns why a URL cannot be a receiver of an account with these grants, as far as its text says; undefined when it can. */
  findProblem(url: URL, granted?: readonly Endpoint[]): string | undefined;
  /** Returns the addresses of a URL's host, all of which may be connected to. Throws a RefusedReceiver where one may not. */
  resolve(url: URL, granted?: readonly Endpoint[]): Promise<readonly { address: string; family: 4 | 6 }[]>;
}

export function createReceiverAddresses(rules: ReceiverRules): ReceiverAddresses {
  const { allowedHosts, protectedHosts, ungrantableHosts } = rules;
  const denied = DENIED_RANGES.map(parseRange);
  const allowed = new Set(allowedHosts.map((host) => host.toLowerCase()));
  const readOwn = process.platform === "linux" ? createOwnRangesReader({ protectedHosts }) : async () => [];
  const readKept = createHostRangesReader({ hosts: ungrantableHosts });

  const isAllowed = ({ hostname, host }: URL): boolean => allowed.has(hostname) || allowed.has(host);
  const isSpecial = (address: string): boolean =>
    isIPv4(address) ? isWithin(denied, parseRange(address).first) : !isGlobalIpv6(address);
  const isOwn = async (address: string): Promise<boolean> => {
    const interfaces = Object.values(networkInterfaces()).flatMap((one) => one ?? []);
    if (interfaces.some((one) => one.address === address)) return true;
    return isIPv4(address) && isWithin(await readOwn(), parseRange(address).first);
  };
  const mayBeGranted = async (address: string): Promise<boolean> =>
    isIPv4(address) &&
    findGrantProblem(address) === undefined &&
    !(await isOwn(address)) &&
    !isWithin(await readKept(), parseRange(address).first);
  return {
    isAllowed,
    findProblem(url, granted = []) {
      const { protocol, username, password } = url;
      if (username !== "" || password !== "") return "it may not hold a user or a password.";
      const host = hostOf(url);
      const isGranted = granted.some((one) => covers(one, host, portOf(url)));
      if (protocol !== "https:" && !(protocol === "http:" && (isGranted || isAllowed(url))))
        return "it must begin with https://.";
      if (isAllowed(url) || isIP(host) === 0 || !isSpecial(host)) return undefined;
      const isGrantable = isIPv4(host) && findGrantProblem(host) === undefined;
      return isGranted && isGrantable ? undefined : explain(url, isGrantable);
    },
    async resolve(url, granted = []) {
      const host = hostOf(url);
      const found = await lookup(host, { all: true });
      for (const { address } of found) {
        if (!isSpecial(address) && !(await isOwn(address))) continue;
        const isGranted = granted.some((one) => covers(one, host, portOf(url)) || covers(one, address, portOf(url)));
        const isGrantable = await mayBeGranted(address);
        if (!isGranted || !isGrantable) throw new RefusedReceiver(explain(url, isGrantable));
      }
      return found.map(({ address }) => ({ address, family: isIPv4(address) ? 4 : 6 }));
    },
  };
}

/** Without the brackets of an IPv6 address. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

function portOf({ port, protocol }: URL): number {
  if (port !== "") return Number(port);
  return protocol === "https:" ? 443 : 80;
}

function explain(url: URL, isGrantable: boolean): string {
  const { hostname } = url;
  if (!isGrantable)
    return `${hostname} has an address that is not public. The operator can allow the host with TREADLE_NOTICE_HOSTS.`;
  const grant = `treadle destinations add NAME ${hostname}:${portOf(url)}`;
  return `${hostname} has an address that is not public, and the account has no destination there. The operator can grant one (${grant}), or allow the host for all with TREADLE_NOTICE_HOSTS.`;
}

function isGlobalIpv6(address: string): boolean {
  const [global, special] = [new BlockList(), new BlockList()];
  global.addSubnet(GLOBAL_IPV6.network, GLOBAL_IPV6.prefix, "ipv6");
  for (const { network, prefix } of SPECIAL_IPV6) special.addSubnet(network, prefix, "ipv6");
  return global.check(address, "ipv6") && !special.check(address, "ipv6");
}
