/** A run of IPv4 addresses as whole numbers, both ends included. */
export interface AddressRange {
  readonly first: number;
  readonly last: number;
}

/** The ranges that stand for "some address on the internet" in documents and in tests (RFC 5737). */
export const DOCUMENTATION_RANGES = ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"];

/**
 * Where no execution may connect to: what the IANA special-purpose registry does not call globally reachable. Also the
 * addresses under which clouds offer machines their own secrets although they look public.
 */
export const DENIED_RANGES = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT; Alibaba's metadata is 100.100.100.200
  "127.0.0.0/8", // loopback
  "169.254.0.0/16", // link-local; metadata of most clouds is 169.254.169.254
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments; Oracle's metadata is 192.0.0.192
  "192.88.99.0/24", // 6to4 relays, withdrawn
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "168.63.129.16/32", // Azure's WireServer
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
  ...DOCUMENTATION_RANGES,
];

/** Returns whether a text is an address or a range. */
export function isRange(text: string): boolean {
  return findRange(text) !== undefined;
}

/** Returns whether two ranges have an address in common. */
export function overlaps(one: AddressRange, other: AddressRange): boolean {
  return one.first <= other.last && other.first <= one.last;
}

/** Reads `a.b.c.d` or `a.b.c.d/n`; bits beyond the prefix are ignored. Throws on anything else. */
export function parseRange(text: string): AddressRange {
  const range = findRange(text);
  if (range === undefined)
    throw new Error(`${JSON.stringify(text)} is neither an IPv4 address nor a range such as 10.0.0.0/8.`);
  return range;
}

function findRange(text: string): AddressRange | undefined {
  const [, address = "", prefix = "32"] = /^(\d{1,3}(?:\.\d{1,3}){3})(?:\/(\d{1,2}))?$/.exec(text) ?? [];
  const bytes = address.split(".").map(Number);
  const bits = Number(prefix);
  if (bytes.length !== 4 || bytes.some((byte) => byte > 255) || bits > 32) return undefined;
  const size = 2 ** (32 - bits);
  const value = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  const first = Math.floor(value / size) * size;
  return { first, last: first + size - 1 };
}

/** The same addresses in as few runs as possible, in order: an nftables set refuses runs that overlap. */
export function mergeRanges(ranges: readonly AddressRange[]): AddressRange[] {
  const merged: AddressRange[] = [];
  for (const range of [...ranges].sort((one, other) => one.first - other.first)) {
    const previous = merged.at(-1);
    if (previous === undefined || range.first > previous.last + 1) merged.push(range);
    else merged[merged.length - 1] = { first: previous.first, last: Math.max(previous.last, range.last) };
  }
  return merged;
}

/** Returns whether an address, as a number, lies in one of the ranges. */
export function isWithin(ranges: readonly AddressRange[], address: number): boolean {
  return ranges.some(({ first, last }) => first <= address && address <= last);
}

/** `a.b.c.d` of a whole number. */
export function toAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}
