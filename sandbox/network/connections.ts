import { isWithin, parseRange } from "../../domain/address-ranges.ts";
import type { Connection, Connections } from "../../domain/connections.ts";
import type { Located } from "./address-book.ts";
import type { MeterEntry, MeterReading } from "./meter-rules.ts";
import { UPLINK } from "./plan.ts";

/** Where names are looked up for programs; the address says nothing to anybody. */
const NAME_SERVER = "name server";

type Remote = Pick<Connection, "address" | "port" | "protocol">;

/** Returns what was connected to, out of what a meter has counted. `located` are the only destinations that were open, where there are some. */
export function toConnections(reading: MeterReading, located: readonly Located[] = []): Connections {
  const found = new Map<string, Connection>();
  const count = (entries: readonly MeterEntry[], add: (one: Connection, entry: MeterEntry) => Partial<Connection>) => {
    for (const entry of entries) {
      const { address, port, protocol } = entry;
      const key = `${address}:${port}/${protocol}`;
      const name = findName({ address, port, protocol }, located);
      const none = { name, address, port, protocol, sentBytes: 0, receivedBytes: 0, refused: 0 };
      const before = found.get(key) ?? none;
      found.set(key, { ...before, ...add(before, entry) });
    }
  };
  count(reading.sent, (_, { bytes }) => ({ sentBytes: bytes }));
  count(reading.received, (_, { bytes }) => ({ receivedBytes: bytes }));
  count(reading.refused, (_, { packets }) => ({ refused: packets }));
  const { begun, ...rest } = reading.rest;
  const more = { connections: begun, ...rest };
  return {
    destinations: [...found.values()].sort(compare),
    more: Object.values(more).some((amount) => amount > 0) ? more : null,
  };
}

/** An address that two names lead to has neither. */
function findName({ address, port, protocol }: Remote, located: readonly Located[]): string | null {
  if (address === UPLINK.nameserver && port === 53) return NAME_SERVER;
  const value = parseRange(address).first;
  const names = located
    .filter(({ destination: { ports } }) => ports.some(({ first, last }) => first <= port && port <= last))
    .filter(({ reachable }) => protocol === "tcp" && isWithin(reachable.map(parseRange), value))
    .map(({ destination: { name, host, grantId } }) => (grantId === null ? host : name));
  const [name = null, ...others] = new Set(names);
  return others.length === 0 ? name : null;
}

/** Those that were reached come first, those with the most bytes before others. */
function compare(one: Connection, other: Connection): number {
  const volume = ({ sentBytes, receivedBytes }: Connection) => sentBytes + receivedBytes;
  return (
    volume(other) - volume(one) ||
    other.refused - one.refused ||
    parseRange(one.address).first - parseRange(other.address).first ||
    one.port - other.port
  );
}
