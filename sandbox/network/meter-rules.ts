import { planSlot, SLOT_DEVICES } from "./plan.ts";

/** Packets that the rules let through, answers to them, and packets that the rules refused. Names of maps, too. */
const METER_KINDS = ["sent", "received", "refused"] as const;
type MeterKind = (typeof METER_KINDS)[number];

/** Further destinations of one execution are counted together. */
const ENTRIES_MAX: Readonly<Record<MeterKind, number>> = { sent: 100, received: 100, refused: 50 };
/** The one set for what is counted together; its keys are marks of packets. */
const REST = "rest";
const REST_MARKS = { sent: 1, begun: 2, received: 3, refused: 4 } as const;
/** Of conversations whose first packet got an entry, so that their answers find room, too. */
const LISTED_MARK = 1;

const REMOTE_OF: Readonly<Record<MeterKind, string>> = {
  sent: "ip daddr . meta l4proto . th dport",
  received: "ip saddr . meta l4proto . th sport",
  refused: "ip daddr . meta l4proto . th dport",
};

/** Part of the rules of a router: hands the packets that were let through, after everything else, to the meter of their slot. */
export const METERING = `${METER_KINDS.map((kind) => `  map ${kind} { type ipv4_addr : verdict; }`).join("\n")}
  chain metering {
    type filter hook forward priority 1; policy accept;
    meta l4proto != { tcp, udp } accept
    iifname "${SLOT_DEVICES}" ip saddr vmap @sent
    oifname "${SLOT_DEVICES}" ip daddr vmap @received
  }`;

/** Packets to or from one port of one address. */
export interface MeterEntry {
  readonly address: string;
  readonly protocol: "tcp" | "udp";
  readonly port: number;
  readonly packets: number;
  readonly bytes: number;
}

/** What the meter of one slot has counted. */
export interface MeterReading extends Readonly<Record<MeterKind, readonly MeterEntry[]>> {
  /** Of destinations that are not listed any more. `begun` are packets that began a conversation. */
  readonly rest: {
    readonly begun: number;
    readonly sentBytes: number;
    readonly receivedBytes: number;
    readonly refused: number;
  };
}

/**
 * What `nft -f` reads to count what a slot sends and receives. The kernel keeps a counter for each remote address and
 * port. A set that is full takes no more, and the next rule counts instead.
 */
export function toMeterRules(table: string, slot: number): string {
  const rest = (mark: number) => `meta mark set ${mark} add @${REST}${slot} { meta mark counter }`;
  const rules: Readonly<Record<MeterKind, readonly string[]>> = {
    sent: [
      `add @sent${slot} { ${REMOTE_OF.sent} counter } ct mark set ${LISTED_MARK} return`,
      rest(REST_MARKS.sent),
      `ct state new ${rest(REST_MARKS.begun)}`,
    ],
    received: [
      `ct mark ${LISTED_MARK} add @received${slot} { ${REMOTE_OF.received} counter } return`,
      rest(REST_MARKS.received),
    ],
    refused: [`add @refused${slot} { ${REMOTE_OF.refused} counter } return`, rest(REST_MARKS.refused)],
  };
  const lines = METER_KINDS.flatMap((kind) => [
    `add set ${table} ${kind}${slot} { type ipv4_addr . inet_proto . inet_service; size ${ENTRIES_MAX[kind]}; flags dynamic; }`,
    `add chain ${table} ${kind}${slot}`,
    ...rules[kind].map((rule) => `add rule ${table} ${kind}${slot} ${rule}`),
    `add element ${table} ${kind} { ${planSlot(slot).slotAddress} : jump ${kind}${slot} }`,
  ]);
  const size = Object.keys(REST_MARKS).length;
  return toText([`add set ${table} ${REST}${slot} { type mark; size ${size}; flags dynamic; }`, ...lines]);
}

/** What `nft -f` reads to remove the meter of a slot. */
export function toMeterRemoval(table: string, slot: number): string {
  const { slotAddress } = planSlot(slot);
  return toText([
    ...METER_KINDS.flatMap((kind) => [
      `delete element ${table} ${kind} { ${slotAddress} }`,
      `flush chain ${table} ${kind}${slot}`,
      `delete chain ${table} ${kind}${slot}`,
      `delete set ${table} ${kind}${slot}`,
    ]),
    `delete set ${table} ${REST}${slot}`,
  ]);
}

/** Commands for `nft -j -i`, each answered with one line. */
export function toMeterQuestions(table: string, slot: number): string[] {
  return [...METER_KINDS, REST].map((name) => `list set ${table} ${name}${slot}`);
}

interface Counted {
  readonly val: number | { readonly concat: readonly [string, "tcp" | "udp", number] };
  readonly counter: { readonly packets: number; readonly bytes: number };
}

/** Reads the answers to `toMeterQuestions`, in their order. Throws when they are something else. */
export function parseMeter(answers: readonly string[]): MeterReading {
  const [sent = [], received = [], refused = [], rest = []] = answers.map(listElements);
  const marked = (mark: number) => rest.find(({ val }) => val === mark)?.counter ?? { packets: 0, bytes: 0 };
  return {
    sent: sent.map(toEntry),
    received: received.map(toEntry),
    refused: refused.map(toEntry),
    rest: {
      begun: marked(REST_MARKS.begun).packets,
      sentBytes: marked(REST_MARKS.sent).bytes,
      receivedBytes: marked(REST_MARKS.received).bytes,
      refused: marked(REST_MARKS.refused).packets,
    },
  };
}

function listElements(answer: string): Counted[] {
  const { nftables } = JSON.parse(answer) as { nftables: { set?: { elem?: { elem: Counted }[] } }[] };
  const set = nftables.find((one) => one.set !== undefined)?.set;
  if (set === undefined) throw new Error("The router's rules did not answer with a set.");
  return (set.elem ?? []).map(({ elem }) => elem);
}

function toEntry({ val, counter }: Counted): MeterEntry {
  if (typeof val === "number") throw new Error("The router's rules answered with a mark where a port belongs.");
  const [address, protocol, port] = val.concat;
  return { address, protocol, port, packets: counter.packets, bytes: counter.bytes };
}

function toText(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}
