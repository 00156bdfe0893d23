import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { makeFolder } from "../../runner/folders.ts";
import { findProcess, PROGRAMS, type Service, startService, until, WAYS } from "./bench.ts";
import { type ExecutorPlace, makeExecutorPlace } from "./executor.ts";
import { IS_ROOT, makeWorld, OUTSIDE, type World } from "./world.ts";

let world: World;
let root: string;
let executor: ExecutorPlace;

beforeAll(async () => {
  world = await makeWorld(PROGRAMS);
  root = makeFolder("executions");
  executor = await makeExecutorPlace(root);
});

afterAll(async () => {
  await world?.close();
  rmSync(root, { recursive: true, force: true });
});

const ASK = `
import socket

def ask(host):
    try:
        with socket.create_connection((host, 8080), timeout=3) as connection:
            return connection.recv(100).decode().strip()
    except OSError as error:
        return type(error).__name__

def main():
    return [ask(host) for host in HOSTS]
`;
const code = (hosts: readonly string[]): string => `HOSTS = ${JSON.stringify(hosts)}\n${ASK}`;

describe.each(WAYS)("a service that %s", (_is, how) => {
  let service: Service;

  beforeAll(async () => {
    if (IS_ROOT) await world.setTunMode(how === "ordinary" ? "0666" : "0600");
    service = await startService(world, how, { executor });
  });

  afterAll(async () => {
    await service?.close();
  });

  test.each([false, true])(
    "an execution with a network, in a lane: %s, asking outside and inside, is answered from outside only",
    async (lane) => {
      const hosts = [OUTSIDE.internet, "example.test", "rebind.test", "meta.test", OUTSIDE.private10, "127.0.0.1"];
      const ask = { act: "execute", code: code(hosts), network: true, lane } as const;
      const { outcome, result, path } = await service.ask(ask);
      expect([outcome, path]).toEqual([expect.objectContaining({ status: "success" }), lane ? "lane" : "cold"]);
      const refused = "ConnectionRefusedError";
      expect(result).toEqual(["outside", "outside", refused, refused, refused, refused]);
    },
  );

  test.each([false, true])(
    "an execution without a network, in a lane: %s, asking outside, finds neither names nor routes",
    async (lane) => {
      const ask = { act: "execute", code: code([OUTSIDE.internet, "example.test"]), network: false, lane } as const;
      expect((await service.ask(ask)).result).toEqual(["OSError", "gaierror"]);
    },
  );

  test.each([false, true])(
    "executions with a network, in a lane: %s, one after the other, each have a network of their own",
    async (lane) => {
      const addresses: unknown[] = [];
      const whoAmI = `
import socket
def main():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("${OUTSIDE.internet}", 8080))
        return [probe.getsockname()[0]]
`;
      let asWanted = 0;
      // One that comes before the lane's next interpreter is ready is cold, too.
      for (let round = 0; asWanted < 4 && round < 20; round++) {
        const ran = await service.ask({ act: "execute", code: whoAmI, network: true, lane });
        if (ran.path === (lane ? "lane" : "cold")) asWanted += 1;
        addresses.push(String(ran.result));
      }
      expect([asWanted, new Set(addresses).size]).toEqual([4, addresses.length]);
    },
  );

  test("a package that gives the network of its forks an address has no lane", async () => {
    // What runs in a fork before its rights end: lo up (SIOCSIFADDR), which the program would find.
    const packaged = `
import fcntl, os, socket, struct
def meddle():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as it:
        fcntl.ioctl(it, 0x8916, struct.pack("16sHH4s8x", b"lo", socket.AF_INET, 0, bytes([127, 0, 0, 9])))
os.register_at_fork(after_in_child=meddle)
`;
    const code = "import packaged\ndef main():\n    return 1\n";
    const { outcome, path, warmth } = await service.ask({ act: "execute", code, packaged, network: true, lane: true });
    expect([outcome, path]).toEqual([expect.objectContaining({ status: "success" }), "cold"]);
    expect(warmth).toEqual({ warm: false, reason: "A package changes the network of executions." });
  });

  test("an execution in a lane, after the end of the network that the lane was made in, has a network all the same", async () => {
    const ask = { act: "execute", code: code([OUTSIDE.internet]), network: true, lane: true } as const;
    expect(await service.ask(ask)).toMatchObject({ result: ["outside"], path: "lane" });
    process.kill(findProcess(service, "slirp4netns"), "SIGKILL");
    await until("its end is noticed", async () => (await service.readProblem()) !== null);
    await until("there is a network again", async () => (await service.readProblem()) === null);
    await until("it is in a lane again", async () => {
      const { outcome, result, path } = await service.ask(ask);
      expect([outcome, result]).toEqual([expect.objectContaining({ status: "success" }), ["outside"]]);
      return path === "lane";
    });
  });

  test("an execution that waits for a slot, cancelled meanwhile, ends unstarted and takes none", async () => {
    const busy = { act: "execute", code: "import time\ndef main():\n    time.sleep(2)\n", network: true } as const;
    const holders = [service.ask(busy), service.ask(busy)];
    const { outcome } = await service.ask({ ...busy, cancelAfterMs: 300 });
    expect(outcome).toMatchObject({ status: "cancelled", secondsUsed: 0 });
    const next = service.ask({ ...busy, code: "def main():\n    return 1\n" });
    for (const ended of await Promise.all([...holders, next]))
      expect(ended.outcome).toMatchObject({ status: "success" });
  });
});

test("an execution that asks for a network, where there is none, is refused and runs nothing", async () => {
  if (IS_ROOT) await world.setTunMode("0600");
  const service = await startService(world, IS_ROOT ? "stays" : "ordinary", {
    executor,
    programs: { ...PROGRAMS, slirp4netns: undefined } as unknown as typeof PROGRAMS,
  });
  try {
    const ask = service.ask({ act: "execute", code: "def main():\n    return 1\n", network: true });
    await expect(ask).rejects.toThrow(/slirp4netns is missing/);
  } finally {
    await service.close();
  }
});
