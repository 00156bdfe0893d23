import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { prepareRunnerFolder } from "../../../sandbox/runner-folder.ts";
import { findInterpreter, makeFolder, RUNNER_SOURCE } from "../../runner/harness.ts";
import { PROGRAMS, type Service, startService, WAYS } from "./bench.ts";
import type { ExecutorPlace } from "./executor.ts";
import { IS_ROOT, makeWorld, OUTSIDE, type World } from "./world.ts";

let world: World;
let root: string;
let executor: ExecutorPlace;

beforeAll(async () => {
  world = await makeWorld(PROGRAMS);
  root = makeFolder("executions");
  const interpreter = findInterpreter();
  executor = {
    ...{ runnerDir: join(root, "runner"), folder: join(root, "executions") },
    ...{ interpreterPath: interpreter.path, interpreterVersion: interpreter.version },
  };
  mkdirSync(executor.folder);
  chmodSync(executor.folder, 0o777); // Whichever user the service is.
  await prepareRunnerFolder({
    ...{ sourceDir: RUNNER_SOURCE, targetDir: executor.runnerDir },
    ...{ interpreterPath: interpreter.path },
  });
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

  test("an execution with a network, asking outside and inside, is answered from outside only", async () => {
    const hosts = [OUTSIDE.internet, "example.test", "rebind.test", "meta.test", OUTSIDE.private10, "127.0.0.1"];
    const { outcome, result } = await service.ask({ act: "execute", code: code(hosts), network: true });
    expect(outcome).toMatchObject({ status: "success" });
    const refused = "ConnectionRefusedError";
    expect(result).toEqual(["outside", "outside", refused, refused, refused, refused]);
  });

  test("an execution without a network, asking outside, finds neither names nor routes", async () => {
    const ask = { act: "execute", code: code([OUTSIDE.internet, "example.test"]), network: false } as const;
    expect((await service.ask(ask)).result).toEqual(["OSError", "gaierror"]);
  });

  test("executions with a network, one after the other, each have a slot of their own", async () => {
    const addresses: unknown[] = [];
    const whoAmI = `
import socket
def main():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("${OUTSIDE.internet}", 8080))
        return [probe.getsockname()[0]]
`;
    for (let round = 0; round < 4; round++) {
      addresses.push(String((await service.ask({ act: "execute", code: whoAmI, network: true })).result));
    }
    expect(new Set(addresses).size).toBe(4);
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
