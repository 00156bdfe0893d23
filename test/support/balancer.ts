import { once } from "node:events";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { ensureCertificate } from "../../src/setup/own-certificate.ts";

export interface Balancer {
  readonly url: string;
  /** What its certificate is trusted by. */
  readonly caFile: string;
  /** Which process each request went to so far, by its place. */
  readonly turns: readonly number[];
  /** The ports that plain HTTP goes to, by turns. */
  open(ports: readonly number[]): void;
  close(): Promise<void>;
}

/** A proxy that ends TLS and hands each request to the next of several processes, whatever it is about. */
export async function openBalancer(folder: string): Promise<Balancer> {
  const { certPem, keyPem } = await ensureCertificate({ dir: folder, hostNames: [], now: Date.now });
  let targets: readonly number[] = [];
  const turns: number[] = [];
  const pass = (asked: IncomingMessage, answer: ServerResponse): void => {
    const turn = turns.length % targets.length;
    turns.push(turn);
    const headers = {
      ...asked.headers,
      "x-forwarded-proto": "https",
      "x-forwarded-for": String(asked.socket.remoteAddress),
    };
    const place = { host: "127.0.0.1", port: targets[turn], method: asked.method, path: asked.url, headers };
    const passed = request(place, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
  };
  const server = createServer({ cert: certPem, key: keyPem }, pass);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    caFile: join(folder, "ca.pem"),
    turns,
    open(ports) {
      targets = ports;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
