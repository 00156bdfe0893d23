import { lookup } from "node:dns/promises";
import { BlockList, isIP, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { DENIED_RANGES, isWithin, parseRange } from "../../domain/address-ranges.ts";
import { createOwnRangesReader } from "../../sandbox/network/addresses.ts";

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
}

/** Decides where notices may go. */
export interface ReceiverAddresses {
  /** Whether the operator allows this very host. */
  isAllowed(url: URL): boolean;
  /** Returns why a URL cannot be a receiver, as far as its text says; undefined when it can. */
  findProblem(url: URL): string | undefined;
  /** Returns the addresses of a name, all of which may be connected to. Throws a RefusedReceiver where one may not. */
  resolve(host: string): Promise<readonly { readonly address: string; readonly family: 4 | 6 }[]>;
}

export function createReceiverAddresses({ allowedHosts, protectedHosts }: ReceiverRules): ReceiverAddresses {
  const denied = DENIED_RANGES.map(parseRange);
  const allowed = new Set(allowedHosts.map((host) => host.toLowerCase()));
  const readOwn = process.platform === "linux" ? createOwnRangesReader({ protectedHosts }) : async () => [];

  const isAllowed = ({ hostname, host }: URL): boolean => allowed.has(hostname) || allowed.has(host);
  const isSpecial = (address: string): boolean =>
    isIPv4(address) ? isWithin(denied, parseRange(address).first) : !isGlobalIpv6(address);
  const isOwn = async (address: string): Promise<boolean> => {
    const interfaces = Object.values(networkInterfaces()).flatMap((one) => one ?? []);
    if (interfaces.some((one) => one.address === address)) return true;
    return isIPv4(address) && isWithin(await readOwn(), parseRange(address).first);
  };
  return {
    isAllowed,
    findProblem(url) {
      const { protocol, username, password, hostname } = url;
      if (username !== "" || password !== "") return "it may not hold a user or a password.";
      if (isAllowed(url)) return ["https:", "http:"].includes(protocol) ? undefined : "it must begin with https://.";
      if (protocol !== "https:") return "it must begin with https://.";
      const literal = hostname.replace(/^\[(.*)\]$/, "$1");
      return isIP(literal) !== 0 && isSpecial(literal) ? explain(hostname) : undefined;
    },
    async resolve(host) {
      const found = await lookup(host, { all: true });
      for (const { address } of found)
        if (isSpecial(address) || (await isOwn(address))) throw new RefusedReceiver(explain(host));
      return found.map(({ address }) => ({ address, family: isIPv4(address) ? 4 : 6 }));
    },
  };
}

function explain(host: string): string {
  return `${host} has an address that is not public. The operator can allow the host with TREADLE_NOTICE_HOSTS.`;
}

function isGlobalIpv6(address: string): boolean {
  const [global, special] = [new BlockList(), new BlockList()];
  global.addSubnet(GLOBAL_IPV6.network, GLOBAL_IPV6.prefix, "ipv6");
  for (const { network, prefix } of SPECIAL_IPV6) special.addSubnet(network, prefix, "ipv6");
  return global.check(address, "ipv6") && !special.check(address, "ipv6");
}
