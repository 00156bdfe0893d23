import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { Client, Connection } from "@temporalio/client";
import { findPython } from "../../../src/setup/python.ts";
import { runCommand } from "../../../src/setup/servers/command.ts";
import { makeProxyCertificates } from "../../../src/setup/servers/proxy-certificates.ts";
import { startTemporal, type Temporal } from "../../../src/setup/servers/temporal.ts";
import { findCacheDir } from "../../../src/setup/servers/temporal-cache.ts";
import { type TemporalEntry, toConnection, toGuarded } from "../../../src/setup/servers/temporal-proxy.ts";
import { aFolder, afterwards, IS_ROOT, RUN_AS, until } from "./surroundings.ts";

const BUILD_MS = 30 * 60_000;
const LISTENING = "0A"; // of /proc/net/tcp

async function aTemporal(python?: string): Promise<Temporal> {
  const dataDir = join(aFolder(), "data");
  const temporal = await startTemporal({
    env: { ...process.env, TEMPORAL_ADDRESS: undefined },
    dataDir,
    cacheDir: findCacheDir(process.env),
    runAs: RUN_AS,
    python,
    outsideFolder: join(dataDir, "..", "outside"),
    report: () => {},
    log: () => {},
  });
  afterwards(() => temporal.stop());
  return temporal;
}

async function anInterpreter(): Promise<string> {
  const python = await findPython({
    env: process.env,
    runAs: RUN_AS,
    isRoot: IS_ROOT,
    mayInstall: false,
    report: () => {},
    run: runCommand,
  });
  return python.path;
}

async function withClient<T>(temporal: TemporalEntry & { namespace: string }, act: (client: Client) => Promise<T>) {
  const connection = await Connection.connect({ ...toConnection(temporal), connectTimeout: "10s" });
  try {
    return await act(new Client({ connection, namespace: temporal.namespace }));
  } finally {
    await connection.close();
  }
}

/** The server and what it has started. */
function listProcesses(root: number): number[] {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), readOr(`/proc/${name}/stat`).split(") ").at(-1)?.split(" ")[1]] as const);
  return [root, ...parents.flatMap(([pid, parent]) => (Number(parent) === root ? [pid] : []))];
}

function readOr(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** The TCP ports of these processes that a program of this host can connect to. */
function listReachablePorts(pids: readonly number[]): number[] {
  const sockets = new Set(
    pids.flatMap((pid) =>
      readdirSync(`/proc/${pid}/fd`).map((name) => {
        try {
          return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${name}`))?.[1];
        } catch {
          return undefined;
        }
      }),
    ),
  );
  const lines = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((path) => readOr(path).split("\n").slice(1));
  return lines.flatMap((line) => {
    const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
    return state === LISTENING && sockets.has(inode) ? [Number.parseInt(local.split(":")[1] ?? "", 16)] : [];
  });
}

/** What any web page in a browser of this machine can send: a form's content type, and another website as its origin. */
async function attack(port: number, path: string): Promise<number | undefined> {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { "content-type": "text/plain", origin: "https://evil.example" },
    body: JSON.stringify({ reason: "because I can" }),
    signal: AbortSignal.timeout(5_000),
  }).then(
    ({ status }) => status,
    () => undefined,
  );
}

async function attackAll(temporal: Temporal): Promise<{ ports: number[]; statuses: (number | undefined)[] }> {
  const ports = listReachablePorts(listProcesses(temporal.pid() ?? 0));
  const paths = ["", "/temporal"].map(
    (prefix) => `${prefix}/api/v1/namespaces/${temporal.namespace}/workflows/victim/terminate`,
  );
  const statuses = await Promise.all(ports.flatMap((port) => paths.map((path) => attack(port, path))));
  return { ports, statuses };
}

const victimOf = (temporal: Temporal) =>
  withClient(temporal, async ({ workflow }) => (await workflow.getHandle("victim").describe()).status.name);

const startVictim = (temporal: Temporal) =>
  withClient(temporal, ({ workflow }) => workflow.start("nobody", { workflowId: "victim", taskQueue: "nowhere" }));

test(
  "an enclosed server is reached by its proxy alone, which asks for a certificate of this start",
  async () => {
    const temporal = await aTemporal(await anInterpreter());
    expect(temporal.openPortsProblem).toBeUndefined();
    await startVictim(temporal);
    const { ports, statuses } = await attackAll(temporal);
    expect(ports).toEqual([Number(temporal.address.split(":")[1])]);
    expect(statuses).toEqual([undefined, undefined]);
    expect(await victimOf(temporal)).toBe("RUNNING");

    const strangers = makeProxyCertificates(Date.now());
    const refused: TemporalEntry[] = [
      { address: temporal.address },
      toGuarded(temporal.address, strangers),
      // Knows the server's authority, and has a certificate of another one.
      { address: temporal.address, tls: { ...temporal.tls, caller: strangers.caller } },
    ];
    for (const entry of refused) {
      const connecting = Connection.connect({ ...toConnection(entry), connectTimeout: "3s" });
      await expect(connecting).rejects.toThrow(/connect|deadline/i);
    }
    const { tls } = toConnection(temporal);
    const bare = Connection.connect({
      address: temporal.address,
      tls: { ...tls, clientCertPair: undefined } as object,
      connectTimeout: "3s",
    });
    await expect(bare).rejects.toThrow(/connect|deadline/i);
    expect(await victimOf(temporal)).toBe("RUNNING");
  },
  BUILD_MS,
);

test(
  "the proxy carries megabytes in both directions at once, and waits for who is slow",
  async () => {
    const temporal = await aTemporal(await anInterpreter());
    const texts = Array.from({ length: 12 }, (_, index) => String(index).repeat(1_000_000));
    await withClient(temporal, async ({ workflow }) => {
      const read = async (text: string, index: number) => {
        const options = { workflowId: `big-${index}`, taskQueue: "nowhere", args: [text] };
        const handle = await workflow.start("nobody", options);
        const { events } = await handle.fetchHistory();
        const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
        return JSON.parse(Buffer.from(payload?.data ?? []).toString()) === text;
      };
      expect(await Promise.all(texts.map(read))).toEqual(texts.map(() => true));
    });
  },
  BUILD_MS,
);

test(
  "a hundred strangers that connect and say nothing keep nobody out",
  async () => {
    const { createConnection } = await import("node:net");
    const temporal = await aTemporal(await anInterpreter());
    const port = Number(temporal.address.split(":")[1]);
    const strangers = Array.from({ length: 150 }, () => createConnection({ host: "127.0.0.1", port }));
    afterwards(() => strangers.forEach((stranger) => void stranger.destroy()));
    for (const stranger of strangers) stranger.on("error", () => {});
    await startVictim(temporal);
    expect(await victimOf(temporal)).toBe("RUNNING");
  },
  BUILD_MS,
);

test(
  "a server whose proxy was killed is started again, with a proxy at the same address",
  async () => {
    const temporal = await aTemporal(await anInterpreter());
    await startVictim(temporal);
    const pid = temporal.pid() ?? 0;
    const [, proxy = 0] = listProcesses(pid);
    process.kill(proxy, "SIGKILL");
    await until("another server runs", () => ![undefined, pid].includes(temporal.pid()), 60_000);
    expect(await victimOf(temporal)).toBe("RUNNING");

    const [server = 0, orphan = 0] = listProcesses(temporal.pid() ?? 0);
    process.kill(server, "SIGKILL");
    await until("the proxy has gone with its server", () => readOr(`/proc/${orphan}/stat`) === "", 10_000);
  },
  BUILD_MS,
);

test(
  "a server that cannot be enclosed says why, runs on loopback, and obeys no web page there",
  async () => {
    const temporal = await aTemporal();
    expect(temporal.openPortsProblem).toBe("there is no Python to make it with");
    await startVictim(temporal);
    const { ports, statuses } = await attackAll(temporal);
    expect(ports.length).toBeGreaterThan(2);
    expect(statuses.filter((status) => status !== undefined && status < 400)).toEqual([]);
    expect(await victimOf(temporal)).toBe("RUNNING");
  },
  BUILD_MS,
);
