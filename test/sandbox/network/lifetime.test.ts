import { once } from "node:events";
import { readFileSync, readlinkSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { findProcess, hear, isAlive, PROGRAMS, type Service, startService, until, WAYS } from "./bench.ts";
import { IS_ROOT, makeWorld, OUTSIDE, type World } from "./world.ts";

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

/** The `cat` in the router's network namespace, not the one that keeps the device. */
function findRouter(): number {
  const own = readlinkSync(`/proc/${service.pid}/ns/net`);
  const pid = service.listProcesses().find((each) => readlinkSync(`/proc/${each}/ns/net`) !== own);
  if (pid === undefined) throw new Error("The service has started no router.");
  return pid;
}

describe.each(WAYS)("a service that %s", (_is, how) => {
  test("all processes of its network, after SIGKILL of the service, are gone", async () => {
    if (IS_ROOT) await world.setTunMode(how === "ordinary" ? "0666" : "0600");
    service = await startService(world, how);
    const processes = service.listProcesses();
    expect(processes.length).toBeGreaterThanOrEqual(2);
    service.child.kill("SIGKILL");
    await until("they are gone", () => !processes.some(isAlive));
  });

  test("close, called on a working network, leaves no process and lets the service end by itself", async () => {
    service = await startService(world, how);
    const processes = service.listProcesses();
    await service.ask({ act: "close" });
    expect(processes.filter(isAlive)).toEqual(how === "drops" ? [expect.any(Number)] : []); // the device is the caller's
    await expect(service.take()).rejects.toThrow(/closed/);
    const exit = once(service.child, "exit");
    service.child.stdin?.end();
    expect(await exit).toEqual([0, null]);
  });
});

test("the processes of a network, looked at, are not root's", async () => {
  service = await startService(world, IS_ROOT ? "stays" : "ordinary");
  const users = service
    .listProcesses()
    .map((pid) => /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  expect(users.length).toBeGreaterThanOrEqual(2);
  expect(users).not.toContain("0");
});

test.each([
  ["the uplink", () => findProcess(service, "slirp4netns"), /slirp4netns ended \(SIGKILL\)/],
  ["the router", findRouter, /router's|cat ended|unshare ended/],
] as const)(
  "take, after the end of %s, is refused until another network has been made",
  async (_what, find, reason) => {
    service = await startService(world, IS_ROOT ? "stays" : "ordinary", { slots: 2 });
    const before = await service.take();
    await service.take();
    const waiting = service.take().then(
      () => "given",
      (error: Error) => error.message,
    );
    expect(await service.ask({ act: "look", slot: before.slot })).toEqual({ isUsable: true });
    const processes = service.listProcesses();
    process.kill(find(), "SIGKILL");
    expect(await waiting).toMatch(reason);
    expect(await service.readProblem()).toMatch(reason);
    await expect(service.take()).rejects.toThrow(reason);
    await until("the old processes are gone", () => !processes.some(isAlive));

    await until("there is a network again", async () => (await service.readProblem()) === null);
    const after = await service.take();
    expect(await hear(after, ["tcp", OUTSIDE.internet, 8080])).toEqual(["outside"]);
    await service.release(before); // of the old network: must not disturb the new one
    await service.take();
    expect(await hear(after, ["tcp", OUTSIDE.internet, 8080])).toEqual(["outside"]);
  },
);
