import { type AddressRange, mergeRanges, parseRange, toAddress } from "../../domain/address-ranges.ts";
import { NEVER_GRANTED, type PortRange } from "../../domain/destinations.ts";
import { METERING } from "./meter-rules.ts";
import { CONFINED_GROUP, SLOT_DEVICES, UPLINK } from "./plan.ts";

/** Of all rules of a router. */
export const TABLE = "inet treadle";

/** What one slot may do at once; beyond it, new connections are reset. */
export interface ConnectionLimits {
  /** TCP connections and UDP conversations open at the same time. */
  readonly connections: number;
  /** New ones, lookups of names not counted. A UDP packet that nobody has answered yet counts as new. */
  readonly newPerSecond: number;
  readonly newBurst: number;
  /** Lookups of names through the forwarder. */
  readonly lookupsPerSecond: number;
  readonly lookupsBurst: number;
}

/** Enough for a crawler with a pool of 100; 16 slots at their limit stay below 5,000 descriptors of slirp4netns. */
export const CONNECTION_LIMITS: ConnectionLimits = {
  connections: 256,
  newPerSecond: 50,
  newBurst: 250,
  lookupsPerSecond: 50,
  lookupsBurst: 200,
};

/** Packets that met each rule; the names of the counters in the rules. */
export const COUNTERS = [
  "denied",
  "own",
  "smtp",
  "sibling",
  "router",
  "protocol",
  "spoofed",
  "flooding",
  "elsewhere",
  "uplink",
] as const;
export type CounterName = (typeof COUNTERS)[number];

/** Addresses of our own. */
export interface OwnRanges {
  /** Which nobody may reach. */
  readonly own: readonly AddressRange[];
  /** Which cannot be granted, although a public one of them is reached as every public address is. */
  readonly kept: readonly AddressRange[];
}

export interface RulesetFacts extends OwnRanges {
  readonly denied: readonly AddressRange[];
  readonly limits: ConnectionLimits;
  /** Whether names may be looked up through slirp4netns at the host's resolver. */
  readonly forwardsNames: boolean;
}

/**
 * What `nft -f` reads. Everything is forbidden that is not allowed here. The destination is checked on every packet,
 * also of connections that exist, so an address that becomes ours later is cut off at once. Refusals are resets, since
 * programs wait seconds for anything else.
 */
export function toRuleset({ denied, own, kept, limits, forwardsNames }: RulesetFacts): string {
  return `table ${TABLE} {
${COUNTERS.map((name) => `  counter ${name} { }`).join("\n")}
  set denied { type ipv4_addr; flags interval; ${toElements(denied)} }
  set own { type ipv4_addr; flags interval; ${toElements(own)} }
  set kept { type ipv4_addr; flags interval; ${toElements(kept)} }
  set never { type ipv4_addr; flags interval; ${toElements(NEVER_GRANTED.map(parseRange))} }
  map scopes { type ipv4_addr : verdict; }
  set connections { type ipv4_addr; size 65535; flags dynamic; }
  set starts { type ipv4_addr; size 65535; flags dynamic; timeout 1m; }
  set lookups { type ipv4_addr; size 65535; flags dynamic; timeout 1m; }

  chain forward {
    type filter hook forward priority filter; policy drop;
    iifname "${UPLINK.device}" oifname "${SLOT_DEVICES}" ct state established,related accept
    iifname "${SLOT_DEVICES}" oifname "${UPLINK.device}" goto outbound
    iifname "${SLOT_DEVICES}" counter name sibling goto refuse
  }
  chain outbound {
    meta nfproto != ipv4 counter name protocol drop
    ip hdrlength > 5 counter name protocol drop
    fib saddr . iif oif 0 counter name spoofed drop
    iifgroup ${CONFINED_GROUP} goto confined
    ${forwardsNames ? `ip daddr ${UPLINK.nameserver} meta l4proto { tcp, udp } th dport 53 goto names` : ""}
    ip daddr @denied counter name denied goto refuse
    ip daddr @own counter name own goto refuse
    meta l4proto != { tcp, udp } counter name protocol goto refuse
    tcp dport 25 counter name smtp goto refuse
    goto admitted
  }
  chain confined {
    ip daddr @own counter name own goto refuse
    ip daddr @never counter name denied goto refuse
    ip saddr vmap @scopes
    counter name elsewhere goto refuse
  }
  chain admitted {
    ct state established,related accept
    ct state != new counter name protocol drop
    add @connections { ip saddr ct count over ${limits.connections} } counter name flooding goto refuse
    add @starts { ip saddr limit rate over ${toRate(limits.newPerSecond, limits.newBurst)} } counter name flooding goto refuse
    accept
  }
  chain names {
    ct state established accept
    ct state != new counter name protocol drop
    add @lookups { ip saddr limit rate over ${toRate(limits.lookupsPerSecond, limits.lookupsBurst)} } counter name flooding goto refuse
    accept
  }
${METERING}
  chain refuse {
    meta l4proto { tcp, udp } ip saddr vmap @refused
    meta l4proto tcp reject with tcp reset
    meta nfproto ipv4 reject with icmp type admin-prohibited
    drop
  }
  chain input {
    type filter hook input priority filter; policy drop;
    iifname "${SLOT_DEVICES}" counter name router goto refuse
  }
  chain leaving {
    type filter hook postrouting priority filter; policy accept;
    oifname "${UPLINK.device}" counter name uplink
  }
  chain translate {
    type nat hook postrouting priority srcnat; policy accept;
    oifname "${UPLINK.device}" masquerade
  }
}
`;
}

/** What `nft -f` reads to change the own addresses in a running router: all at once, or not at all. */
export function toOwnUpdate({ own, kept }: OwnRanges): string {
  const toUpdate = (name: string, ranges: readonly AddressRange[]): string => {
    const elements = listElements(ranges);
    return `flush set ${TABLE} ${name}\n${elements === "" ? "" : `add element ${TABLE} ${name} { ${elements} }\n`}`;
  };
  return toUpdate("own", own) + toUpdate("kept", kept);
}

/** Addresses and TCP ports that a scope lets through. */
export interface Passage {
  readonly ranges: readonly AddressRange[];
  readonly ports: readonly PortRange[];
  /** Whether the operator granted it. What nobody granted is public, or is not reached. */
  readonly isGranted: boolean;
}

/** What `nft -f` reads to make a scope, or to change it for all links at once. A scope without passages lets nothing through. */
export function toScopeRules(scope: number | string, passages: readonly Passage[]): string {
  const rules = passages
    .filter(({ ranges }) => ranges.length > 0)
    .map(({ ranges, ports, isGranted }) => {
      const dports = ports.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(", ");
      const never = isGranted ? "kept" : "denied";
      return `ip daddr { ${listElements(ranges)} } ip daddr != @${never} tcp dport { ${dports} } goto admitted`;
    });
  const chain = `${TABLE} scope${scope}`;
  const lines = [...rules, "counter name elsewhere goto refuse"].map((rule) => `add rule ${chain} ${rule}\n`);
  return `add chain ${chain}\nflush chain ${chain}\n${lines.join("")}`;
}

/** What `nft -f` reads to put links into a scope, by the addresses of their slots, and to take others out of it. */
export function toScopeChange(
  scope: number | string,
  change: { add?: readonly string[]; remove?: readonly string[] },
): string {
  const added = (change.add ?? []).map(
    (address) => `add element ${TABLE} scopes { ${address} : goto scope${scope} }\n`,
  );
  const removed = (change.remove ?? []).map((address) => `delete element ${TABLE} scopes { ${address} }\n`);
  return [...added, ...removed].join("");
}

/** What `nft -f` reads to remove a scope that no link is in. */
export function toScopeRemoval(scope: number | string): string {
  return `flush chain ${TABLE} scope${scope}\ndelete chain ${TABLE} scope${scope}\n`;
}

/** For `nft`: says what each counter has counted. */
export const LIST_COUNTERS = ["list", "counters", "table", ...TABLE.split(" ")];

/** Packets by counter, out of what `nft` said. Throws when one is missing. */
export function parseCounters(text: string): Record<CounterName, number> {
  const counts = new Map(
    [...text.matchAll(/counter (\w+) \{\s*packets (\d+)/g)].map(([, name, n]) => [name, Number(n)]),
  );
  const entries = COUNTERS.map((name) => {
    const count = counts.get(name);
    if (count === undefined) throw new Error(`The router's rules have no counter ${name}.`);
    return [name, count] as const;
  });
  return Object.fromEntries(entries) as Record<CounterName, number>;
}

function toElements(ranges: readonly AddressRange[]): string {
  const elements = listElements(ranges);
  return elements === "" ? "" : `elements = { ${elements} }`;
}

function listElements(ranges: readonly AddressRange[]): string {
  return mergeRanges(ranges)
    .map(({ first, last }) => (first === last ? toAddress(first) : `${toAddress(first)}-${toAddress(last)}`))
    .join(", ");
}

function toRate(perSecond: number, burst: number): string {
  return `${perSecond}/second burst ${burst} packets`;
}
