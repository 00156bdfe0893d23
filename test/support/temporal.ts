import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime } from "@temporalio/worker";
import { startTemporal } from "../../src/setup/servers/temporal.ts";
import { findCacheDir } from "../../src/setup/servers/temporal-cache.ts";

// What fails in a test is said by its assertion; the SDK would print every planned failure with its stack.
Runtime.install({ logger: new DefaultLogger("ERROR"), shutdownSignals: [] });

export interface TestTemporal {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly address: string;
  readonly workflowBundle: { code: string };
  stop(): Promise<void>;
}

/** A real Temporal server of this test file's own, found the way the service finds its own, and the workflows bundled from source. */
export async function aTemporal(): Promise<TestTemporal> {
  const dataDir = await mkdtemp(join(tmpdir(), "treadle-temporal-"));
  const server = await startTemporal({
    env: process.env,
    dataDir,
    cacheDir: findCacheDir(process.env),
    report: () => undefined,
    log: () => undefined,
  });
  const connection = await NativeConnection.connect({ address: server.address, grpcCompression: { codec: "none" } });
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL("../../workflows/index.ts", import.meta.url)),
    logger: new DefaultLogger("ERROR"),
  });
  return {
    connection,
    namespace: server.namespace,
    address: server.address,
    workflowBundle,
    async stop() {
      await connection.close();
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
