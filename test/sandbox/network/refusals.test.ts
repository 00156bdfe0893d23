import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { runCommand, startHolder } from "../../../sandbox/network/commands.ts";
import {
  enterRouter,
  hear,
  PROGRAMS,
  removeRules,
  runDirectly,
  runInSlot,
  type Service,
  type Slot,
  startService,
  type Target,
  tryTargets,
  writeProgram,
} from "./bench.ts";
import { SERVER } from "./server.ts";
import { HOST, IS_ROOT, makeWorld, OUTSIDE, USER, type World } from "./world.ts";

/** What must be refused; the last word is who answers when nothing refuses. */
const FORBIDDEN: readonly (readonly [what: string, ...Target, answers: string])[] = [
  ["the host's public address", "tcp", HOST.public, 8080, "host"],
  ["the host's public address by UDP", "udp", HOST.public, 8080, "host"],
  ["the host's private address", "tcp", HOST.private, 8080, "host"],
  ["10.0.0.0/8", "tcp", OUTSIDE.private10, 8080, "outside"],
  ["10.0.0.0/8 by UDP", "udp", OUTSIDE.private10, 8080, "outside"],
  ["172.16.0.0/12", "tcp", OUTSIDE.private172, 8080, "outside"],
  ["192.168.0.0/16", "tcp", OUTSIDE.private192, 8080, "outside"],
  ["100.64.0.0/10", "tcp", OUTSIDE.carrier, 8080, "outside"],
  ["198.18.0.0/15", "tcp", OUTSIDE.benchmark, 8080, "outside"],
  ["the metadata service", "tcp", OUTSIDE.metadata, 8080, "outside"],
  ["the metadata service by UDP", "udp", OUTSIDE.metadata, 8080, "outside"],
  ["Azure's metadata service", "tcp", OUTSIDE.azure, 8080, "outside"],
  ["a name that leads to a private address", "tcp", "rebind.test", 8080, "outside"],
  ["a name that leads to the metadata service", "tcp", "meta.test", 8080, "outside"],
  ["a private address mapped into IPv6", "tcp", "::ffff:10.99.0.1", 8080, "outside"],
  ["a private address in hexadecimal", "tcp", "0x0a630001", 8080, "outside"],
  ["a private address as one number", "tcp", "174260225", 8080, "outside"],
  ["a private address in octal", "tcp", "012.0143.0.1", 8080, "outside"],
  ["the host's resolver, directly", "udp", OUTSIDE.resolver, 8080, "outside"],
  ["SMTP anywhere", "tcp", OUTSIDE.internet, 25, "outside"],
  ["a server of ours on the internet", "tcp", OUTSIDE.otherInternet, 8080, "outside"],
  ["the host's loopback, by the uplink's gateway", "tcp", "10.0.2.2", 5432, "host"],
  // slirp4netns itself says no to this one, in other words.
  ["other ports of the host's resolver, by the forwarder of names", "tcp", "10.0.2.3", 8080, "ENETUNREACH"],
];
const TARGETS = FORBIDDEN.map(([, protocol, host, port]) => [protocol, host, port] as Target);

let world: World;
let service: Service;
let slot: Slot;

beforeAll(async () => {
  world = await makeWorld(PROGRAMS);
  service = await startService(world, IS_ROOT ? "stays" : "ordinary", {
    protectedHosts: ["db.example.test"],
    names: { "db.example.test": [OUTSIDE.otherInternet, "2001:db8::1"] },
  });
  slot = await service.take();
});

afterAll(async () => {
  await service?.close();
  await world.close();
});

/** Such a server in a slot, instead of an execution. */
async function serveIn({ enter }: Slot, port: number) {
  const arguments_ = JSON.stringify(["sibling", [port], [], [], {}]);
  return startHolder({ runAs: USER, prefix: enter }, [PROGRAMS.python3, "-I", "-S", "-c", SERVER, arguments_]);
}

/** Changes the slot's network with the rights of the router's user, which no execution has. */
async function changeSlot(...lines: string[]): Promise<void> {
  await runCommand({ runAs: USER, prefix: slot.enter }, [PROGRAMS.ip, "-batch", "-"], `${lines.join("\n")}\n`);
}

async function findAddress({ enter }: Slot): Promise<string> {
  const text = await runDirectly(enter, [PROGRAMS.ip, "-4", "-o", "addr", "show", "dev", "eth0"]);
  return /inet ([\d.]+)/.exec(text)?.[1] ?? "";
}

describe("a program in a slot", () => {
  test("the forbidden targets, all tried, are refused, and what is allowed is answered", async () => {
    const heard = await tryTargets(slot, [...TARGETS, ["tcp", OUTSIDE.internet, 8080]]);
    const failures = heard.flatMap(([said], index) =>
      /^(ECONNREFUSED|EHOSTUNREACH|timeout|no such name)$/.test(said)
        ? []
        : [[FORBIDDEN[index]?.[0] ?? "internet", said]],
    );
    expect(failures).toEqual([["internet", "outside"]]);
  });

  test("the forbidden targets, all tried beside a granted one, are refused as well, and so is the rest of the internet", async () => {
    await service.ask({ act: "grants", ids: ["dst_a"] });
    const ports = [{ first: 8080, last: 8080 }];
    const confined = await service.take([{ name: "a", grantId: "dst_a", host: OUTSIDE.private172, ports }]);
    const others = TARGETS.filter(([, host]) => host !== OUTSIDE.private172);
    const public_: Target[] = [
      ["tcp", OUTSIDE.internet, 8080],
      ["udp", OUTSIDE.internet, 8080],
      ["udp", OUTSIDE.private172, 8080],
      ["tcp", OUTSIDE.private172, 25],
      ["udp", "10.0.2.3", 53],
    ];
    const heard = await tryTargets(confined, [...others, ...public_, ["tcp", OUTSIDE.private172, 8080]]);
    const answered = heard.flatMap(([said], index) => (/^(outside|host)$/.test(said) ? [index] : []));
    expect([answered, heard.at(-1)?.[0]]).toEqual([[heard.length - 1], "outside"]);
    await service.release(confined);
  });

  test("a forbidden target, by TCP, is reset at once, so that nobody waits", async () => {
    // Without an answer it would be 2 s. It is a millisecond, but not on a machine that has no time for it.
    const tcp = TARGETS.filter(([protocol]) => protocol === "tcp");
    const heard = await tryTargets(slot, tcp);
    const slow = heard.flatMap(([said, milliseconds], index) =>
      said === "ECONNREFUSED" && milliseconds < 1_500 ? [] : [[tcp[index], said, milliseconds]],
    );
    expect(slow).toEqual([]);
  });

  test("IPv6, tried to any kind of address, finds no way", async () => {
    const addresses = ["2606:4700:4700::1111", "fd00:ec2::254", "fe80::1", "64:ff9b::a63:1", "2002:a63:1::1"];
    const said = await hear(slot, ...addresses.map((address) => ["tcp", address, 8080] as const));
    expect(said).toEqual([
      "ENETUNREACH",
      "ENETUNREACH",
      expect.stringMatching(/EINVAL|ENETUNREACH/),
      "ENETUNREACH",
      "ENETUNREACH",
    ]);
  });

  test("another slot, with a server on all its addresses, cannot be reached", async () => {
    const other = await service.take();
    const server = await serveIn(other, 9000);
    const address = await findAddress(other);
    expect(await hear(other, ["tcp", "127.0.0.1", 9000])).toEqual(["sibling"]);
    expect(await hear(slot, ["tcp", address, 9000], ["tcp", "127.0.0.1", 9000])).toEqual([
      "ECONNREFUSED",
      "ECONNREFUSED",
    ]);
    await server.close();
    await service.release(other);
  });

  test("the network's own settings, changed from inside, stay as they are", async () => {
    const attempt = async (...argv: string[]) =>
      runInSlot(slot, argv).then(
        () => "worked",
        (error: Error) => error.message,
      );
    expect(await attempt(PROGRAMS.ip, "route", "add", "10.99.0.0/16", "dev", "eth0")).toMatch(/not permitted/);
    expect(await attempt(PROGRAMS.ip, "addr", "add", "10.0.2.100/24", "dev", "eth0")).toMatch(/not permitted/);
    expect(await attempt(PROGRAMS.nft, "flush", "ruleset")).toMatch(/not permitted/);
  });

  test("an address that is not its own, as the sender, gets nothing through", async () => {
    const gateway = /via ([\d.]+)/.exec(await runDirectly(slot.enter, [PROGRAMS.ip, "route", "show", "default"]))?.[1];
    await changeSlot("addr add 10.200.0.1/32 dev eth0", `route add ${OUTSIDE.internet} via ${gateway} src 10.200.0.1`);
    expect(await hear(slot, ["tcp", OUTSIDE.internet, 8080])).toEqual(["timeout"]);
    expect(
      await runDirectly(enterRouter(slot), [PROGRAMS.nft, "list", "counter", "inet", "treadle", "spoofed"]),
    ).toMatch(/packets [1-9]/);
    await changeSlot(`route del ${OUTSIDE.internet}`);
    expect(await hear(slot, ["tcp", OUTSIDE.internet, 8080])).toEqual(["outside"]);
  });
});

describe("with the rules taken away", () => {
  let open: Service;
  let bare: Slot;

  beforeAll(async () => {
    const path = writeProgram(
      world,
      "slirp4netns",
      `for word; do shift; [ "$word" = --disable-host-loopback ] || set -- "$@" "$word"; done; exec ${PROGRAMS.slirp4netns} "$@"`,
    );
    open = await startService(world, IS_ROOT ? "stays" : "ordinary", { programs: { ...PROGRAMS, slirp4netns: path } });
    bare = await open.take();
    await removeRules(bare);
  });

  afterAll(async () => {
    await open?.close();
  });

  test("the same targets, tried in the same way, are answered: it was the rules that refused them", async () => {
    const heard = await hear(bare, ...TARGETS);
    const differences = heard.flatMap((said, index) => {
      const [what, , , , expected] = FORBIDDEN[index] ?? [];
      return said === expected ? [] : [[what, said]];
    });
    expect(differences).toEqual([]);
  });

  test("another slot can be reached", async () => {
    const other = await open.take();
    const server = await serveIn(other, 9000);
    expect(await hear(bare, ["tcp", await findAddress(other), 9000])).toEqual(["sibling"]);
    await server.close();
  });
});
