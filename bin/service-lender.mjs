import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const CHECKOUT = dirname(dirname(fileURLToPath(import.meta.url)));
const START_MS_MAX = 600_000;
const LOOK_MS = 50;
/** When nobody has it for so long, the files that use it are done: they come soon after each other. */
const IDLE_MS = 60_000;
const OUTPUT_CHARACTERS_MAX = 20_000;
/** Twice what a machine of two cores has: what one file keeps running must not hold up another. */
const SETTINGS = { TREADLE_PORT: "0", TREADLE_EXAMPLES: "hello", TREADLE_SANDBOX_SLOTS: "8" };

/** Waits for the end of this process, however it ends, or of the service; then sees to it that nothing of the latter is left. */
const WATCHER = `
while kill -0 "$1" 2>/dev/null && kill -0 "$2" 2>/dev/null; do sleep 1; done
kill -TERM "$2" 2>/dev/null
while kill -0 "$2" 2>/dev/null; do sleep 1; done
rm -rf "$3"
`;

/** Starts the service that is lent. `ready` rejects when it does not come to that. */
const startService = () => (process.env.TREADLE_TEST_TEMPORAL === "server" ? startCluster() : startAlone());

/** In the long form of the tests of clusters it is several processes, on servers that they share. */
function startCluster() {
  const starting = import("../test/support/place.ts").then(async ({ aPlace }) => {
    const place = await aPlace();
    try {
      const service = await place.start();
      const lent = { dataDir: place.dataDir, database: place.database, ready: service.ready };
      return { lent, stop: () => service.stop().then(place.remove) };
    } catch (error) {
      await place.remove();
      throw error;
    }
  });
  const ready = starting.then(({ lent }) => lent);
  let isThere = true;
  ready.catch(() => {
    isThere = false;
  });
  return {
    ready,
    isThere: () => isThere,
    stop: () =>
      starting.then(
        ({ stop }) => stop(),
        () => undefined,
      ),
  };
}

/** As a user does, with data of its own. */
function startAlone() {
  const folder = mkdtempSync(join(tmpdir(), "treadle-lent-"));
  chmodSync(folder, 0o755);
  const dataDir = join(folder, "data");
  const child = spawn(process.execPath, [join(CHECKOUT, "bin/treadle"), "start"], {
    cwd: CHECKOUT,
    env: { ...process.env, ...SETTINGS, TREADLE_DATA_DIR: dataDir },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const watched = [process.pid, child.pid, folder].map(String);
  spawn("/bin/sh", ["-c", WATCHER, "watch-lent-service", ...watched], {
    cwd: "/",
    detached: true,
    stdio: "ignore",
  }).unref();
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => {
      output = (output + text).slice(-OUTPUT_CHARACTERS_MAX);
    });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const isThere = () => child.exitCode === null && child.signalCode === null;
  const becomeReady = async () => {
    for (const until = Date.now() + START_MS_MAX; Date.now() < until && isThere(); await sleep(LOOK_MS)) {
      const text = await readFile(join(dataDir, "ready.json"), "utf8").catch(() => undefined);
      const database = { host: join(dataDir, "postgres/socket"), user: "treadle", database: "treadle" };
      if (text !== undefined) return { dataDir, database, ready: JSON.parse(text) };
    }
    throw new Error(`The service of these tests did not become ready:\n${output}`);
  };
  const ready = becomeReady();
  ready.catch(() => undefined);
  return {
    ready,
    isThere,
    async stop() {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/**
 * Lends one service to all test files that ask for it, over a port of this machine: started when the first one asks, and
 * ended when the last has given it back and no other comes. A file has it as long as it keeps its connection, whatever
 * becomes of the file. A service that is gone is lent to nobody: who asks next gets a new one.
 */
async function openLender() {
  const started = [];
  let current;
  let borrowers = 0;
  let idle;
  let ended = Promise.resolve();
  const end = () => {
    current = undefined;
    ended = Promise.all([ended, ...started.splice(0).map((service) => service.stop())]);
    return ended;
  };
  const lend = () => {
    if (current === undefined || !current.isThere()) {
      current = startService();
      started.push(current);
    }
    return current.ready;
  };
  const server = createServer((socket) => {
    borrowers += 1;
    clearTimeout(idle);
    socket.once("close", () => {
      borrowers -= 1;
      if (borrowers === 0) idle = setTimeout(() => void end().catch(() => undefined), IDLE_MS).unref();
    });
    // Whoever goes away without a word has given it back, too.
    socket.on("error", () => undefined).resume();
    lend().then(
      (lent) => socket.write(`${JSON.stringify(lent)}\n`),
      (error) => socket.write(`${JSON.stringify({ problem: error.message })}\n`),
    );
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  server.unref();
  return {
    port: server.address().port,
    async close() {
      clearTimeout(idle);
      server.close();
      await end();
    },
  };
}

/** What jest does before the first file of a tier whose files share a service. */
export default async function openServiceLender() {
  const lender = await openLender();
  process.env.TREADLE_TEST_LENDER_PORT = String(lender.port);
  globalThis.treadleServiceLender = lender;
}
