import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { request } from "undici";
import { freePort } from "../../../src/setup/servers/free-port.ts";
import { commandOf, install } from "../peer.ts";
import { servedPeer } from "../served.ts";

const VERSION = "3.8.8";
/** The oldest that this Prefect allows: it does not start with the newest. */
const FASTAPI_VERSION = "0.139.0";
const HOST = "127.0.0.1";
const ASK_AGAIN_MS = 100;
const STOP_MAX_MS = 10_000;
const SERVICE = fileURLToPath(new URL("./prefect_service.py", import.meta.url));

/** A background task, which is Prefect's quickest durable form: a server, and a worker that runs the task as it comes. */
export const peer = servedPeer({
  file: "prefect",
  name: "Prefect (background task)",
  version: VERSION,
  isolation: "none: a fresh process",
  record: "SQLite, its default",
  engine: /^(python|prefect|uvicorn)/,
  async install(folder, interpreter) {
    await install(interpreter, ["-m", "venv", folder], folder);
    const packages = [`prefect==${VERSION}`, `fastapi==${FASTAPI_VERSION}`];
    await install(join(folder, "bin/python"), ["-m", "pip", "install", "--quiet", ...packages], folder);
  },
  async serve({ setting }) {
    const [apiPort, port] = [await freePort(HOST), await freePort(HOST)];
    const { file, env } = commandOf(setting, "pandas", "");
    const settings = {
      PATH: env.PATH,
      HOME: setting.dataDir,
      DO_NOT_TRACK: "1",
      PREFECT_HOME: join(setting.dataDir, "prefect"),
      PREFECT_API_URL: `http://${HOST}:${apiPort}/api`,
      PREFECT_SERVER_ANALYTICS_ENABLED: "false",
      PREFECT_LOGGING_LEVEL: "ERROR",
      PREFECT_SERVER_UI_ENABLED: "false",
      BENCH_PORT: String(port),
      BENCH_PYTHON: file,
      BENCH_PACKAGES: setting.packages,
      BENCH_PROGRAMS: fileURLToPath(new URL("../programs", import.meta.url)),
    };
    const start = (args: readonly string[]): ChildProcess =>
      spawn(join(setting.folder, "bin/python"), args, { env: settings, stdio: ["ignore", "ignore", "inherit"] });
    const server = start(["-m", "prefect", "server", "start", "--host", HOST, "--port", String(apiPort)]);
    await waitFor(`http://${HOST}:${apiPort}/api/health`);
    const worker = start([SERVICE]);
    await waitFor(`http://${HOST}:${port}/health`);
    return {
      url: `http://${HOST}:${port}/run`,
      async stop() {
        worker.kill("SIGKILL"); // What it has done is with the server.
        server.kill("SIGINT");
        const late = setTimeout(() => server.kill("SIGKILL"), STOP_MAX_MS);
        if (server.exitCode === null && server.signalCode === null) await once(server, "exit");
        clearTimeout(late);
      },
    };
  },
});

async function waitFor(address: string): Promise<void> {
  for (;;) {
    const answer = await request(address).catch(() => undefined);
    await answer?.body.dump();
    if (answer?.statusCode === 200) return;
    await sleep(ASK_AGAIN_MS);
  }
}
