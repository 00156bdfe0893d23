import { type AddressRange, isWithin, parseRange, toAddress } from "../../domain/address-ranges.ts";
import { type Launcher, runCommand } from "./commands.ts";
import { planSlot, UPLINK } from "./plan.ts";
import type { Router } from "./router.ts";
import { type CounterName, type RulesetFacts, toScopeChange, toScopeRemoval, toScopeRules } from "./ruleset.ts";

const PORT = 443;
const OWN_MAX = 16;
const PROBLEMS_MAX = 5;
/** Any address of the internet will do, as nothing leaves the dead end; several, in case one is protected here. */
const PUBLIC_ADDRESSES = ["1.1.1.1", "8.8.8.8", "9.9.9.9"];
/** Private ones that a test grants to its slot, where they are not this host's. */
const PRIVATE_ADDRESSES = ["10.20.30.40", "172.31.30.40", "192.168.30.40"];
/** Scopes of executions count from 0. */
const TRIAL_SCOPE = "test";
/** Ranges that the kernel of the slot or of the router keeps from ever being forwarded; nothing refuses them in our name. */
const NEVER_ROUTED = ["0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3"].map(parseRange);
const IPV6_ADDRESSES = ["2606:4700:4700::1111", "fd00:ec2::254", "fe80::1", "ff02::1"];

/**
 * Sends one packet for each line of `[protocol, address, port, awaited]` and prints how each ended: the name of an
 * error, or null. It waits until all awaited answers are there, at most one second.
 */
const PROBE = `
import errno, json, select, socket, sys, time
probes = json.load(sys.stdin)
answers, waiting, poll = [None] * len(probes), {}, select.poll()
for number, (protocol, address, port, awaited) in enumerate(probes):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        client = socket.socket(family, socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM)
        client.setblocking(False)
        if protocol == "udp":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            client.sendto(b"treadle", (address, port))
        else:
            code = client.connect_ex((address, port))
            if code == errno.EINPROGRESS:
                waiting[client.fileno()] = (number, client, awaited)
                poll.register(client, select.POLLOUT)
            else:
                answers[number] = errno.errorcode.get(code, "connected")
    except OSError as error:
        answers[number] = errno.errorcode.get(error.errno, "error")
end = time.monotonic() + 1
while any(awaited for _, _, awaited in waiting.values()) and time.monotonic() < end:
    for descriptor, _ in poll.poll(100):
        number, client, _ = waiting.pop(descriptor)
        poll.unregister(descriptor)
        code = client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        answers[number] = errno.errorcode.get(code, "connected")
json.dump(answers, sys.stdout)
`;

interface Probe {
  readonly protocol: "tcp" | "udp";
  readonly address: string;
  readonly port: number;
  /** The counter that must count this packet; `nothing` when it must be counted by none, and must not pass either. */
  readonly counter: CounterName | "nothing";
}

interface Tools {
  readonly python: string;
  readonly launcher: Launcher;
}

interface Slots {
  readonly slot: number;
  readonly sibling: number;
}

/**
 * Sends packets from one slot to everything that must be refused, and to an address that must not, while the uplink is a
 * dead end. Returns what is wrong, at most five things; empty means that every packet met the rule it had to meet.
 */
export async function testRouter(router: Router, slots: Slots, facts: RulesetFacts, tools: Tools): Promise<string[]> {
  const probes = listProbes(slots, facts);
  if (!probes.some(({ counter }) => counter === "uplink")) return ["No public address is left to test with."];
  return send(router, slots.slot, probes, tools);
}

/**
 * The same for links whose programs have destinations. The slot is in no scope first. Then it is in one with a public host
 * and a granted private one. It stays confined.
 */
export async function testScope(router: Router, slots: Slots, facts: RulesetFacts, tools: Tools): Promise<string[]> {
  const { slot } = slots;
  const isFree = (address: string) =>
    [facts.own, facts.kept].every((ranges) => !isWithin(ranges, parseRange(address).first));
  const granted = PRIVATE_ADDRESSES.find(isFree);
  const [open, other] = PUBLIC_ADDRESSES.filter(isFree);
  if (granted === undefined || open === undefined || other === undefined)
    return ["No address is left to test destinations with."];
  await router.confineSlot(slot);
  const closed = await send(
    router,
    slot,
    [{ protocol: "tcp", address: open, port: PORT, counter: "elsewhere" }],
    tools,
  );
  if (closed.length > 0) return closed;
  const { slotAddress } = planSlot(slot);
  const ports = [{ first: PORT, last: PORT }];
  const passages = [
    { ranges: [parseRange(open)], ports, isGranted: false },
    { ranges: [parseRange(granted)], ports, isGranted: true },
  ];
  await router.changeRules(toScopeRules(TRIAL_SCOPE, passages) + toScopeChange(TRIAL_SCOPE, { add: [slotAddress] }));
  const problems = await send(router, slot, listScopeProbes(slots, facts, { open, other, granted }), tools);
  await router.changeRules(toScopeChange(TRIAL_SCOPE, { remove: [slotAddress] }) + toScopeRemoval(TRIAL_SCOPE));
  return problems;
}

function listScopeProbes(
  { slot, sibling }: Slots,
  { own }: RulesetFacts,
  { open, other, granted }: { readonly open: string; readonly other: string; readonly granted: string },
): Probe[] {
  const tcp = (address: string, port: number, counter: Probe["counter"]): Probe => {
    return { protocol: "tcp", address, port, counter };
  };
  const routed = own.filter(({ first }) => !isWithin(NEVER_ROUTED, first)).slice(0, OWN_MAX);
  return [
    ...[open, granted].flatMap((address) => [
      tcp(address, PORT, "uplink"),
      tcp(address, PORT + 1, "elsewhere"),
      { protocol: "udp", address, port: PORT, counter: "elsewhere" } as const,
    ]),
    tcp(other, PORT, "elsewhere"),
    ...routed.map(({ first }) => tcp(toAddress(first), PORT, "own")),
    ...[UPLINK.gateway, "169.254.169.254"].map((address) => tcp(address, PORT, "denied")),
    { protocol: "udp", address: UPLINK.nameserver, port: 53, counter: "denied" },
    tcp(planSlot(sibling).slotAddress, PORT, "sibling"),
    tcp(planSlot(slot).routerAddress, PORT, "router"),
    ...IPV6_ADDRESSES.map((address) => tcp(address, PORT, "nothing")),
  ];
}

/** Sends a packet for each probe, and returns what is wrong with what became of them. */
async function send(router: Router, slot: number, probes: readonly Probe[], tools: Tools): Promise<string[]> {
  const { python, launcher } = tools;
  const input = probes.map(({ protocol, address, port, counter }) => [
    protocol,
    address,
    port,
    isReset({ protocol, counter }),
  ]);
  const at = { ...launcher, prefix: router.enter(slot) };
  const before = await router.readCounters();
  const text = await runCommand(at, [python, "-I", "-S", "-c", PROBE], JSON.stringify(input));
  const answers = JSON.parse(text) as (string | null)[];
  const after = await router.readCounters();
  const countOf = (name: CounterName): number => after[name] - before[name];

  const problems = probes.flatMap((probe, index) => validate(probe, answers[index] ?? null));
  for (const name of ["denied", "own", "smtp", "sibling", "router", "elsewhere"] as const) {
    const expected = probes.filter(({ counter }) => counter === name).length;
    if (countOf(name) < expected)
      problems.push(`${expected} packets had to be refused by the rule "${name}", and ${countOf(name)} were`);
  }
  const passing = probes.filter(({ counter }) => counter === "uplink").length;
  if (countOf("uplink") !== passing)
    problems.push(`${passing} packets had to reach the uplink, and ${countOf("uplink")} did`);
  return problems.slice(0, PROBLEMS_MAX);
}

function isReset({ protocol, counter }: Pick<Probe, "protocol" | "counter">): boolean {
  return protocol === "tcp" && counter !== "nothing" && counter !== "uplink";
}

function validate(probe: Probe, answer: string | null): string[] {
  const where = `${probe.protocol} to ${probe.address}:${probe.port}`;
  if (isReset(probe) && answer !== "ECONNREFUSED") return [`${where} was not reset (${answer ?? "no answer"})`];
  if (probe.address.includes(":") && answer === null) return [`${where} found a way out over IPv6`];
  if (answer === "connected") return [`${where} was connected`];
  return [];
}

function listProbes({ slot, sibling }: Slots, facts: RulesetFacts): Probe[] {
  const own = facts.own.filter(({ first }) => !isWithin(facts.denied, first) && !isWithin(NEVER_ROUTED, first));
  const open = PUBLIC_ADDRESSES.filter((address) => {
    const { first } = parseRange(address);
    return !isWithin(facts.denied, first) && !isWithin(facts.own, first);
  }).slice(0, 1);
  const both = (address: string, counter: Probe["counter"], port = PORT): Probe[] => [
    { protocol: "tcp", address, port, counter },
    { protocol: "udp", address, port, counter },
  ];
  return [
    ...facts.denied.flatMap((range) =>
      both(pickAddress(range), isWithin(NEVER_ROUTED, range.first) ? "nothing" : "denied"),
    ),
    ...[UPLINK.gateway, UPLINK.nameserver, "169.254.169.254"].flatMap((address) => both(address, "denied", 80)),
    ...own.slice(0, OWN_MAX).flatMap((range) => both(toAddress(range.first), "own")),
    ...both(planSlot(sibling).slotAddress, "sibling"),
    ...both(planSlot(slot).routerAddress, "router"),
    ...both(UPLINK.address, "router"),
    ...IPV6_ADDRESSES.flatMap((address) => both(address, "nothing")),
    ...open.flatMap((address) => [
      ...both(address, "uplink"),
      { protocol: "tcp", address, port: 25, counter: "smtp" } as const,
    ]),
    ...(facts.forwardsNames ? both(UPLINK.nameserver, "uplink", 53) : []),
  ];
}

/** The first address that a host can have. */
function pickAddress({ first, last }: AddressRange): string {
  return toAddress(Math.min(first + 1, last));
}
