import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleWorkflowCode, DefaultLogger, type NativeConnection, Runtime } from "@temporalio/worker";
import { findPython } from "../../src/setup/python.ts";
import { runCommand } from "../../src/setup/servers/command.ts";
import { startTemporal } from "../../src/setup/servers/temporal.ts";
import { findCacheDir } from "../../src/setup/servers/temporal-cache.ts";
import { type PagesTarget, toConnection } from "../../src/setup/servers/temporal-proxy.ts";
import { connectTemporal } from "../../src/temporal/workers.ts";
import { keepText } from "./kept-text.ts";

const CHECKOUT = fileURLToPath(new URL("../../", import.meta.url));
/** All that the bundle of the workflows can be made of. */
const SOURCES = ["workflows", "domain"];

// What fails in a test is said by its assertion; the SDK would print every planned failure with its stack.
Runtime.install({ logger: new DefaultLogger("ERROR"), shutdownSignals: [] });

export interface TestTemporal {
  readonly connection: NativeConnection;
  readonly namespace: string;
  /** How its web interface is requested. */
  readonly pages: PagesTarget | undefined;
  readonly workflowBundle: { code: string };
  stop(): Promise<void>;
}

/** A real Temporal server of this test file's own, found the way the service finds its own, and the workflows bundled from source. */
export async function aTemporal(): Promise<TestTemporal> {
  const dataDir = await mkdtemp(join(tmpdir(), "treadle-temporal-"));
  const how = {
    env: process.env,
    isRoot: process.getuid?.() === 0,
    mayInstall: false,
    runAs: undefined,
    run: runCommand,
  };
  const python = await findPython({ ...how, report: () => undefined });
  const server = await startTemporal({
    env: process.env,
    dataDir,
    cacheDir: findCacheDir(process.env),
    python: python.path,
    report: () => undefined,
    log: () => undefined,
  });
  const connection = await connectTemporal(toConnection(server));
  const workflowBundle = { code: await keepText("workflow-bundle", await hashSources(), bundleWorkflows) };
  return {
    connection,
    namespace: server.namespace,
    pages: server.pages,
    workflowBundle,
    async stop() {
      await connection.close();
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function bundleWorkflows(): Promise<string> {
  const workflowsPath = join(CHECKOUT, "workflows/index.ts");
  return (await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger("ERROR") })).code;
}

/** Changes with every source of the workflows, and with every package. */
async function hashSources(): Promise<string> {
  const hash = createHash("sha256").update(await readFile(join(CHECKOUT, "package-lock.json")));
  for (const room of SOURCES) {
    const paths = (await readdir(join(CHECKOUT, room), { recursive: true })).filter((path) => path.endsWith(".ts"));
    for (const path of paths.toSorted())
      hash.update(`${room}/${path}\0`).update(await readFile(join(CHECKOUT, room, path)));
  }
  return hash.digest("hex");
}
