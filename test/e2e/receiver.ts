import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/**
 * How a path of the receiver answers: a status, with headers perhaps, or never. `endless`: at once, with a body that goes on. `trickle`: the
 * same, a byte a second.
 */
type Answering =
  | { readonly status: number; readonly headers?: Record<string, string> }
  | "never"
  | "endless"
  | "trickle";

const TRICKLE_MS = 1_000;
const CHUNK = Buffer.alloc(65_536, "no end ");

/** Sends a body until the other side has enough of it. Returns its bytes. */
async function sendOn(response: ServerResponse, isTrickle: boolean): Promise<number> {
  for (let bytes = 0; ; ) {
    if (response.destroyed) return bytes;
    const part = isTrickle ? CHUNK.subarray(0, 1) : CHUNK;
    bytes += part.length;
    const isTaken = response.write(part);
    const waits = [once(response, "close")];
    if (isTrickle) waits.push(sleep(TRICKLE_MS, []));
    else if (!isTaken) waits.push(once(response, "drain"));
    else waits.push(sleep(0, []));
    await Promise.race(waits);
  }
}

/** A server that gets messages, on loopback. Each path answers as `answers` says, 204 unless it says something. */
export async function aReceiver(answers: Record<string, Answering> = {}) {
  const received: Received[] = [];
  const bodies: Record<string, Promise<number>> = {};
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => void chunks.push(chunk));
    request.on("end", () => {
      received.push({ path, headers: request.headers, text: Buffer.concat(chunks).toString() });
      const answer = answers[path] ?? { status: 204 };
      if (answer === "endless" || answer === "trickle") bodies[path] = sendOn(response, answer === "trickle");
      else if (answer !== "never") response.writeHead(answer.status, answer.headers ?? {}).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    received,
    answers,
    /** Of a path without an end: how many bytes it could send. */
    bodies,
    url: (path: string) => `http://127.0.0.1:${port}${path}`,
    on: (path: string) => received.filter((one) => one.path === path),
    /** Waits until a path has got as many messages, and returns them. */
    async until(path: string, count: number, patienceMs = 60_000): Promise<Received[]> {
      for (const deadline = Date.now() + patienceMs; ; await sleep(50)) {
        const found = received.filter((one) => one.path === path);
        if (found.length >= count) return found;
        if (Date.now() > deadline) throw new Error(`${path} got ${found.length} messages instead of ${count}.`);
      }
    },
    close: () => {
      server.closeAllConnections();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
