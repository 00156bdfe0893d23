import { SLOT_DEVICES, UPLINK } from "./plan.ts";
import { type AddressRange, mergeRanges, toAddress } from "./ranges.ts";

const TABLE = "inet treadle";

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
  "uplink",
] as const;
export type CounterName = (typeof COUNTERS)[number];

export interface RulesetFacts {
  readonly denied: readonly AddressRange[];
  readonly own: readonly AddressRange[];
  readonly limits: ConnectionLimits;
  /** Whether names may be looked up through slirp4netns at the host's resolver. */
  readonly forwardsNames: boolean;
}

/**
 * What `nft -f` reads. Everything is forbidden that is not allowed here. The destination is checked on every packet,
 * also of connections that exist, so an address that becomes ours later is cut off at once. Refusals are resets, since
 * programs wait seconds for anything else.
 */
export function toRuleset({ denied, own, limits, forwardsNames }: RulesetFacts): string {
  return `table ${TABLE} {
${COUNTERS.map((name) => `  counter ${name} { }`).join("\n")}
  set denied { type ipv4_addr; flags interval; ${toElements(denied)} }
  set own { type ipv4_addr; flags interval; ${toElements(own)} }
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
    ${forwardsNames ? `ip daddr ${UPLINK.nameserver} meta l4proto { tcp, udp } th dport 53 goto names` : ""}
    ip daddr @denied counter name denied goto refuse
    ip daddr @own counter name own goto refuse
    meta l4proto != { tcp, udp } counter name protocol goto refuse
    tcp dport 25 counter name smtp goto refuse
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
  chain refuse {
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
export function toOwnUpdate(own: readonly AddressRange[]): string {
  const elements = listElements(own);
  return `flush set ${TABLE} own\n${elements === "" ? "" : `add element ${TABLE} own { ${elements} }\n`}`;
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
