import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo } from "node:net";

/** A request that came by, and what passed of it. */
export interface Passed {
  /** Method and address. */
  readonly what: string;
  readonly headers: IncomingHttpHeaders;
  /** Of its body. */
  bytesIn: number;
  /** Of the body of its answer. */
  bytesOut: number;
  /** Undefined until the store has answered. */
  status: number | undefined;
}

/** What becomes of a request on its way to the store, or of the answer on its way back. */
export type StoreFault =
  | "503"
  | "500 within 200"
  | "no answer"
  | "half of the content"
  | "another content"
  | "answer lost"
  | "half of the answer"
  | "another answer";

export interface StoreProxy {
  readonly port: number;
  readonly passed: readonly Passed[];
  /** Lets this happen to the next requests that `isMeant`, so often. */
  disturb(fault: StoreFault, isMeant: (what: string) => boolean, times?: number): void;
  close(): Promise<void>;
}

interface Disturbance {
  readonly fault: StoreFault;
  readonly isMeant: (what: string) => boolean;
  times: number;
}

const XML = '<?xml version="1.0" encoding="UTF-8"?>\n';

/** A way to a store that keeps what passes, and on which things go wrong. */
export async function openStoreProxy({ endpoint }: { endpoint: string }): Promise<StoreProxy> {
  const { hostname: host, port: storePort } = new URL(endpoint);
  const passed: Passed[] = [];
  const disturbances: Disturbance[] = [];
  const takeFault = (what: string): StoreFault | undefined => {
    const found = disturbances.find(({ times, isMeant }) => times > 0 && isMeant(what));
    if (found !== undefined) found.times -= 1;
    return found?.fault;
  };
  const server = createServer((asked, answer) => {
    const what = `${asked.method} ${asked.url}`;
    const seen: Passed = { what, headers: asked.headers, bytesIn: 0, bytesOut: 0, status: undefined };
    passed.push(seen);
    const fault = takeFault(what);
    pass({ asked, answer, seen, fault }, { host, port: storePort }).catch(() => answer.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    passed,
    disturb: (fault, isMeant, times = 1) => void disturbances.push({ fault, isMeant, times }),
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Passing {
  readonly asked: IncomingMessage;
  readonly answer: ServerResponse;
  readonly seen: Passed;
  readonly fault: StoreFault | undefined;
}

async function pass({ asked, answer, seen, fault }: Passing, store: { host: string; port: string }): Promise<void> {
  if (fault === "503" || fault === "500 within 200") {
    for await (const chunk of asked) seen.bytesIn += (chunk as Buffer).length;
    const [status, code] = fault === "503" ? [503, "SlowDown"] : [200, "InternalError"];
    seen.status = status;
    answer.writeHead(status, { "content-type": "application/xml" });
    return void answer.end(`${XML}<Error><Code>${code}</Code><Message>Once more, please.</Message></Error>`);
  }
  // The address that was signed stays in the headers.
  const { expect: _, ...headers } = asked.headers;
  const passing = request({ ...store, method: asked.method, path: asked.url, headers, agent: false });
  answer.on("close", () => passing.destroy());
  const answered = once(passing, "response") as Promise<[IncomingMessage]>;
  answered.catch(() => answer.destroy());
  const half = Number(headers["content-length"] ?? 0) / 2;
  for await (const chunk of asked as AsyncIterable<Buffer>) {
    seen.bytesIn += chunk.length;
    if (fault === "half of the content" && seen.bytesIn > half) return void asked.destroy();
    if (!passing.write(fault === "another content" ? damage(chunk) : chunk)) await once(passing, "drain");
  }
  passing.end();
  const [got] = await answered;
  seen.status = got.statusCode;
  if (fault === "no answer") return;
  if (fault === "answer lost") return void answer.destroy();
  await passBack(got, { asked, answer, seen, fault });
}

async function passBack(got: IncomingMessage, { answer, seen, fault }: Passing): Promise<void> {
  answer.writeHead(got.statusCode ?? 502, got.headers);
  const half = Number(got.headers["content-length"] ?? 0) / 2;
  for await (const chunk of got as AsyncIterable<Buffer>) {
    seen.bytesOut += chunk.length;
    if (fault === "half of the answer" && seen.bytesOut > half) {
      answer.write(chunk.subarray(0, chunk.length / 2));
      return void setImmediate(() => answer.destroy());
    }
    if (!answer.write(fault === "another answer" ? damage(chunk) : chunk)) await once(answer, "drain");
  }
  answer.end();
}

/** The same with its first byte changed. */
function damage(chunk: Buffer): Buffer {
  const changed = Buffer.from(chunk);
  changed[0] = (changed[0] ?? 0) ^ 1;
  return changed;
}
