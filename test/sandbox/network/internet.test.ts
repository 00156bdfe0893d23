import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hear, PROGRAMS, type Service, type Slot, startService, WAYS } from "./bench.ts";
import { IS_ROOT, LOCAL_RESOLVER, makeWorld, OUTSIDE, type World } from "./world.ts";

let world: World;

beforeAll(async () => {
  world = await makeWorld(PROGRAMS);
});

afterAll(async () => {
  await world.close();
});

describe.each(WAYS)("a service that %s", (_is, how) => {
  let service: Service;
  let slot: Slot;

  beforeAll(async () => {
    if (IS_ROOT) await world.setTunMode(how === "ordinary" ? "0666" : "0600");
    service = await startService(world, how);
    slot = await service.take();
  });

  afterAll(async () => {
    await service?.close();
  });

  test("createNetwork, on a machine that has everything, has no problem", () => {
    expect(service.problem).toBeNull();
    expect(service.lines).toEqual([]);
  });

  test("a program in a slot, asking the internet, is answered by TCP, by UDP and by name", async () => {
    const said = await hear(
      slot,
      ["tcp", OUTSIDE.internet, 8080],
      ["udp", OUTSIDE.internet, 8080],
      ["tcp", "example.test", 8080],
    );
    expect(said).toEqual(["outside", "outside", "outside"]);
  });
});

test("a program in a slot, where the host's resolver listens on its loopback, looks names up and reaches no more of it", async () => {
  world.setResolver(LOCAL_RESOLVER);
  if (IS_ROOT) await world.setTunMode("0600");
  const service = await startService(world, IS_ROOT ? "stays" : "ordinary");
  try {
    const slot = await service.take();
    const said = await hear(slot, ["tcp", "example.test", 8080], ["tcp", "10.0.2.3", 8080], ["tcp", "loop.test", 8080]);
    expect(said).toEqual(["outside", "ECONNREFUSED", "ECONNREFUSED"]);
  } finally {
    await service.close();
  }
});
