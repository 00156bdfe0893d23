import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Destination } from "../../../domain/destinations.ts";
import type { PythonOutcome } from "../../../domain/execution.ts";
import { runCommand } from "../../../sandbox/network/commands.ts";
import { makeFolder } from "../../runner/folders.ts";
import { PROGRAMS, type Service, startService, until } from "./bench.ts";
import { type Company, openCompany } from "./company.ts";
import { type ExecutorPlace, makeExecutorPlace } from "./executor.ts";
import { HOST, IS_ROOT, makeWorld, OUTSIDE, type World } from "./world.ts";

let world: World;
let company: Company;
let root: string;
let executor: ExecutorPlace;
let service: Service;

beforeAll(async () => {
  world = await makeWorld(PROGRAMS);
  company = await openCompany(world);
  root = makeFolder("destinations");
  executor = await makeExecutorPlace(root);
  service = await startService(world, IS_ROOT ? "stays" : "ordinary", {
    executor,
    ungrantableHosts: [OUTSIDE.private192],
  });
});

afterAll(async () => {
  await service?.close();
  await company?.close();
  await world?.close();
  rmSync(root, { recursive: true, force: true });
});

beforeEach(() => service.ask({ act: "grants", ids: ["dst_warehouse", "dst_other"] }));

const granted = (name: string, host: string, port: number): Destination => {
  return { name, grantId: `dst_${name}`, host, ports: [{ first: port, last: port }] };
};
const open = (host: string, port: number): Destination => {
  return { name: `${host}:${port}`, grantId: null, host, ports: [{ first: port, last: port }] };
};
const WAREHOUSE = granted("warehouse", OUTSIDE.private10, 5432);
const WEB = open("example.test", 8443);
const REFUSED = "ConnectionRefusedError";

const ASK = `
import socket, ssl, struct, time, urllib.request

def ask(host, port=8080):
    try:
        with socket.create_connection((host, port), timeout=3) as connection:
            return connection.recv(100).decode().strip()
    except OSError as error:
        return type(error).__name__

def query(connection, sql):
    text = sql.encode() + bytes(1)
    connection.sendall(b"Q" + struct.pack("!I", 4 + len(text)) + text)
    return await_ready(connection)

def await_ready(connection):
    seen = b""
    while not seen.endswith(b"Z" + struct.pack("!I", 5) + b"I"):
        data = connection.recv(65536)
        if not data:
            raise EOFError
        seen += data
    return seen

def sign_in(host, user):
    connection = socket.create_connection((host, 5432), timeout=5)
    words = b"user" + bytes(1) + user.encode() + bytes(1) + b"database" + bytes(1) + b"postgres" + bytes(2)
    connection.sendall(struct.pack("!II", 8 + len(words), 196608) + words)
    await_ready(connection)
    return connection

def fetch(url, certificate):
    context = ssl.create_default_context(cadata=certificate)
    try:
        return urllib.request.urlopen(url, timeout=5, context=context).read().decode()
    except OSError as error:
        return str(getattr(error, "reason", error))
`;
const program = (body: string): string =>
  `${ASK}\nUSER = ${JSON.stringify(company.databaseUser)}\nCERTIFICATE = ${JSON.stringify(company.certificate)}\ndef main():\n${body
    .trim()
    .split("\n")
    .map((line) => `    ${line}`)
    .join("\n")}\n`;

async function run(network: boolean | readonly Destination[], body: string, lane = false) {
  const ran = await service.ask({ act: "execute", code: program(body), network, lane });
  expect(ran.outcome).toMatchObject({ status: "success" });
  expect(ran.path).toBe(lane ? "lane" : "cold");
  return ran.result as unknown[];
}

describe.each([false, true])("an execution with destinations, in a lane: %s", (lane) => {
  test("reaches its database and its web server by their names, and nothing else", async () => {
    const body = `
rows = query(sign_in("warehouse", USER), "select 6 * 7 as answer")
return [
    b"42" in rows, fetch("https://example.test:8443/", CERTIFICATE),
    ask("${OUTSIDE.private10}"), ask("${OUTSIDE.internet}"), ask("${OUTSIDE.public}"), ask("${OUTSIDE.metadata}"),
    ask("10.0.2.3", 53), ask("rebind.test"), ask("127.0.0.1"), ask("${HOST.public}"), ask("${HOST.private}"),
]`;
    const results = await run([WAREHOUSE, WEB], body, lane);
    expect(results).toEqual([true, "web", ...Array(5).fill(REFUSED), "gaierror", ...Array(3).fill(REFUSED)]);
  });

  test("follows no redirect to a private address, and no public name to one", async () => {
    const body = `return [fetch("https://example.test:8443/redirect", CERTIFICATE), ask("rebind.test")]`;
    const [redirect, rebound] = await run([WEB, open("rebind.test", 8080)], body, lane);
    expect([redirect, rebound]).toEqual([expect.stringContaining("Connection refused"), "gaierror"]);
  });

  test("loses a destination that is taken away while it runs, at once, and keeps the others", async () => {
    const body = `
connection = sign_in("warehouse", USER)
print("connected in a lane: ${lane}", flush=True)
end, ended = time.monotonic() + 15, "never"
while time.monotonic() < end:
    try:
        query(connection, "select 1")
        time.sleep(0.05)
    except OSError as error:
        ended = type(error).__name__
        break
return [ended, ask("${OUTSIDE.private10}", 5432), fetch("https://example.test:8443/", CERTIFICATE)]`;
    const ran = run([WAREHOUSE, WEB], body, lane);
    await until("it is connected", () => hasPrinted(`connected in a lane: ${lane}`));
    await service.ask({ act: "grants", ids: [] });
    expect(await ran).toEqual(["ConnectionResetError", REFUSED, "web"]);
    const note = `The destination warehouse (${OUTSIDE.private10}:5432) was taken away. Connections there are closed.`;
    expect(readLogs(`connected in a lane: ${lane}`).split(note)).toHaveLength(2);
  });

  test("has a destination again that was granted again, and none of the time between", async () => {
    const other = granted("other", OUTSIDE.private10, 8080);
    const body = `return [ask("other")]`;
    expect(await run([other, WEB], body, lane)).toEqual(["outside"]);
    await service.ask({ act: "grants", ids: ["dst_warehouse"] });
    const ask = service.ask({ act: "execute", code: program(body), network: [other, WEB], lane });
    await expect(ask).rejects.toThrow(/has just been taken away/);
    await service.ask({ act: "grants", ids: ["dst_other"] });
    await until("it is in a lane again, where it was", async () => {
      const ran = await service.ask({ act: "execute", code: program(body), network: [other, WEB], lane });
      expect(ran.result).toEqual(["outside"]);
      return ran.path === (lane ? "lane" : "cold");
    });
  });
});

/** The logs of executions that have printed this by now. */
function readLogs(text: string): string {
  const logs = readdirSync(executor.folder).map((name) => join(executor.folder, name, "spool", "log.ndjson"));
  const texts = logs.map((path) => (existsSync(path) ? readFileSync(path, "utf8") : ""));
  return texts.filter((log) => log.includes(text)).join("");
}

const hasPrinted = (text: string): boolean => readLogs(text) !== "";

test("a public name that begins to lead to a private address leads a program there never", async () => {
  const body = `
said, end = ask("flip.test"), time.monotonic() + 10
print("it is public", flush=True)
while time.monotonic() < end:
    try:
        found = socket.gethostbyname("flip.test")
    except OSError:
        break
return [said, found, ask("${OUTSIDE.private10}")]`;
  const ran = run([open("flip.test", 8080)], body);
  await until("it is there", () => hasPrinted("it is public"));
  const send = `import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b"move on", ("${OUTSIDE.resolver}", 8080))`;
  await runCommand({ runAs: undefined, prefix: world.enterOutside }, [PROGRAMS.python3, "-I", "-c", send]);
  expect(await ran).toEqual(["outside", OUTSIDE.internet, REFUSED]);
});

test("slots that programs with and without destinations have in turn give each what is its own", async () => {
  const body = `return [ask("${OUTSIDE.internet}"), ask("example.test"), ask("${OUTSIDE.private10}")]`;
  const other = [granted("other", OUTSIDE.private10, 8080)];
  for (let round = 0; round < 3; round += 1) {
    expect(await run(true, body)).toEqual(["outside", "outside", REFUSED]);
    expect(await run(other, body)).toEqual([REFUSED, "gaierror", "outside"]);
    expect(await run([WEB], body)).toEqual([REFUSED, REFUSED, REFUSED]);
    expect(await run(false, body)).toEqual(["OSError", "gaierror", "OSError"]);
  }
});

test("a grant of what is the service's own lets nobody in, whoever wrote it", async () => {
  const hosts = [
    HOST.public,
    HOST.private,
    OUTSIDE.private192,
    OUTSIDE.metadata,
    "127.0.0.1",
    "10.0.2.2",
    "loop.test",
    "meta.test",
  ];
  const network = hosts.map((host, index) => Object.assign(granted("other", host, 8080), { name: `d${index}` }));
  const body = `return [${hosts.map((host) => `ask("${host}")`).join(", ")}]`;
  expect(await run(network, body)).toEqual([...Array(6).fill(REFUSED), "gaierror", "gaierror"]);
});

test("a range that is granted is reached, but for the service's own addresses in it", async () => {
  const network = [granted("other", "172.20.0.0/16", 8080)];
  const body = `return [ask("${OUTSIDE.private172}"), ask("${HOST.private}"), ask("${OUTSIDE.private172}", 8081)]`;
  expect(await run(network, body)).toEqual(["outside", REFUSED, REFUSED]);
});

test("an execution whose destination was taken away before it begins does not begin", async () => {
  await service.ask({ act: "grants", ids: [] });
  const ask = service.ask({ act: "execute", code: program("return []"), network: [WAREHOUSE] });
  await expect(ask).rejects.toThrow(/has just been taken away/);
});

describe.each([false, true])("what an execution connected to, in a lane: %s", (lane) => {
  const run = async (network: boolean | readonly Destination[], body: string) => {
    const ran = await service.ask({ act: "execute", code: program(body), network, lane });
    const { status, connections } = ran.outcome as PythonOutcome;
    expect(status).toBe("success");
    return connections;
  };
  const reached = (address: string, port: number, name: string | null = null) => {
    const [sentBytes, receivedBytes] = [expect.any(Number), expect.any(Number)];
    return { name, address, port, protocol: "tcp", refused: 0, sentBytes, receivedBytes };
  };
  const refused = (address: string, port: number) => {
    return { name: null, address, port, protocol: "tcp", refused: 1, sentBytes: 0, receivedBytes: 0 };
  };

  test("is listed by address with its bytes, and refused attempts apart", async () => {
    const body = `return [ask("example.test"), ask("${OUTSIDE.private10}"), ask("${OUTSIDE.metadata}", 80)]`;
    const { destinations = [], more } = (await run(true, body)) ?? {};
    expect(destinations).toEqual([
      reached(OUTSIDE.internet, 8080),
      { ...reached("10.0.2.3", 53, "name server"), protocol: "udp" },
      refused(OUTSIDE.private10, 8080),
      refused(OUTSIDE.metadata, 80),
    ]);
    // Both ends of a TCP connection send their headers, and the server sends a word.
    expect(destinations[0]?.sentBytes).toBeGreaterThanOrEqual(3 * 40);
    expect(destinations[0]?.receivedBytes).toBeGreaterThanOrEqual(2 * 40 + "outside".length);
    expect(more).toBeNull();
  });

  test("has the names of its destinations, and nothing where it connected to nothing", async () => {
    const body = `
query(sign_in("warehouse", USER), "select 6 * 7 as answer")
return [fetch("https://example.test:8443/", CERTIFICATE), ask("${OUTSIDE.internet}")]`;
    const { destinations } = (await run([WAREHOUSE, WEB], body)) ?? {};
    expect(destinations).toEqual([
      reached(OUTSIDE.internet, 8443, "example.test"),
      reached(OUTSIDE.private10, 5432, "warehouse"),
      refused(OUTSIDE.internet, 8080),
    ]);
    // Of two names for one address and port, nobody knows which the program meant.
    const twice = await run([WAREHOUSE, granted("other", OUTSIDE.private10, 5432)], `return [ask("warehouse", 5432)]`);
    expect(twice?.destinations).toEqual([reached(OUTSIDE.private10, 5432)]);
    expect(await run(true, "return []")).toEqual({ destinations: [], more: null });
    expect(await run(false, "return []")).toBeUndefined();
  });

  test("is bounded, and the rest is counted", async () => {
    const body = `
client = socket.socket(type=socket.SOCK_DGRAM)
for port in range(1000, 1150):
    for host in ("${OUTSIDE.internet}", "${OUTSIDE.private10}"):
        client.sendto(b"flood", (host, port))
return []`;
    const { destinations = [], more } = (await run(true, body)) ?? {};
    const bytes = 20 + 8 + "flood".length;
    const one = { name: null, protocol: "udp", receivedBytes: 0 };
    expect(destinations).toEqual([
      ...Array.from({ length: 100 }, (_, n) =>
        Object.assign({ address: OUTSIDE.internet, port: 1000 + n, sentBytes: bytes, refused: 0 }, one),
      ),
      ...Array.from({ length: 50 }, (_, n) =>
        Object.assign({ address: OUTSIDE.private10, port: 1000 + n, sentBytes: 0, refused: 1 }, one),
      ),
    ]);
    expect(more).toEqual({ connections: 50, sentBytes: 50 * bytes, receivedBytes: 0, refused: 100 });
  });

  test("beyond what is listed, counts answers together as well, and lists none whose request is not", async () => {
    const body = `
client = socket.socket(type=socket.SOCK_DGRAM)
for port in range(1000, 1100):
    client.sendto(b"flood", ("${OUTSIDE.internet}", port))
return [ask("${OUTSIDE.otherInternet}"), ask("${OUTSIDE.public}")]`;
    const { destinations = [], more } = (await run(true, body)) ?? {};
    expect(destinations.map(({ port, receivedBytes }) => [port, receivedBytes])).toEqual(
      Array.from({ length: 100 }, (_, n) => [1000 + n, 0]),
    );
    expect(more).toEqual({
      connections: 2,
      sentBytes: expect.any(Number),
      receivedBytes: expect.any(Number),
      refused: 0,
    });
    expect(more?.sentBytes).toBeGreaterThanOrEqual(2 * 3 * 40);
    expect(more?.receivedBytes).toBeGreaterThanOrEqual(2 * (2 * 40 + "outside".length));
  });

  test("is its own, whatever runs beside it", async () => {
    const send = (port: number) => `
client = socket.socket(type=socket.SOCK_DGRAM)
for _ in range(20):
    client.sendto(b"mine", ("${OUTSIDE.otherInternet}", ${port}))
    time.sleep(0.02)
return []`;
    const seen = await Promise.all([run(true, send(7001)), run(true, send(7002))]);
    expect(seen.map((one) => one?.destinations.map(({ port, sentBytes }) => [port, sentBytes]))).toEqual([
      [[7001, 20 * 32]],
      [[7002, 20 * 32]],
    ]);
  });
});
