import { DENIED_RANGES, isRange, isWithin, overlaps, parseRange } from "./address-ranges.ts";

/** How `limits.network.to` and paths name a destination that the operator granted. */
export const DESTINATION_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;
/** A granted range has at most this many addresses: a /16. */
const RANGE_ADDRESSES_MAX = 65_536;
const PORTS_MAX = 16;
const ENDPOINT_CHARACTERS_MAX = 300;

/** Of the internet, a name has at least two parts. The last one is no number, so that nothing here is an address. */
const LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
const HOST_NAME = new RegExp(`^(?=.{1,253}$)(${LABEL}\\.)*(?![0-9]+$)${LABEL}$`);

/** Ports as whole numbers, both ends included. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** A host and some of its TCP ports. */
export interface Endpoint {
  /** A name in small letters, an IPv4 address, or a range of them such as 10.20.0.0/24. */
  readonly host: string;
  readonly ports: readonly PortRange[];
}

export type EndpointReading = { readonly endpoint: Endpoint } | { readonly problem: string };

/** Where an execution may connect to. */
export interface Destination extends Endpoint {
  /** As `limits.network.to` has it. */
  readonly name: string;
  /** The grant of the operator. Null: a public host, which the manifest names itself. */
  readonly grantId: string | null;
}

/** Reads `HOST:PORTS`, such as `10.20.0.5:5432`, `db.example.com:5432,6432` or `10.20.0.0/24:8000-8010`. */
export function parseEndpoint(text: string): EndpointReading {
  if (text.length > ENDPOINT_CHARACTERS_MAX)
    return { problem: `must have at most ${ENDPOINT_CHARACTERS_MAX} characters.` };
  const end = text.lastIndexOf(":");
  if (end < 0) return { problem: `${JSON.stringify(text)} has no port. Write one, such as ${text || "HOST"}:443.` };
  const host = text.slice(0, end).toLowerCase().replace(/\.$/, "");
  const hostProblem = findHostProblem(host);
  if (hostProblem !== undefined) return { problem: hostProblem };
  const ports = text
    .slice(end + 1)
    .split(",")
    .map(parsePorts);
  if (ports.length > PORTS_MAX) return { problem: `must have at most ${PORTS_MAX} ports and ranges of ports.` };
  const good = ports.filter((range) => range !== undefined);
  if (good.length === ports.length) return { endpoint: { host, ports: good } };
  return {
    problem: `${JSON.stringify(text.slice(end + 1))} is no port. Ports are from 1 to 65535: 5432, or 5432,6432, or 8000-8010.`,
  };
}

function findHostProblem(host: string): string | undefined {
  if (host.includes(":")) return "must be an IPv4 address: programs have no IPv6.";
  if (!isRange(host))
    return HOST_NAME.test(host)
      ? undefined
      : `${JSON.stringify(host)} is neither the name of a host nor an IPv4 address or range, such as 10.20.0.0/24.`;
  const { first, last } = parseRange(host);
  if (last - first + 1 > RANGE_ADDRESSES_MAX) return `${host} is a larger range than a /16.`;
  const isExact = !host.includes("/") || parseRange(host.replace(/\/.*/, "")).first === first;
  return isExact ? undefined : `${host} has bits behind its prefix. Write the first address of the range.`;
}

function parsePorts(text: string): PortRange | undefined {
  const [, first = "", last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
  const range = { first: Number(first), last: Number(last) };
  return first !== "" && range.first >= 1 && range.last <= 65_535 && range.first <= range.last ? range : undefined;
}

/** Writes what `parseEndpoint` reads. */
export function formatEndpoint({ host, ports }: Endpoint): string {
  return `${host}:${formatPorts(ports)}`;
}

/** Writes ports as `parseEndpoint` reads them. */
export function formatPorts(ports: readonly PortRange[]): string {
  return ports.map(({ first, last }) => (first === last ? String(first) : `${first}-${last}`)).join(",");
}

/** Returns whether an endpoint has this port of a host, which is a name or an IPv4 address. A name has no address of its own. */
export function covers({ host, ports }: Endpoint, other: string, port: number): boolean {
  if (!ports.some(({ first, last }) => first <= port && port <= last)) return false;
  return host === other || (isRange(host) && isRange(other) && isWithin([parseRange(host)], parseRange(other).first));
}

/** Returns why a manifest cannot name this host and these ports by itself; undefined when it can. */
export function findPublicProblem({ host, ports }: Endpoint): string | undefined {
  if (isRange(host)) {
    if (host.includes("/")) return `${host} is a range. Name hosts one by one; the operator grants ranges by name.`;
    if (isWithin(DENIED_RANGES.map(parseRange), parseRange(host).first))
      return `${host} is no public address. The operator grants private ones by name: treadle destinations add`;
  } else if (!host.includes(".")) {
    return `${host} is no public name. The operator grants private hosts by name: treadle destinations add`;
  }
  return ports.some(({ first, last }) => first <= 25 && 25 <= last)
    ? "Port 25 is closed: send mail over 465 or 587."
    : undefined;
}

/** Returns why an operator cannot grant this address or range, as far as it says by itself; undefined for names. */
export function findGrantProblem(host: string): string | undefined {
  if (!isRange(host)) return undefined;
  const range = parseRange(host);
  const never = NEVER_GRANTED.find((one) => overlaps(parseRange(one), range));
  return never && `${host} is within ${never}, which no program may reach: see docs/network.md.`;
}

/**
 * What cannot be granted to anybody: loopback, link-local addresses, the metadata of clouds and multicast. Nor can the
 * addresses that the network of executions has itself.
 */
export const NEVER_GRANTED = [
  "0.0.0.0/8", // this network
  "10.0.2.0/24", // the uplink of the router
  "100.100.100.200/32", // metadata of Alibaba
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // Azure's WireServer
  "169.254.0.0/16", // link-local, metadata of most clouds
  "192.0.0.0/24", // protocol assignments; metadata of Oracle
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, broadcast, and the links between router and executions
];
