import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pino from "pino";
import type { BodyPace } from "../../src/http/server/request-body.ts";
import { createHttpsServer, type HttpsServer } from "../../src/http/server/server.ts";
import { withTimeout } from "../../system/with-timeout.ts";
import { anEndedExecution } from "../http/service.ts";
import { aCertificate } from "../support/https.ts";
import { serverDefaults } from "../support/server-defaults.ts";
import { measureHeldMemory } from "./held-memory.ts";
import { aKeyedRequest, anExecuteRequest, aRequest, executePath, filePath } from "./requests.ts";
import { aTarget, type Holdings, type HostileService, takeStock } from "./target.ts";
import { type Address, exchange, openConnection } from "./wire.ts";

const HEADERS_MS = 400;
/** So much that the first request of a connection is there in time, and not more: the second one is waited for that long. */
const SECOND_HEADERS_MS = 4_000;
/** Where something else is to be found too slow. */
const AMPLE_MS = 60_000;
const PACE = { ...serverDefaults().pace, windowMs: 300, bytesMin: 2_000, lingerMs: 500, lingerBytesMax: 1_000_000 };
/** What this machine may be late by, above what the settings say; others use it too. */
const LATE_MS = 15_000;
/** How long a file is not read: long enough to be cut off for it. */
const UNREAD_MS = 4_000;
/** Others wait for their answer at most as long, on a machine that is busy with all of this. */
const SERVED_MS = 90_000;
/** Fixed in the service: until the first byte of a connection, and for the handshake. */
const HANDSHAKE_MS = 10_000;

let service: HostileService;
const servers: HttpsServer[] = [];
/** Patient with headers, and impatient with bodies. */
let address: Address;
let byHeaders: Address;
let bySecondHeaders: Address;
let byLimits: Address;
/** Opened before everything else, because they are to be cut off only after ten seconds. */
let unspoken: Promise<(End | undefined)[]>;

beforeAll(async () => {
  service = await aTarget();
  const tls = await aCertificate();
  const open = async (headersMs: number, pace: BodyPace): Promise<Address> => {
    const log = pino({ level: "silent" });
    const server = await createHttpsServer({ ...serverDefaults(), app: service.app, tls, log, pace, headersMs });
    servers.push(server);
    return { port: server.port, cert: tls.cert };
  };
  address = await open(AMPLE_MS, PACE);
  byHeaders = await open(HEADERS_MS, PACE);
  bySecondHeaders = await open(SECOND_HEADERS_MS, PACE);
  byLimits = await open(AMPLE_MS, serverDefaults().pace);
  unspoken = Promise.all(["", "\x16", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc"].map(sendUnspoken));
});

afterAll(async () => {
  await Promise.all(servers.map((server) => server.close(0)));
  await service?.close();
});

/** A connection that never speaks, or never ends its handshake. */
async function sendUnspoken(bytes: string): Promise<End | undefined> {
  const socket = await openConnection({ ...address, cert: undefined });
  if (bytes !== "") socket.write(bytes, "latin1");
  // Its ten seconds run while everything below keeps this process busy.
  return waitForClose(socket, HANDSHAKE_MS + 2 * LATE_MS);
}

interface End {
  readonly ms: number;
  readonly text: string;
}

/** How long it took until the service closed, and what it said. Undefined when it did not within the time. */
async function waitForClose(socket: Socket, ms: number): Promise<End | undefined> {
  const since = Date.now();
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.resume();
  const closed = new Promise<true>((resolve) => {
    if (socket.destroyed) resolve(true);
    socket.once("close", () => resolve(true));
  });
  const outcome = await withTimeout(closed, ms, () => undefined);
  socket.destroy();
  return outcome === true ? { ms: Date.now() - since, text: Buffer.concat(chunks).toString() } : undefined;
}

/** Sends these bytes again and again until the connection is gone. */
function drip(socket: Socket, bytes: string, everyMs: number): void {
  const timer = setInterval(() => (socket.destroyed ? clearInterval(timer) : socket.write(bytes)), everyMs);
  socket.once("close", () => clearInterval(timer));
}

/** Every slow caller is cut off in time, hears 400 where `says` is given, and others are answered at once meanwhile. */
async function expectCut(
  begin: (socket: Socket) => void,
  bounds: { withinMs: number; says?: RegExp; callers?: number; to?: Address },
): Promise<void> {
  const callers = bounds.callers ?? 10;
  const before = await takeStock(service);
  const to = bounds.to ?? address;
  const ends = Array.from({ length: callers }, async () => {
    const socket = await openConnection(to);
    const end = waitForClose(socket, bounds.withinMs + LATE_MS);
    begin(socket);
    return end;
  });
  await expectServed(to);
  for (const end of await Promise.all(ends)) {
    expect(end).toBeDefined();
    if (bounds.says !== undefined) expect(end?.text).toMatch(bounds.says);
  }
  await expectStock(before);
}

/** Somebody else gets an answer. Where headers have little time, a machine that has none may make it too slow itself. */
async function expectServed(to: Address): Promise<void> {
  const since = Date.now();
  for (let status = 0; status !== 200; ) {
    const { replies } = await exchange(to, [aRequest("GET", "/healthz")], { hangMs: SERVED_MS });
    status = replies[0]?.status ?? 0;
    expect([to === byHeaders ? 200 : status, Date.now() - since < SERVED_MS]).toEqual([200, true]);
  }
}

/** What a request had begun to store is removed soon after it was cut off. */
async function expectStock(wanted: Holdings): Promise<void> {
  const isLike = (stock: Holdings): boolean => JSON.stringify(stock) === JSON.stringify(wanted);
  for (const until = Date.now() + LATE_MS; Date.now() < until && !isLike(await takeStock(service)); ) await sleep(20);
  expect(await takeStock(service)).toEqual(wanted);
}

test("slowloris, by headers that trickle, is cut off after the time for headers", async () => {
  const begin = (socket: Socket): void => {
    socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
    drip(socket, "X: 1\r\n", 50);
  };
  await expectCut(begin, { to: byHeaders, withinMs: 2 * HEADERS_MS, says: /^HTTP\/1\.1 400 /, callers: 50 });
});

test("slowloris, by a request line that trickles, is cut off after the time for headers", async () => {
  const begin = (socket: Socket): void => {
    socket.write("GET /");
    drip(socket, "a", 50);
  };
  await expectCut(begin, { to: byHeaders, withinMs: 2 * HEADERS_MS, says: /^HTTP\/1\.1 400 / });
});

test("slowloris, by empty lines before a request, is cut off after the time for headers", async () => {
  await expectCut((socket) => drip(socket, "\r\n", 50), { to: byHeaders, withinMs: 2 * HEADERS_MS });
});

test("slowloris, that says nothing after the handshake, is cut off after the time for headers", async () => {
  await expectCut(() => undefined, { to: byHeaders, withinMs: 2 * HEADERS_MS });
});

test("slowloris, in the second request of a connection, is cut off after the time for headers", async () => {
  const begin = (socket: Socket): void => {
    socket.write(aRequest("GET", "/healthz", { close: false }));
    socket.write("GET /healthz HTTP/1.1\r\n");
    drip(socket, "X: 1\r\n", 50);
  };
  await expectCut(begin, {
    to: bySecondHeaders,
    withinMs: 2 * SECOND_HEADERS_MS,
    says: /HTTP\/1\.1 200 [^]*HTTP\/1\.1 400 /,
  });
});

test("slow body, of JSON that trickles, is refused after a window", async () => {
  const begin = (socket: Socket): void => {
    socket.write(anExecuteRequest(service.target, { length: "100000" }));
    drip(socket, " ", 50);
  };
  await expectCut(begin, { withinMs: 2 * PACE.windowMs, says: /^HTTP\/1\.1 400 [^]*too slowly/, callers: 50 });
});

test("slow body, that stalls, is refused after a window", async () => {
  const begin = (socket: Socket): void =>
    void socket.write(
      Buffer.concat([anExecuteRequest(service.target, { length: "100000" }), Buffer.alloc(50_000, " ")]),
    );
  await expectCut(begin, { withinMs: 3 * PACE.windowMs, says: /^HTTP\/1\.1 400 [^]*too slowly/ });
});

test("slow body, of chunks that trickle, is refused after a window", async () => {
  const begin = (socket: Socket): void => {
    socket.write(anExecuteRequest(service.target, { headers: [["Transfer-Encoding", "chunked"]] }));
    drip(socket, "1\r\n \r\n", 50);
  };
  await expectCut(begin, { withinMs: 2 * PACE.windowMs, says: /^HTTP\/1\.1 400 [^]*too slowly/ });
});

const FORM_TYPE = "multipart/form-data; boundary=b";
const FILE_HEAD = '--b\r\nContent-Disposition: form-data; name="orders"; filename="a.csv"\r\n\r\n';

test("slow upload, whose file trickles, is refused after a window and leaves no file", async () => {
  const begin = (socket: Socket): void => {
    socket.write(anExecuteRequest(service.target, { type: FORM_TYPE, length: "900000" }));
    socket.write(FILE_HEAD + "x".repeat(1_000));
    drip(socket, "x", 50);
  };
  await expectCut(begin, { withinMs: 2 * PACE.windowMs, says: /^HTTP\/1\.1 400 [^]*too slowly/, callers: 30 });
});

test("slow upload, that stalls in the middle of a file, is refused after a window and leaves no file", async () => {
  const begin = (socket: Socket): void => {
    socket.write(anExecuteRequest(service.target, { type: FORM_TYPE, length: "900000" }));
    socket.write(FILE_HEAD + "x".repeat(500_000));
  };
  await expectCut(begin, { withinMs: 3 * PACE.windowMs, says: /^HTTP\/1\.1 400 [^]*too slowly/ });
});

test("slow body, whose length stands behind 250 other headers, is refused at once", async () => {
  const begin = (socket: Socket): void => {
    socket.write(
      `POST ${executePath(service.target)} HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${service.target.apiKey}\r\n` +
        `Content-Type: application/json\r\n${"X-Fill: 1\r\n".repeat(250)}Content-Length: 100000\r\n\r\n`,
    );
    drip(socket, " ", 50);
  };
  await expectCut(begin, { withinMs: 3 * PACE.windowMs, says: /^HTTP\/1\.1 4/ });
});

test("slow body, asked for with 100-continue and never sent, is refused after a window", async () => {
  const begin = (socket: Socket): void =>
    void socket.write(anExecuteRequest(service.target, { length: "1000", headers: [["Expect", "100-continue"]] }));
  await expectCut(begin, { withinMs: 3 * PACE.windowMs, says: /HTTP\/1\.1 400 [^]*too slowly/ });
});

test("slow body, behind an answer that was given early, is thrown away for a while and then cut off", async () => {
  const begin = (socket: Socket): void => {
    socket.write(anExecuteRequest({ ...service.target, apiKey: "wrong" }, { length: "100000", close: false }));
    drip(socket, " ", 50);
  };
  await expectCut(begin, { withinMs: PACE.lingerMs + PACE.windowMs, says: /^HTTP\/1\.1 401 / });
});

test("slow body, of sign-in, where nobody has a key, is refused after a window", async () => {
  const begin = (socket: Socket): void => {
    socket.write(aRequest("POST", "/api/session", { length: "5000", headers: [["Content-Type", "application/json"]] }));
    drip(socket, " ", 50);
  };
  await expectCut(begin, { withinMs: 2 * PACE.windowMs, says: /^HTTP\/1\.1 400 [^]*too slowly/ });
});

/** Writes as fast as the service takes it, until the connection is gone. */
function flood(socket: Socket, block: Buffer): void {
  const write = (): void => {
    while (!socket.destroyed && socket.write(block));
  };
  socket.on("drain", write);
  write();
}

const aChunk = (bytes: number): Buffer => Buffer.from(`${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`);

test.each([
  ["JSON", "application/json", '{"data":"'],
  ["a file", FORM_TYPE, FILE_HEAD],
  ["a text of a form", FORM_TYPE, '--b\r\nContent-Disposition: form-data; name="note"\r\n\r\n'],
])("endless body, of %s in chunks, is refused at its limit and leaves nothing", async (_what, type, first) => {
  const begin = (socket: Socket): void => {
    socket.write(anExecuteRequest(service.target, { type, headers: [["Transfer-Encoding", "chunked"]] }));
    socket.write(`${Buffer.byteLength(first).toString(16)}\r\n${first}\r\n`);
    flood(socket, aChunk(65_536));
  };
  await expectCut(begin, { to: byLimits, withinMs: 30_000, says: /^HTTP\/1\.1 413 /, callers: 3 });
});

test("endless body, of parts that nobody declared, is refused and leaves nothing", async () => {
  const begin = (socket: Socket): void => {
    socket.write(anExecuteRequest(service.target, { type: FORM_TYPE, headers: [["Transfer-Encoding", "chunked"]] }));
    const part = `${"--b\r\nX: 1\r\n\r\n\r\n".repeat(4_000)}`;
    flood(socket, Buffer.from(`${part.length.toString(16)}\r\n${part}\r\n`));
  };
  await expectCut(begin, { to: byLimits, withinMs: 30_000, says: /^HTTP\/1\.1 4(?:00|13) /, callers: 3 });
});

test("pipelining, of requests whose answers are never read, stops being served and others are", async () => {
  const sockets = await Promise.all(Array.from({ length: 5 }, () => openConnection(address)));
  const request = aRequest("GET", "/healthz", { close: false });
  const before = await measureHeldMemory();
  for (const socket of sockets) {
    socket.pause();
    flood(socket, Buffer.concat(Array.from({ length: 500 }, () => request)));
  }
  for (let turn = 0; turn < 20; turn += 1) {
    await expectServed(address);
    await sleep(50);
  }
  const { rss } = await measureHeldMemory();
  for (const socket of sockets) socket.destroy();
  expect(rss - before.rss).toBeLessThan(200_000_000);
});

test("reader, who never reads a file of 30 MB, is cut off", async () => {
  const content = "x".repeat(30_000_000);
  const executionId = await anEndedExecution(service, service.workflow, { outputs: { "large.txt": { content } } });
  const socket = await openConnection(address);
  socket.pause();
  socket.write(aKeyedRequest(service.target, "GET", filePath({ executionId }, "large.txt")));
  await sleep(UNREAD_MS);
  // What is in the buffers of both sides arrives, and then the end: not the rest of the file.
  const end = await waitForClose(socket, LATE_MS);
  expect(end?.text.length ?? content.length).toBeLessThan(content.length);
});

test("slowloris, that never speaks or never ends its handshake, is cut off after ten seconds", async () => {
  expect((await unspoken).map((end) => end !== undefined)).toEqual([true, true, true]);
});
