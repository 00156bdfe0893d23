import type { RequestListener } from "node:http";
import { connect as tcpConnect } from "node:net";
import type { Duplex } from "node:stream";
import { connect as tlsConnect } from "node:tls";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import pino from "pino";
import { loadSettings } from "../../src/config.ts";
import { createHttpsServer, type HttpsServer } from "../../src/http/server/server.ts";
import { withTimeout } from "../../system/with-timeout.ts";
import { aCertificate, type TestCertificate } from "../support/https.ts";
import { serverDefaults } from "../support/server-defaults.ts";

let certificate: TestCertificate;
const servers: HttpsServer[] = [];
const sockets: Duplex[] = [];

beforeAll(async () => {
  certificate = await aCertificate();
});

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

afterAll(() => Promise.all(servers.map((server) => server.close(0))));

/** A server of these settings, every other one so long that it cannot be what cut the caller off. */
async function serve(given: Record<string, string>): Promise<number> {
  const app: RequestListener = (request, response) => {
    request.resume();
    request.once("end", () => response.end("done"));
  };
  const settings = loadSettings({ ...PATIENT, ...given });
  const log = pino({ level: "silent" });
  const server = await createHttpsServer({ ...serverDefaults({ settings }), app, tls: certificate, log });
  servers.push(server);
  return server.port;
}

const PATIENT = {
  TREADLE_FIRST_BYTE_SECONDS: "600",
  TREADLE_HANDSHAKE_SECONDS: "600",
  TREADLE_HEADERS_SECONDS: "600",
  TREADLE_KEEP_ALIVE_SECONDS: "600",
  TREADLE_TRANSFER_WINDOW_SECONDS: "600",
  TREADLE_BODY_SECONDS: "600",
};

function open(port: number, over: "tcp" | "tls"): Duplex {
  const address = { port, host: "127.0.0.1" };
  const socket =
    over === "tcp" ? tcpConnect(address) : tlsConnect({ ...address, servername: "localhost", ca: certificate.cert });
  socket.on("error", () => undefined);
  sockets.push(socket);
  return socket;
}

/** What the server said until it closed, and after how many milliseconds. Undefined when it does not in time. */
async function untilClosed(socket: Duplex, patienceMs = 30_000): Promise<{ text: string; ms: number } | undefined> {
  const since = performance.now();
  let text = "";
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  const closed = new Promise<true>((resolve) => socket.once("close", () => resolve(true)));
  const isClosed = await withTimeout(closed, patienceMs, () => false);
  return isClosed ? { text, ms: performance.now() - since } : undefined;
}

/** For that long a server is watched that goes on waiting: some times what the others have. */
const GOES_ON_MS = 4_000;
const HEAD = "POST / HTTP/1.1\r\nHost: x\r\n";
/** A handshake record that announces more than follows. */
const HALF_HANDSHAKE = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]);

const CUT: [string, string, "tcp" | "tls", string | Buffer, RegExp][] = [
  ["no byte", "TREADLE_FIRST_BYTE_SECONDS", "tcp", "", /^$/],
  ["half a handshake", "TREADLE_HANDSHAKE_SECONDS", "tcp", HALF_HANDSHAKE, /^/],
  ["half of the headers", "TREADLE_HEADERS_SECONDS", "tls", HEAD, /^HTTP\/1\.1 400 /],
  ["no second request", "TREADLE_KEEP_ALIVE_SECONDS", "tls", `${HEAD}Content-Length: 0\r\n\r\n`, /^HTTP\/1\.1 200 /],
  [
    "a body that stops",
    "TREADLE_TRANSFER_WINDOW_SECONDS",
    "tls",
    `${HEAD}Content-Length: 9\r\n\r\nabc`,
    /^HTTP\/1\.1 400 /,
  ],
];

test.each(CUT)("server, sent %s, waits as long as %s says", async (_what, name, over, bytes, answer) => {
  const port = await serve({ [name]: "1" });
  const socket = open(port, over);
  if (bytes !== "") socket.write(bytes);
  const closed = await untilClosed(socket);
  expect(closed?.text).toMatch(answer);
  expect(closed?.ms).toBeGreaterThan(900);
});

test("server, sent the same with settings of ten minutes, goes on waiting", async () => {
  const port = await serve({});
  const closed = CUT.map(([_what, _name, over, bytes]) => {
    const socket = open(port, over);
    if (bytes !== "") socket.write(bytes);
    return untilClosed(socket, GOES_ON_MS);
  });
  expect(await Promise.all(closed)).toEqual(CUT.map(() => undefined));
});

test("server, sent a body that trickles on, takes it for as long as TREADLE_BODY_SECONDS says", async () => {
  const window = { TREADLE_TRANSFER_WINDOW_SECONDS: "3", TREADLE_TRANSFER_BYTES_MIN: "1" };
  const trickle = async (given: Record<string, string>, patienceMs?: number) => {
    const socket = open(await serve({ ...window, ...given }), "tls");
    socket.write(`${HEAD}Content-Length: 1000000\r\n\r\n`);
    const writing = setInterval(() => socket.write("x".repeat(100)), 100);
    const closed = await untilClosed(socket, patienceMs);
    clearInterval(writing);
    return closed?.text.slice(0, 12);
  };
  expect(await trickle({ TREADLE_BODY_SECONDS: "1" })).toBe("HTTP/1.1 400");
  const steady = { TREADLE_BODY_SECONDS: "1", TREADLE_BODY_BYTES_PER_SECOND: "100" };
  expect(await trickle(steady, GOES_ON_MS)).toBeUndefined();
  expect(await trickle({ TREADLE_TRANSFER_BYTES_MIN: "100000" })).toBe("HTTP/1.1 400");
});

test.each([
  ["TREADLE_FIRST_BYTE_SECONDS", "0"],
  ["TREADLE_HANDSHAKE_SECONDS", "601"],
  ["TREADLE_HEADERS_SECONDS", "1.5"],
  ["TREADLE_KEEP_ALIVE_SECONDS", "-1"],
  ["TREADLE_TRANSFER_WINDOW_SECONDS", "soon"],
  ["TREADLE_TRANSFER_BYTES_MIN", "0"],
  ["TREADLE_BODY_SECONDS", "86401"],
  ["TREADLE_BODY_BYTES_PER_SECOND", "0"],
])("settings, with %s set to %s, are refused by name", (name, value) => {
  expect(() => loadSettings({ [name]: value })).toThrow(`  ${name}: `);
});
