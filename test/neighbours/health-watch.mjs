/**
 * Asks `/healthz` of a service again and again, and by turns a server of its own that does nothing else: how long that one
 * takes is how busy the machine is. In a process of its own, so that the test's loop has no part in it.
 * `node health-watch.mjs <url> <file of the certificate>` prints `service <ms>` and `control <ms>`, a line each, until standard
 * input ends, then the wait that is still open. A call that fails takes -1.
 */
import { readFileSync } from "node:fs";
import { get as getPlain } from "node:http";
import { Agent, get as getSecure } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";

const EVERY_MS = 20;
const [url, caFile] = process.argv.slice(2);
const agent = new Agent({ ca: readFileSync(caFile), keepAlive: true, maxSockets: 1 });
let open = { name: "service", startedAt: performance.now() };

async function time(name, get) {
  open = { name, startedAt: performance.now() };
  const took = () => Math.round(performance.now() - open.startedAt);
  const ms = await new Promise((resolve) => {
    get((answer) => answer.resume().once("end", () => resolve(took()))).once("error", () => resolve(-1));
  });
  process.stdout.write(`${name} ${ms}\n`);
  open = undefined;
  await sleep(EVERY_MS);
}

/** In a thread, so that it has an event loop that only a lack of processor time can hold up. */
function startControl() {
  const code = `(${serve.toString()})(require("node:http"), require("node:worker_threads").parentPort)`;
  const worker = new Worker(code, { eval: true });
  return new Promise((resolve) => worker.once("message", resolve));
}

function serve({ createServer: create }, parent) {
  const server = create((_request, response) => response.end("{}"));
  server.listen(0, "127.0.0.1", () => parent.postMessage(server.address().port));
}

process.stdin.resume().once("end", () => {
  const last = open === undefined ? "" : `${open.name} ${Math.round(performance.now() - open.startedAt)}\n`;
  process.stdout.write(last, () => process.exit(0));
});
const controlPort = await startControl();
for (;;) {
  await time("service", (hear) => getSecure(`${url}/healthz`, { agent }, hear));
  await time("control", (hear) => getPlain({ port: controlPort, host: "127.0.0.1" }, hear));
}
