import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { freePort } from "../../../src/setup/servers/free-port.ts";
import { type ProgramName, runProgram } from "../peer.ts";
import { servedPeer } from "../served.ts";

const VERSION = "1.7.12";
const SDK_VERSION = "1.17.2";
const HOST = "127.0.0.1";
const ASK_AGAIN_MS = 50;

interface Call {
  readonly program: ProgramName;
  readonly value: string;
}

/** The part of `@restatedev/restate-sdk` that is used here. */
interface Restate {
  service(definition: { name: string; handlers: object }): object;
  createEndpointHandler(options: { services: object[] }): Parameters<typeof createServer>[1];
}

interface Context {
  run<Result>(name: string, step: () => Promise<Result>): Promise<Result>;
}

/** A service of one handler with one durable step, called through Restate's own HTTP ingress. */
export const peer = servedPeer({
  file: "restate",
  name: "Restate",
  version: VERSION,
  isolation: "none: a fresh process",
  record: "its own log",
  engine: /^restate/,
  packages: [`@restatedev/restate-server@${VERSION}`, `@restatedev/restate-sdk@${SDK_VERSION}`],
  async serve({ setting, load }) {
    addPromiseResolvers();
    const restate = load<Restate>("@restatedev/restate-sdk");
    const run = async (context: Context, { program, value }: Call) => ({
      answer: await context.run("program", () => runProgram(setting, program, value)),
    });
    const endpoint = createServer(
      {},
      restate.createEndpointHandler({
        services: [restate.service({ name: "runner", handlers: { run } })],
      }),
    );
    endpoint.listen(0, HOST);
    await once(endpoint, "listening");
    const { port } = endpoint.address() as AddressInfo;
    const server = await startServer(setting);
    await register(`http://${HOST}:${server.admin}/deployments`, `http://${HOST}:${port}`);
    return {
      url: `http://${HOST}:${server.ingress}/runner/run`,
      async stop() {
        const ended = once(server.child, "exit");
        server.child.kill("SIGTERM");
        await ended;
        endpoint.close();
      },
    };
  },
});

/** Node.js 20 has no `Promise.withResolvers`, which the SDK calls. */
function addPromiseResolvers(): void {
  const withResolvers = () => {
    let [resolve, reject]: [unknown, unknown] = [undefined, undefined];
    const promise = new Promise((onDone, onFailed) => ([resolve, reject] = [onDone, onFailed]));
    return { promise, resolve, reject };
  };
  if (!("withResolvers" in Promise)) Object.assign(Promise, { withResolvers });
}

async function startServer({ folder, dataDir }: { folder: string; dataDir: string }) {
  const packageName = `@restatedev/restate-server-${process.platform}-${process.arch}`;
  const binary = join(folder, "node_modules", packageName, "bin/restate-server");
  const [ingress, admin, node] = [await freePort(HOST), await freePort(HOST), await freePort(HOST)];
  const child = spawn(binary, ["--no-logo", "--listen-mode", "tcp", "--bind-ip", HOST, "--bind-port", String(node)], {
    cwd: dataDir,
    env: {
      PATH: process.env.PATH,
      RESTATE_BASE_DIR: join(dataDir, "restate"),
      RESTATE_INGRESS__BIND_ADDRESS: `${HOST}:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `${HOST}:${admin}`,
      RESTATE_LOG_FILTER: "error",
      RESTATE_DISABLE_TELEMETRY: "true",
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return { child, ingress, admin };
}

async function register(address: string, uri: string): Promise<void> {
  const ask = () =>
    request(address, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ uri, force: true }),
    });
  for (;;) {
    const answer = await ask().catch(() => undefined);
    await answer?.body.dump();
    if (answer !== undefined && answer.statusCode < 300) return;
    await sleep(ASK_AGAIN_MS);
  }
}
