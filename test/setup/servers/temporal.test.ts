import { chmodSync, cpSync, existsSync, mkdirSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { Connection } from "@temporalio/client";
import { findPython } from "../../../src/setup/python.ts";
import { superviseChild } from "../../../src/setup/servers/child.ts";
import { runCommand } from "../../../src/setup/servers/command.ts";
import { freePort } from "../../../src/setup/servers/free-port.ts";
import { startTemporal, type Temporal, type TemporalOptions } from "../../../src/setup/servers/temporal.ts";
import { resolveTemporalBinary } from "../../../src/setup/servers/temporal-binary.ts";
import { findCacheDir } from "../../../src/setup/servers/temporal-cache.ts";
import { type TemporalEntry, toConnection } from "../../../src/setup/servers/temporal-proxy.ts";
import { noNetwork } from "./releases.ts";
import { aFolder, afterwards, aProgram, aRunner, IS_ROOT, RUN_AS, STOP_MS_MAX, until } from "./surroundings.ts";

const ATTRIBUTES = ["TreadleAccount", "TreadleCommit", "TreadleTrigger", "TreadleWorkflow"];
const BUILD_MS = 30 * 60_000; // the first test of a fresh machine may have to build the server
const cacheDir = findCacheDir(process.env);

async function aTemporal(
  options: Partial<TemporalOptions> = {},
): Promise<{ temporal: Temporal; dataDir: string; reports: string[] }> {
  const dataDir = options.dataDir ?? join(aFolder(), "data");
  const reports: string[] = [];
  const temporal = await startTemporal({
    env: { ...process.env, TEMPORAL_ADDRESS: undefined },
    dataDir,
    cacheDir,
    runAs: RUN_AS,
    outsideFolder: join(dataDir, "..", "outside"),
    report: (line) => reports.push(line),
    log: () => {},
    ...options,
  });
  afterwards(() => temporal.stop());
  return { temporal, dataDir, reports };
}

type Reached = TemporalEntry & Pick<Temporal, "namespace">;

/** Ids of the executions a query finds. */
async function list(temporal: Reached, query: string) {
  const connection = await Connection.connect({ ...toConnection(temporal), connectTimeout: "5s" });
  try {
    const { namespace } = temporal;
    const { executions } = await connection.workflowService.listWorkflowExecutions({ namespace, query });
    return executions?.map(({ execution }) => execution?.workflowId);
  } finally {
    await connection.close();
  }
}

/** What the server at this address says of its namespace. */
async function describe(temporal: Reached) {
  const connection = await Connection.connect({ ...toConnection(temporal), connectTimeout: "5s" });
  try {
    const { namespace } = temporal;
    const { config, namespaceInfo } = await connection.workflowService.describeNamespace({ namespace });
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    return {
      id: namespaceInfo?.id,
      retentionDays: Number(config?.workflowExecutionRetentionTtl?.seconds) / 86_400,
      attributes: Object.keys(customAttributes ?? {})
        .filter((name) => name.startsWith("Treadle"))
        .sort(),
    };
  } finally {
    await connection.close();
  }
}

test(
  "startTemporal, on a fresh machine, serves our namespace and the web interface on loopback and keeps data over a restart",
  async () => {
    const { temporal, dataDir } = await aTemporal();
    expect(temporal).toMatchObject({ namespace: "treadle", address: expect.stringMatching(/^127\.0\.0\.1:\d+$/) });
    const before = await describe(temporal);
    expect(before).toMatchObject({ retentionDays: 30, attributes: ATTRIBUTES });
    const { port } = temporal.pages ?? {};
    const page = await fetch(`http://127.0.0.1:${port}/temporal/`);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, expect.stringContaining("text/html")]);
    const [user] = (await runCommand("ps", ["-o", "uid=", "-p", String(temporal.pid())], { env: {} })).stdout
      .trim()
      .split("\n");
    expect(Number(user)).toBe(RUN_AS?.uid ?? process.getuid?.());
    expect(statSync(join(dataDir, "temporal", "data")).mode & 0o777).toBe(0o700);

    const startedAt = Date.now();
    await Promise.all([temporal.stop(), temporal.stop()]);
    expect(Date.now() - startedAt).toBeLessThan(STOP_MS_MAX);
    const again = await aTemporal({ dataDir });
    // Another program of this machine may take a port first: then another one is chosen, which is said.
    expect(again.reports.filter((line) => !line.startsWith("A port chosen"))).toEqual([]);
    expect((await describe(again.temporal)).id).toBe(before.id);
    await again.temporal.stop();
  },
  BUILD_MS,
);

test(
  "startTemporal, with a Python, drops the indexes nobody asks by, once, and the lists still answer",
  async () => {
    const lines: string[] = [];
    const python = await findPython({
      env: process.env,
      runAs: RUN_AS,
      isRoot: IS_ROOT,
      mayInstall: false,
      report: () => {},
      run: runCommand,
    });
    const options = { python: python.path, log: (line: string) => void lines.push(line) };
    const { temporal, dataDir } = await aTemporal(options);
    const said = (): string[] => lines.filter((line) => line.includes("indexes"));
    expect(said()).toEqual([expect.stringMatching(/^[4-9]\d unused indexes /)]);
    expect(await list(temporal, "TreadleWorkflow = 'wf_1' and WorkflowType = 'x' and TaskQueue = 'y'")).toEqual([]);
    await temporal.stop();
    const again = await aTemporal({ ...options, dataDir });
    expect(said().slice(1)).toEqual([expect.stringMatching(/^0 unused indexes /)]);
    await again.temporal.stop();
    const broken = await aTemporal({ ...options, dataDir, python: "/nonexistent/python3" });
    expect(said().slice(2)).toEqual([expect.stringContaining("stay, and cost some time")]);
    expect((await describe(broken.temporal)).attributes).toEqual(ATTRIBUTES);
  },
  BUILD_MS,
);

test(
  "startTemporal, when the data come from a start without our attributes, adds them and the retention",
  async () => {
    const { temporal, dataDir } = await aTemporal();
    await temporal.stop();
    const binary = await resolveTemporalBinary({
      env: process.env,
      cacheDir,
      report: () => {},
      fetch,
      run: runCommand,
    });
    const bare = join(aFolder(), "data");
    mkdirSync(join(bare, "temporal", "data"), { recursive: true });
    const databaseFile = join(bare, "temporal", "data", `temporal-${binary.version}.db`);
    const port = await freePort("127.0.0.1");
    const args = [
      "server",
      "start-dev",
      "--headless",
      "--port",
      String(port),
      "--db-filename",
      databaseFile,
      "--namespace",
      "treadle",
    ];
    const lines: string[] = [];
    const child = superviseChild({
      name: "bare",
      command: binary.path,
      args,
      env: { HOME: bare },
      onLine: (_stream, line) => lines.push(line),
    });
    afterwards(() => child.stop({ graceMs: 5_000 }));
    await until("the bare server is up", () => lines.some((line) => line.startsWith("Temporal Server:")), 30_000);
    expect(await describe({ namespace: "treadle", address: `127.0.0.1:${port}` })).toMatchObject({
      retentionDays: 1,
      attributes: [],
    });
    await child.stop({ graceMs: 5_000 });
    if (RUN_AS !== undefined)
      await runCommand("chown", ["-R", `${RUN_AS.uid}:${RUN_AS.gid}`, join(bare, "temporal", "data")], { env: {} });
    const again = await aTemporal({ dataDir: bare });
    expect(await describe(again.temporal)).toMatchObject({ retentionDays: 30, attributes: ATTRIBUTES });
    await again.temporal.stop();
    expect(existsSync(join(dataDir, "temporal", "treadle.lock"))).toBe(false);
  },
  BUILD_MS,
);

test(
  "startTemporal, when another Temporal took the port in between, does not take that one for its own but moves on",
  async () => {
    const stranger = await aTemporal();
    const strangersPort = Number(stranger.temporal.address.split(":")[1]);
    const strangersNamespace = await describe(stranger.temporal);
    const ports = [strangersPort];
    const { temporal, reports } = await aTemporal({ choosePort: async (host) => ports.shift() ?? freePort(host) });
    expect(temporal.address).not.toBe(stranger.temporal.address);
    expect(reports).toContain("A port chosen for Temporal was taken in the meantime; choosing another.");
    expect((await describe(temporal)).id).not.toBe(strangersNamespace.id);
    await Promise.all([temporal.stop(), stranger.temporal.stop()]);
  },
  BUILD_MS,
);

test(
  "startTemporal, when a stranger answers at the port while our server is still failing, does not believe the stranger",
  async () => {
    const stranger = await aTemporal();
    const port = Number(stranger.temporal.address.split(":")[1]);
    const slow = aProgram(
      join(aFolder(), "temporal"),
      'if [ "$1" = --version ]; then echo "temporal version 1.8.2 (Server 1.31.2, UI 2.50.1)"; else sleep 1; echo "address already in use" >&2; exit 1; fi',
    );
    const deceived = aTemporal({
      env: { PATH: process.env.PATH, TEMPORAL_CLI_PATH: slow },
      choosePort: async () => port,
    });
    await expect(deceived).rejects.toThrow(/ended while starting\. It said: address already in use/);
    await stranger.temporal.stop();
  },
  BUILD_MS,
);

test(
  "startTemporal, when the port of the web interface was taken in between, moves on too",
  async () => {
    const squatter = createServer().listen(0, "127.0.0.1");
    afterwards(() => squatter.close());
    await until("listening", () => squatter.listening);
    const taken = (squatter.address() as { port: number }).port;
    const ports = [await freePort("127.0.0.1"), taken];
    const { temporal } = await aTemporal({ choosePort: async (host) => ports.shift() ?? freePort(host) });
    expect(temporal.pages?.port).not.toBe(taken);
    expect((await fetch(`http://127.0.0.1:${temporal.pages?.port}/temporal/`)).status).toBe(200);
    await temporal.stop();
  },
  BUILD_MS,
);

test(
  "startTemporal, when two start on one data dir, refuses the second; after a crash the first is back at its address",
  async () => {
    const { temporal, dataDir } = await aTemporal();
    await expect(aTemporal({ dataDir })).rejects.toThrow(
      `Another Treadle (process ${process.pid}) is using the data dir ${dataDir}`,
    );
    const { id } = await describe(temporal);
    const pid = temporal.pid() ?? 0;
    process.kill(pid, "SIGKILL");
    await until("another server runs", () => ![undefined, pid].includes(temporal.pid()), 30_000);
    expect((await describe(temporal)).id).toBe(id);
    await temporal.stop();
  },
  BUILD_MS,
);

test(
  "startTemporal, when stopped while it starts, leaves no process",
  async () => {
    const stopping = AbortSignal.abort(new Error("stopping"));
    await expect(aTemporal({ signal: stopping })).rejects.toThrow("stopping");
  },
  BUILD_MS,
);

test("startTemporal, when the cache cannot be written and is empty, keeps one in the data dir", async () => {
  const dataDir = join(aFolder(), "data");
  const { run } = aRunner(({ command }) => (command === "go" ? { code: 127 } : {}));
  const noFolder = join(process.execPath, "cache"); // below a file
  const started = aTemporal({ dataDir, cacheDir: noFolder, env: { PATH: "" }, run, fetch: noNetwork });
  await expect(started).rejects.toThrow(`the cache ${join(dataDir, "temporal", "cache")}: nothing in it`);
});

if (IS_ROOT) {
  test(
    "startTemporal, when the server and the checkout are in a 0700 home, runs a copy of it as the user",
    async () => {
      const binary = await resolveTemporalBinary({
        env: process.env,
        cacheDir,
        report: () => {},
        fetch,
        run: runCommand,
      });
      const home = aFolder();
      cpSync(binary.path, join(home, "temporal"));
      chmodSync(home, 0o700);
      const outsideFolder = join(aFolder(), "outside");
      const { temporal, reports } = await aTemporal({
        env: { TEMPORAL_CLI_PATH: join(home, "temporal") },
        dataDir: join(home, ".treadle"),
        outsideFolder,
      });
      expect(reports[1]).toMatch(new RegExp(`^Copied temporal to ${outsideFolder}/temporal-`));
      expect((await describe(temporal)).retentionDays).toBe(30);
      await temporal.stop();
    },
    BUILD_MS,
  );
}
