import { writeFileSync } from "node:fs";
import { createSecureServer, type IncomingHttpHeaders } from "node:http2";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream";
import { beforeAll, expect, test } from "@jest/globals";
import { Connection } from "@temporalio/client";
import { findPython } from "../../../src/setup/python.ts";
import { runCommand } from "../../../src/setup/servers/command.ts";
import { freePort } from "../../../src/setup/servers/free-port.ts";
import { makeProxyCertificates } from "../../../src/setup/servers/proxy-certificates.ts";
import { startTemporal, type Temporal } from "../../../src/setup/servers/temporal.ts";
import { findCacheDir } from "../../../src/setup/servers/temporal-cache.ts";
import { type ClusterSettings, openCluster, readClusterEntry } from "../../../src/setup/servers/temporal-cluster.ts";
import { toConnection } from "../../../src/setup/servers/temporal-proxy.ts";
import { aFolder, afterwards, IS_ROOT, RUN_AS } from "./surroundings.ts";

const BUILD_MS = 30 * 60_000;
const DAY_S = 86_400;
const SHORTLY_MS = 600;
const STARTING_MS = 30_000;

/** One that asks for TLS with a certificate of the caller, as clusters do. */
let server: Temporal;
let settings: ClusterSettings;

beforeAll(async () => {
  const run = { report: () => {}, run: runCommand };
  const user = { env: process.env, runAs: RUN_AS };
  const { path: python } = await findPython({ ...user, ...run, isRoot: IS_ROOT, mayInstall: false });
  const dataDir = join(aFolder(), "data");
  server = await startTemporal({
    ...user,
    dataDir,
    cacheDir: findCacheDir(process.env),
    python,
    report: () => {},
    log: () => {},
    outsideFolder: join(dataDir, "..", "outside"),
  });
  settings = {
    TEMPORAL_ADDRESS: server.address,
    TEMPORAL_TLS_CA: aFile(server.tls?.ca),
    TEMPORAL_TLS_CERT: aFile(server.tls?.caller?.cert),
    TEMPORAL_TLS_KEY: aFile(server.tls?.caller?.key),
    TEMPORAL_TLS_SERVER_NAME: server.tls?.serverName,
  };
}, BUILD_MS);

afterwards(() => server.stop());

function aFile(text = ""): string {
  const path = join(aFolder(), "file.pem");
  writeFileSync(path, text);
  return path;
}

async function open(more: Partial<ClusterSettings> = {}, patienceMs = SHORTLY_MS): Promise<Temporal> {
  const entry = await readClusterEntry({ ...settings, ...more });
  if (entry === undefined) throw new Error("The settings name no cluster.");
  return openCluster(entry, { TEMPORAL_NAMESPACE: "team", TEMPORAL_UI_URL: "https://ui.example" }, patienceMs);
}

async function describe({ namespace, ...entry }: Temporal) {
  const connection = await Connection.connect(toConnection(entry));
  try {
    const { config } = await connection.workflowService.describeNamespace({ namespace });
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    const days = Number(config?.workflowExecutionRetentionTtl?.seconds) / DAY_S;
    return { days, attributes: Object.keys(customAttributes ?? {}).filter((name) => name.startsWith("Treadle")) };
  } finally {
    await connection.close();
  }
}

test("a cluster that asks for TLS and a certificate is opened, gets the namespace that it lacks, and is left alone after that", async () => {
  for (let start = 0; start < 2; start += 1) {
    const cluster = await open({}, STARTING_MS);
    expect(cluster).toMatchObject({ namespace: "team", uiUrl: "https://ui.example" });
    expect(await describe(cluster)).toEqual({ days: 30, attributes: expect.arrayContaining(["TreadleWorkflow"]) });
    expect(cluster.pid()).toBeUndefined();
    await cluster.stop();
  }
});

test.each<[string, () => Partial<ClusterSettings>, RegExp]>([
  [
    "another authority",
    () => ({ TEMPORAL_TLS_CA: aFile(makeProxyCertificates(Date.now()).ca) }),
    /certificate.*TEMPORAL_TLS_CA/,
  ],
  ["another name", () => ({ TEMPORAL_TLS_SERVER_NAME: "temporal.example" }), /altnames.*TEMPORAL_TLS_SERVER_NAME/],
  [
    "no certificate of its own",
    () => ({ TEMPORAL_TLS_CERT: undefined, TEMPORAL_TLS_KEY: undefined }),
    /TEMPORAL_TLS_CERT/,
  ],
  [
    "no TLS",
    () => ({
      TEMPORAL_TLS_CA: undefined,
      TEMPORAL_TLS_CERT: undefined,
      TEMPORAL_TLS_KEY: undefined,
      TEMPORAL_TLS_SERVER_NAME: undefined,
    }),
    /set TEMPORAL_TLS_CA where it expects TLS/,
  ],
  [
    "a file that is not there",
    () => ({ TEMPORAL_TLS_CA: "/nowhere/ca.pem" }),
    /^The file of TEMPORAL_TLS_CA, \/nowhere\/ca\.pem, cannot be read/,
  ],
])("a cluster, opened with %s, is refused with setting and reason", async (_name, more, message) => {
  await expect(open(more())).rejects.toThrow(message);
});

test("a cluster that does not answer is waited for, and then refused by its address", async () => {
  const port = await freePort("127.0.0.1");
  const address = `127.0.0.1:${port}`;
  await expect(open({ TEMPORAL_ADDRESS: address })).rejects.toThrow(
    /^Cannot use the Temporal cluster of TEMPORAL_ADDRESS \(127.*ECONNREFUSED/,
  );

  const opening = open({ TEMPORAL_ADDRESS: address }, STARTING_MS);
  const [host = "", behind] = server.address.split(":");
  const way = createServer((caller) => {
    const onwards = connect(Number(behind), host);
    pipeline(caller, onwards, caller, () => undefined); // Either end may leave at any time, as on any way.
    afterwards(() => void (caller.destroy(), onwards.destroy()));
  });
  setTimeout(() => way.listen(port, "127.0.0.1"), SHORTLY_MS);
  afterwards(() => void way.close());
  expect((await opening).source).toBe(`TEMPORAL_ADDRESS (${address})`);
});

test("an API key goes with each call to the cluster, over TLS alone; where it is refused the setting is named", async () => {
  const { ca, proxy } = makeProxyCertificates(Date.now());
  const seen: IncomingHttpHeaders[] = [];
  const cloud = createSecureServer(proxy, (request, response) => {
    seen.push(request.headers);
    // As gRPC says that a caller is not known.
    response.writeHead(200, { "content-type": "application/grpc", "grpc-status": "16", "grpc-message": "who are you" });
    response.end();
  });
  cloud.on("session", (session) => afterwards(() => session.destroy()));
  await new Promise<void>((resolve) => cloud.listen(0, "127.0.0.1", resolve));
  afterwards(() => void cloud.close());
  const { port } = cloud.address() as AddressInfo;
  const refused = open({
    TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
    TEMPORAL_API_KEY: "key-1",
    TEMPORAL_TLS_CA: aFile(ca),
    TEMPORAL_TLS_CERT: undefined,
    TEMPORAL_TLS_KEY: undefined,
  });
  await expect(refused).rejects.toThrow(/namespace team \(TEMPORAL_NAMESPACE\).*Correct TEMPORAL_API_KEY/);
  expect(seen.map(({ authorization }) => authorization)).toContain("Bearer key-1");
});
