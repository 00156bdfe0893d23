import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { NetworkSettings } from "../../../sandbox/network/network.ts";
import { NETWORK_TOOLS, type NetworkCommand } from "../../../sandbox/network/programs.ts";
import { hear, PROGRAMS, runInSlot, type Service, startService, writeProgram } from "./bench.ts";
import { HOST, IS_ROOT, makeWorld, OUTSIDE, type World } from "./world.ts";

let world: World;
let service: Service;

beforeAll(async () => {
  world = await makeWorld(PROGRAMS);
});

afterEach(async () => {
  await service.close();
});

afterAll(async () => {
  await world.close();
});

async function start(change: Partial<NetworkSettings> = {}): Promise<Service> {
  service = await startService(world, IS_ROOT ? "stays" : "ordinary", change);
  return service;
}

describe("what a machine lacks", () => {
  test.each(Object.keys(NETWORK_TOOLS) as NetworkCommand[])(
    "createNetwork, without %s, says what to install, refuses slots, and starts nothing",
    async (command) => {
      const { problem, take, listProcesses } = await start({ programs: { ...PROGRAMS, [command]: undefined } });
      const { "apt-get": apt, dnf, apk } = NETWORK_TOOLS[command].packages;
      expect(problem).toContain(`${command} is missing: ${NETWORK_TOOLS[command].purpose}.`);
      expect(problem).toContain(`apt-get install ${apt} (Fedora: dnf install ${dnf}; Alpine: apk add ${apk}).`);
      await expect(take()).rejects.toThrow(problem ?? "");
      expect(listProcesses()).toEqual([]);
    },
  );

  test("createNetwork, where namespaces are forbidden, says what was refused and starts no uplink", async () => {
    const unshare = writeProgram(
      world,
      "unshare",
      'echo "unshare: unshare failed: Operation not permitted" >&2; exit 1',
    );
    const { problem, listProcesses } = await start({ programs: { ...PROGRAMS, unshare } });
    expect(problem).toMatch(/unshare: unshare failed: Operation not permitted/);
    expect(listProcesses()).toEqual([]);
  });

  test("createNetwork, when a protected name has never been resolved, has no network", async () => {
    const { problem } = await start({ protectedHosts: ["db.example.test"] });
    expect(problem).toMatch(/db\.example\.test, which executions must not reach, could not be resolved/);
  });

  if (IS_ROOT) {
    test("createNetwork, by an ordinary user where only root may open the device, says what to do", async () => {
      await world.setTunMode("0600");
      service = await startService(world, "ordinary");
      expect(service.problem).toMatch(/\/dev\/net\/tun may only be opened by root.*chmod 666.*start Treadle as root/);
      await expect(service.take()).rejects.toThrow(/only be opened by root/);
      expect(service.listProcesses()).toEqual([]);
    });

    test("createNetwork, by root that gives the user a device, leaves the host's as it is", async () => {
      await world.setTunMode("0600");
      await start();
      expect(service.problem).toBeNull();
      expect(await world.readTunMode()).toBe("600 root");
    });

    test("createNetwork, by root without another user, refuses", async () => {
      service = await startService(world, "stays", {}, null);
      expect(service.problem).toMatch(/does not run as root/);
    });
  }
});

describe("resolvers of the operator's choice", () => {
  test("programs in a slot use them, and the host's resolver cannot be asked", async () => {
    await start({ nameservers: [OUTSIDE.internet] });
    expect(service.problem).toBeNull();
    const slot = await service.take();
    expect(await runInSlot(slot, ["/bin/cat", "/etc/resolv.conf"])).toBe(`nameserver ${OUTSIDE.internet}\n`);
    expect(await hear(slot, ["tcp", "example.test", 8080], ["tcp", "10.0.2.3", 53], ["udp", "10.0.2.3", 53])).toEqual([
      "outside",
      "ECONNREFUSED",
      expect.stringMatching(/EHOSTUNREACH|timeout/),
    ]);
  });

  test.each(["10.0.0.53", "dns.example.test", "2001:db8::1"])(
    "createNetwork, given %s, rejects it",
    async (address) => {
      await expect(start({ nameservers: [address] })).rejects.toThrow(/is no public IPv4 address/);
    },
  );
});

test("protected hosts, given as addresses and ranges, are refused, and IPv6 ones do no harm", async () => {
  await start({ protectedHosts: [OUTSIDE.otherInternet, "198.51.100.128/25", "2001:db8::1"] });
  const slot = await service.take();
  expect(
    await hear(
      slot,
      ["tcp", OUTSIDE.otherInternet, 8080],
      ["tcp", "198.51.100.200", 8080],
      ["tcp", OUTSIDE.internet, 8080],
      ["tcp", HOST.public, 8080],
    ),
  ).toEqual(["ECONNREFUSED", "ECONNREFUSED", "outside", "ECONNREFUSED"]);
});
