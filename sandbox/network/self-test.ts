import { type Launcher, runCommand } from "./commands.ts";
import { planSlot, UPLINK } from "./plan.ts";
import { type AddressRange, isWithin, parseRange, toAddress } from "./ranges.ts";
import type { Router } from "./router.ts";
import type { CounterName, RulesetFacts } from "./ruleset.ts";

const PORT = 443;
const OWN_MAX = 16;
const PROBLEMS_MAX = 5;
/** Any address of the internet will do, as nothing leaves the dead end; several, in case one is protected here. */
const PUBLIC_ADDRESSES = ["1.1.1.1", "8.8.8.8", "9.9.9.9"];
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

/**
 * Sends packets from one slot to everything that must be refused, and to an address that must not, while the uplink is a
 * dead end. Returns what is wrong, at most five things; empty means that every packet met the rule it had to meet.
 */
export async function testRouter(
  router: Router,
  { slot, sibling }: { readonly slot: number; readonly sibling: number },
  facts: RulesetFacts,
  { python, launcher }: { readonly python: string; readonly launcher: Launcher },
): Promise<string[]> {
  const probes = listProbes({ slot, sibling }, facts);
  if (!probes.some(({ counter }) => counter === "uplink")) return ["No public address is left to test with."];
  const input = probes.map(({ protocol, address, port, counter }) => [
    protocol,
    address,
    port,
    isReset({ protocol, counter }),
  ]);
  const at = { ...launcher, prefix: router.enter(slot) };
  const text = await runCommand(at, [python, "-I", "-S", "-c", PROBE], JSON.stringify(input));
  const answers = JSON.parse(text) as (string | null)[];
  const counters = await router.readCounters();

  const problems = probes.flatMap((probe, index) => validate(probe, answers[index] ?? null));
  for (const name of ["denied", "own", "smtp", "sibling", "router"] as const) {
    const expected = probes.filter(({ counter }) => counter === name).length;
    if (counters[name] < expected)
      problems.push(`${expected} packets had to be refused by the rule "${name}", and ${counters[name]} were`);
  }
  const passing = probes.filter(({ counter }) => counter === "uplink").length;
  if (counters.uplink !== passing)
    problems.push(`${passing} packets had to reach the uplink, and ${counters.uplink} did`);
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

function listProbes({ slot, sibling }: { slot: number; sibling: number }, facts: RulesetFacts): Probe[] {
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
