import type { IncomingMessage, RequestListener } from "node:http";
import { request as httpRequest } from "node:http";
import { connect as tcpConnect } from "node:net";
import type { Duplex } from "node:stream";
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import { afterEach, beforeAll, expect, test } from "@jest/globals";
import pino from "pino";
import { createHttpsServer, type HttpsServer, type HttpsServerOptions } from "../../src/http/server/server.ts";
import { aCertificate, createCaller, type TestCertificate } from "../support/https.ts";
import { serverDefaults } from "../support/server-defaults.ts";

let certificate: TestCertificate;
let server: HttpsServer | undefined;
const log = pino({ level: "silent" });

beforeAll(async () => {
  certificate = await aCertificate();
});

afterEach(async () => {
  await server?.close(0);
  server = undefined;
});

async function serve(app: RequestListener, options: Partial<HttpsServerOptions> = {}): Promise<HttpsServer> {
  server = await createHttpsServer({
    ...serverDefaults(options),
    app,
    tls: certificate,
    log,
    ...options,
  });
  return server;
}

const echo: RequestListener = (request, response) => {
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ url: request.url, scheme: request.headers["x-forwarded-proto"] ?? null }));
};

function openTls(port: number): TLSSocket {
  const socket = tlsConnect({ port, host: "127.0.0.1", servername: "localhost", ca: certificate.cert });
  socket.on("error", () => undefined);
  return socket;
}

/** Everything the other side says until it closes. */
async function readAll(socket: Duplex): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => socket.once("close", resolve));
  return Buffer.concat(chunks).toString();
}

/** The first bytes of an answer, without waiting for the end of the connection. */
async function readUntil(socket: Duplex, mark: string): Promise<string> {
  let text = "";
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (text.includes(mark)) break;
  }
  return text;
}

function bodyOf(answer: string): unknown {
  return JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));
}

function callPlain(
  port: number,
  headers: Record<string, string> = {},
  body?: string,
): Promise<{ status: number; headers: IncomingMessage["headers"]; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { port, host: "127.0.0.1", path: "/api/x", method: body === undefined ? "GET" : "POST", headers, agent: false },
      (response) => {
        let text = "";
        response
          .on("data", (chunk) => (text += String(chunk)))
          .on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
      },
    );
    sent.on("error", reject).end(body);
  });
}

test("server, called over HTTPS, answers from the app", async () => {
  const { port } = await serve(echo);
  const answer = await createCaller({ url: `https://localhost:${port}`, cert: certificate.cert })("/hello");
  expect([answer.status, answer.json()]).toEqual([200, { url: "/hello", scheme: null }]);
});

test("server, called over plain HTTP, refuses with words and never redirects", async () => {
  let reached = false;
  const { port } = await serve((request, response) => {
    reached = true;
    echo(request, response);
  });
  const answer = await callPlain(port, { "x-api-key": "trd_secret" }, "{}");
  expect(answer.status).toBe(400);
  expect(answer.headers.location).toBeUndefined();
  expect(JSON.parse(answer.body)).toEqual({ error: "Invalid request", message: expect.stringContaining("HTTPS only") });
  expect(reached).toBe(false);
});

test("server, behind a trusted proxy, takes plain HTTP only when the caller used HTTPS", async () => {
  const { port } = await serve(echo, { trustProxy: true });
  expect((await callPlain(port, { "x-forwarded-proto": "https" })).status).toBe(200);
  expect((await callPlain(port, { "x-forwarded-proto": "http, https" })).status).toBe(400);
  expect((await callPlain(port)).status).toBe(400);
});

test("server, without a trusted proxy, does not believe X-Forwarded-Proto", async () => {
  const { port } = await serve(echo);
  expect((await callPlain(port, { "x-forwarded-proto": "https" })).status).toBe(400);
});

test.each([
  ["bytes that are not HTTP", "\x00\x01\x02 nonsense\r\n\r\n"],
  ["words that are not HTTP", "HELLO there\r\n\r\n"],
])("server, given %s on a plain connection, answers 400 as JSON and closes", async (_what, bytes) => {
  const { port } = await serve(echo);
  const socket = tcpConnect(port, "127.0.0.1");
  socket.write(bytes, "latin1");
  const answer = await readAll(socket);
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(bodyOf(answer)).toEqual({ error: "Invalid request", message: expect.any(String) });
});

test.each([
  ["two different lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"],
  [
    "a length and chunks",
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["no HTTP inside TLS", "nonsense\r\n\r\n"],
  ["headers over 16 KB", `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${"a".repeat(20_000)}\r\n\r\n`],
])("server, given %s, answers 400 as JSON and closes", async (_what, bytes) => {
  const { port } = await serve(echo);
  const socket = openTls(port);
  socket.write(bytes);
  const answer = await readAll(socket);
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(bodyOf(answer)).toEqual({ error: "Invalid request", message: expect.any(String) });
});

test("server, given a broken chunk in the middle of an answer, only closes", async () => {
  const { port } = await serve((_request, response) => {
    response.write("begun");
  });
  const socket = openTls(port);
  socket.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  const begun = await readUntil(socket, "begun");
  socket.write("not a chunk\r\n");
  const rest = await readAll(socket);
  expect(begun + rest).not.toContain("400 Bad Request");
});

test("server, when headers do not come, gives up after its time", async () => {
  const { port } = await serve(echo, { headersMs: 200 });
  const socket = openTls(port);
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n");
  const since = Date.now();
  const answer = await readAll(socket);
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(Date.now() - since).toBeLessThan(20_000); // It would be a minute.
});

const SLOW = { ...serverDefaults().pace, windowMs: 150, bytesMin: 1_000, lingerMs: 400, lingerBytesMax: 1_000_000 };

test("server, when a body trickles, answers 400 and closes", async () => {
  const { port } = await serve((request) => void request.resume(), { pace: SLOW });
  const socket = openTls(port);
  socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nab");
  expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 400 [^]*too slowly/);
});

test("server, when a body comes steadily and takes too long as a whole, answers 400 and closes", async () => {
  const pace = { ...SLOW, wholeMs: 500, bytesPerSecond: 1_000_000 };
  const { port } = await serve((request) => void request.resume(), { pace });
  const socket = openTls(port);
  socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n");
  const feed = setInterval(() => socket.write("a".repeat(1_000)), 20);
  const answer = await readAll(socket);
  clearInterval(feed);
  expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*too slowly/);
});

test("server, whose answer nobody reads, closes the connection", async () => {
  let closed: Promise<unknown> = Promise.resolve();
  const { port } = await serve(
    (_request, response) => {
      closed = new Promise((resolve) => response.once("close", resolve));
      response.end(Buffer.alloc(30_000_000));
    },
    { pace: SLOW },
  );
  const socket = openTls(port);
  socket.pause();
  socket.on("error", () => undefined);
  const asked = Date.now();
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  while (Date.now() - asked < 200) await new Promise((resolve) => setTimeout(resolve, 20));
  await closed;
  socket.destroy();
});

test("server, when we are the ones who do not read, waits", async () => {
  const { port } = await serve(
    (request, response) => {
      setTimeout(() => request.resume().on("end", () => response.end("done")), 500);
    },
    { pace: SLOW },
  );
  const socket = openTls(port);
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nConnection: close\r\n\r\n${"a".repeat(10)}`);
  expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 200 [^]*done$/);
});

test("server, that answers before the body was read, is heard by a caller who sends it all first", async () => {
  const { port } = await serve((_request, response) => {
    response.writeHead(413, { "Content-Length": "3" }).end("no!");
  });
  const call = createCaller({ url: `https://localhost:${port}`, cert: certificate.cert });
  const answer = await call("/", { method: "POST", body: Buffer.alloc(20_000_000) });
  expect([answer.status, answer.text()]).toEqual([413, "no!"]);
});

test("server, that answers before the body was read, is heard by a caller who reads only after sending and asks to close", async () => {
  const { port } = await serve((_request, response) => {
    response.writeHead(413, { "Content-Length": "3" }).end("no!");
  });
  const socket = openTls(port);
  const bytes = 20_000_000;
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\nConnection: close\r\n\r\n`);
  const problem = await new Promise((resolve) => socket.write(Buffer.alloc(bytes), resolve));
  expect(problem ?? null).toBeNull();
  expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 413 [^]*no!$/);
});

test("server, after an early answer, does not take a body for ever", async () => {
  const { port } = await serve(
    (_request, response) => void response.writeHead(413, { "Content-Length": "3" }).end("no!"),
    { pace: SLOW },
  );
  const socket = openTls(port);
  socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n");
  const feed = setInterval(() => socket.write("a".repeat(100)), 20);
  const answer = await readAll(socket);
  clearInterval(feed);
  expect(answer).toContain("413");
});

test("server, asked with Expect: 100-continue, says yes only when the body is read", async () => {
  const { port } = await serve((request, response) => {
    if (request.url === "/refused") return void response.writeHead(401, { "Content-Length": "2" }).end("no");
    request.resume().on("end", () => response.writeHead(200, { "Content-Length": "2", Connection: "close" }).end("ok"));
  });
  const refused = openTls(port);
  refused.write("POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  expect(await readAll(refused)).toMatch(/^HTTP\/1\.1 401 [^]*Connection: close[^]*no$/i);

  const taken = openTls(port);
  taken.write("POST /taken HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  await readUntil(taken, "100 Continue");
  taken.write("hello");
  expect(await readAll(taken)).toMatch(/HTTP\/1\.1 200 [^]*ok$/);
});

/** A promise and what fulfils it. */
function aMoment(): [come: () => void, hasCome: Promise<void>] {
  let come = (): void => undefined;
  return [() => come(), new Promise((resolve) => (come = resolve))];
}

test("server, while closing, finishes calls under way and takes no new ones", async () => {
  const [begun, hasBegun] = aMoment();
  let finish = (): void => undefined;
  const { port, close } = await serve((_request, response) => {
    finish = () => void response.end("finished");
    begun();
  });
  const call = createCaller({ url: `https://localhost:${port}`, cert: certificate.cert });
  const idle = openTls(port);
  await new Promise((resolve) => idle.once("secureConnect", resolve));
  const underWay = call("/");
  await hasBegun;
  const closed = close(600_000);
  await expect(call("/")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  finish();
  expect((await underWay).text()).toBe("finished");
  await closed; // Without waiting for the idle connection.
});

test("server, whose calls do not end while it closes, ends them after the grace", async () => {
  const [begun, hasBegun] = aMoment();
  const { port, close } = await serve(() => begun());
  const stuck = createCaller({ url: `https://localhost:${port}`, cert: certificate.cert })("/");
  stuck.catch(() => undefined);
  await hasBegun;
  await close(200);
  await expect(stuck).rejects.toMatchObject({ code: "ECONNRESET" });
});

test("server, on a port that is taken, says so and what to do", async () => {
  const { port } = await serve(echo);
  await expect(createHttpsServer({ ...serverDefaults(), app: echo, tls: certificate, port, log })).rejects.toThrow(
    `Port ${port} of 127.0.0.1 is in use.`,
  );
});
