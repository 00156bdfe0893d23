import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { hear, PROGRAMS, runDirectly, runInSlot, type Service, type Slot, startService, until } from "./bench.ts";
import { IS_ROOT, makeWorld, OUTSIDE, type World } from "./world.ts";

let world: World;
let service: Service;
const taken: Slot[] = [];

beforeAll(async () => {
  world = await makeWorld(PROGRAMS);
  service = await startService(world, IS_ROOT ? "stays" : "ordinary", {
    protectedHosts: ["db.example.test"],
    names: { "db.example.test": ["198.51.100.99"] },
    limits: { connections: 40, newPerSecond: 10, newBurst: 60, lookupsPerSecond: 10, lookupsBurst: 20 },
  });
});

afterEach(async () => {
  for (const slot of taken.splice(0)) await service.release(slot);
});

afterAll(async () => {
  await service?.close();
  await world.close();
});

/** A slot until the end of the test, unless it is given back before. */
async function take(): Promise<Slot> {
  const slot = await service.take();
  taken.push(slot);
  return slot;
}

/** Python in a slot that ends by printing JSON. */
async function runPython<T>(slot: Slot, code: string): Promise<T> {
  return JSON.parse(
    await runInSlot(slot, [PROGRAMS.python3, "-I", "-S", "-c", `import json, socket, time\n${code}`]),
  ) as T;
}

const SEND = `
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.bind(("0.0.0.0", 40000))
client.sendto(b"again", ("${OUTSIDE.internet}", 8080))
client.settimeout(1)
print(json.dumps(client.recv(100).decode()))
`;
const LISTEN = `
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.bind(("0.0.0.0", 40000))
client.settimeout(1)
try:
    print(json.dumps(client.recv(100).decode()))
except TimeoutError:
    print(json.dumps("nothing"))
`;

describe("a slot that was given back", () => {
  test("the next execution, on the port to which packets still come, receives none", async () => {
    const slot = await take();
    expect(await runPython(slot, SEND)).toBe("outside");
    await service.release(slot);
    const both = [await take(), await take()]; // all there are: one of them is the next in its place
    expect(await Promise.all(both.map((next) => runPython(next, LISTEN)))).toEqual(["nothing", "nothing"]);
  });

  test("the same port of a slot that was not given back still receives them: only that made the difference", async () => {
    const slot = await take();
    expect(await runPython(slot, SEND)).toBe("outside");
    expect(await runPython(slot, LISTEN)).toBe("late");
  });

  test("a command started for it too late finds no slot instead of another's", async () => {
    const slot = await take();
    await service.release(slot);
    const next = [await take(), await take()];
    expect(next.map(({ enter }) => enter)).not.toContainEqual(slot.enter);
    await expect(hear(slot, ["tcp", OUTSIDE.internet, 8080])).rejects.toThrow(/No such file/);
  });

  test("connections of before, looked for by the next execution, are not listed", async () => {
    const slot = await take();
    const connect = `
client = socket.create_connection(("${OUTSIDE.internet}", 8080))
client.recv(10)
client.shutdown(socket.SHUT_WR)
client.recv(10)
client.close()
time.sleep(0.2)
`;
    const list = 'print(json.dumps(len(open("/proc/net/tcp").read().splitlines()) - 1))';
    expect(await runPython(slot, connect + list)).toBe(1);
    expect(await runPython(slot, list)).toBe(1); // so it would be seen
    await service.release(slot);
    const next = [await take(), await take()];
    expect(await Promise.all(next.map((each) => runPython(each, list)))).toEqual([0, 0]);
  });
});

test("take, while all slots are taken, waits for the first that is given back", async () => {
  const [first, second] = [await take(), await take()];
  const third = take();
  expect(await Promise.race([third, sleep(200, "waiting")])).toBe("waiting");
  await service.release(first);
  await expect(third).resolves.not.toEqual(second);
});

describe("limits of one slot", () => {
  const OPEN = `
started, sockets, ends = time.monotonic(), [], {}
for _ in range(COUNT):
    client = socket.socket()
    client.settimeout(20)
    try:
        client.connect(("${OUTSIDE.internet}", 8080))
        sockets.append(client)
        said = "open"
    except OSError as error:
        said = error.strerror or "timeout"
    ends[said] = ends.get(said, 0) + 1
print(json.dumps(ends))
`;

  test("connections open at once, more than allowed, are reset, and another slot is not concerned", async () => {
    const [slot, other] = [await take(), await take()];
    const code = OPEN.replace("COUNT", "50");
    const [ends, untouched] = await Promise.all([
      runPython<Record<string, number>>(slot, code),
      runPython<Record<string, number>>(other, OPEN.replace("COUNT", "30")),
    ]);
    expect(ends).toEqual({ open: 40, "Connection refused": 10 });
    expect(untouched).toEqual({ open: 30 });
  });

  test("connections started in a second, more than allowed, are reset", async () => {
    const slot = await take();
    // Until some were refused: how many that takes depends on how quick the machine is. Each is reset, which ends it at once:
    // those that wait for their server to close them count as open at the same time, which has a limit of its own.
    const reset = 'client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0"); client.close()';
    const code = OPEN.replace("sockets.append(client)", reset)
      .replace("range(COUNT)", "range(5000)")
      .replace("ends.get(said, 0) + 1", 'ends.get(said, 0) + 1\n    if ends.get("Connection refused", 0) == 50: break');
    const [{ open = 0, "Connection refused": refused = 0 }, seconds] = await runPython<
      [Record<string, number>, number]
    >(slot, code.replace("dumps(ends)", "dumps([ends, time.monotonic() - started])"));
    expect(refused).toBe(50);
    expect(open).toBeGreaterThanOrEqual(60);
    expect(open).toBeLessThanOrEqual(60 + 10 * seconds + 1);
  });

  test("lookups of names, more than allowed, are not all answered, and connections still work", async () => {
    const slot = await take();
    const code = `
import select
clients = []
started = time.monotonic()
for number in range(200):
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.connect(("10.0.2.3", 53))
    client.send(bytes([0, number, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]) + b"\\x07example\\x04test\\0\\0\\1\\0\\1")
    clients.append(client)
seconds, answered = 0, 0
while clients:
    ready = select.select(clients, [], [], 2)[0]
    if not ready:
        break
    for client in ready:
        clients.remove(client)
        try:
            client.recv(512)
            answered += 1
        except OSError: # Some are told that they are refused.
            pass
    seconds = time.monotonic() - started
print(json.dumps([answered, seconds]))
`;
    const [answered, seconds] = await runPython<[number, number]>(slot, code);
    expect(answered).toBeGreaterThanOrEqual(15);
    expect(answered).toBeLessThanOrEqual(20 + 10 * seconds + 1);
    expect(seconds).toBeLessThan(15); // More, and nothing would be left unanswered.
    expect(await hear(slot, ["tcp", OUTSIDE.internet, 8080])).toEqual(["outside"]);
  });
});

/** A line of `/proc/net/tcp`. */
const ESTABLISHED = /:1F90 01 /; // 8080

/** A connection that is used every tenth of a second until it ends; for fifteen seconds, if it does not. */
const TALK = `
client = socket.create_connection(("${OUTSIDE.otherInternet}", 8080))
client.settimeout(15)
end = time.monotonic() + 15
said = "alive"
try:
    while time.monotonic() < end:
        client.send(b"x")
        client.recv(100)
        time.sleep(0.1)
except OSError as error:
    said = type(error).__name__
print(json.dumps(said))
`;

describe("addresses that become the host's while it runs", () => {
  test("a new address of an interface is refused from then on", async () => {
    const slot = await take();
    const target = ["tcp", "198.51.100.50", 8080] as const;
    await world.changeAddress("add", "198.51.100.50");
    await until("it is refused", async () => (await hear(slot, target))[0] === "ECONNREFUSED");
    await world.changeAddress("del", "198.51.100.50");
    await until("it is let through again", async () => (await hear(slot, target))[0] !== "ECONNREFUSED");
  });

  test("a new answer for a protected name is refused, and a connection that exists is cut", async () => {
    const slot = await take();
    expect(await hear(slot, ["tcp", OUTSIDE.otherInternet, 8080])).toEqual(["outside"]);
    const talking = runPython(slot, TALK);
    await until("it is connected", async () =>
      ESTABLISHED.test(await runDirectly(slot.enter, ["/bin/cat", "/proc/net/tcp"])),
    );
    await service.ask({ act: "rename", name: "db.example.test", addresses: [OUTSIDE.otherInternet] });
    expect(await talking).toBe("ConnectionResetError");
    expect(await hear(slot, ["tcp", OUTSIDE.otherInternet, 8080])).toEqual(["ECONNREFUSED"]);
    // The answer of before counts for a day.
    expect(await hear(slot, ["tcp", "198.51.100.99", 8080])).toEqual(["ECONNREFUSED"]);
  });
});
