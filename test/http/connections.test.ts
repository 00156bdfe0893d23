import type { RequestListener } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import { type Socket, connect as tcpConnect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeAll, expect, test } from "@jest/globals";
import pino from "pino";
import { createConnections } from "../../src/http/server/connections.ts";
import { createHttpsServer, type HttpsServer } from "../../src/http/server/server.ts";
import { aCertificate, type TestCertificate } from "../support/https.ts";
import { serverDefaults } from "../support/server-defaults.ts";

let certificate: TestCertificate;
let server: HttpsServer | undefined;
let logged: Record<string, unknown>[] = [];
const sockets: Socket[] = [];
const agents: Agent[] = [];
/** Lets the calls go that wait at `/wait`. */
let letGo: (() => void)[] = [];

beforeAll(async () => {
  certificate = await aCertificate();
});

afterEach(async () => {
  for (const go of letGo.splice(0)) go();
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const agent of agents.splice(0)) agent.destroy();
  await server?.close(0);
  server = undefined;
});

const app: RequestListener = ({ url }, response) => {
  if (url === "/wait") letGo.push(() => response.end("waited"));
  else response.end("served");
};

async function serve(bounds: { max: number; perAddressMax: number }, options: { trustProxy?: boolean } = {}) {
  const trustProxy = options.trustProxy ?? false;
  logged = [];
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line) as Record<string, unknown>) });
  const connections = createConnections(bounds, { trustProxy });
  server = await createHttpsServer({ ...serverDefaults({ trustProxy }), app, tls: certificate, log, connections });
  const { port } = server;
  const isOpen = async (count: number): Promise<void> => {
    for (let tries = 0; tries < 1_000 && connections.figures().open !== count; tries += 1) await sleep(10);
    expect(connections.figures().open).toBe(count);
  };
  return { port, connections, isOpen };
}

/** A TCP connection from an address of this machine that says nothing. */
async function aSilent(port: number, localAddress = "127.0.0.1"): Promise<Socket> {
  const socket = tcpConnect({ port, host: "127.0.0.1", localAddress });
  socket.on("error", () => undefined);
  sockets.push(socket);
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
  return socket;
}

interface Told {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** A call over a connection of its own, or over that of an agent. */
function call(
  port: number,
  { path = "/", from = "127.0.0.1", agent }: { path?: string; from?: string; agent?: Agent } = {},
) {
  return new Promise<Told>((resolve, reject) => {
    const sent = httpsRequest(
      {
        port,
        path,
        host: "127.0.0.1",
        servername: "localhost",
        localAddress: from,
        ca: certificate.cert,
        agent: agent ?? false,
      },
      (response) => {
        let text = "";
        response.on("data", (chunk) => (text += String(chunk)));
        response.once("end", () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }));
      },
    );
    sent.once("error", reject).end();
  });
}

function aKeptAgent(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agents.push(agent);
  return agent;
}

/** Calls that hold their connections until they are let go. */
async function holdCalls(port: number, count: number, from?: string): Promise<Promise<Told>[]> {
  const before = letGo.length;
  const calls = Array.from({ length: count }, () =>
    call(port, { path: "/wait", ...(from === undefined ? {} : { from }) }),
  );
  for (let tries = 0; tries < 1_000 && letGo.length < before + count; tries += 1) await sleep(10);
  return calls;
}

const BUSY = {
  status: 503,
  headers: expect.objectContaining({
    "retry-after": "5",
    connection: "close",
    "content-type": "application/json; charset=utf-8",
  }),
  text: expect.stringMatching(/^\{"error":"Service busy","message":"Too many connections are open/),
};

test("connections of an address, beyond its bound, are answered 503 over TLS; another address is served", async () => {
  const { port, isOpen } = await serve({ max: 100, perAddressMax: 4 });
  for (let count = 0; count < 4; count += 1) await aSilent(port);
  await isOpen(4);
  expect(await call(port)).toEqual(BUSY);
  expect(await call(port, { from: "127.0.0.2" })).toMatchObject({ status: 200, text: "served" });
  expect(logged.filter((line) => line["event"] === "connections.full")).toHaveLength(1);
  sockets.pop()?.destroy();
  await isOpen(3);
  expect((await call(port)).status).toBe(200);
});

test("connections in all, when one address holds all places with silent ones, are taken from it for callers of others", async () => {
  const { port, connections, isOpen } = await serve({ max: 6, perAddressMax: 6 });
  for (let count = 0; count < 6; count += 1) await aSilent(port);
  await isOpen(6);
  expect(await call(port)).toEqual(BUSY);
  for (const from of ["127.0.0.2", "127.0.0.3", "127.0.0.2"])
    expect(await call(port, { from })).toMatchObject({ status: 200, text: "served" });
  expect(connections.figures().ended).toBeGreaterThan(0);
});

test("connections in all, when silent ones come from many addresses, still serve a new caller", async () => {
  const { port } = await serve({ max: 20, perAddressMax: 10 });
  for (let count = 0; count < 200; count += 1) await aSilent(port, `127.0.1.${1 + (count % 8)}`);
  expect(await call(port, { from: "127.0.0.9" })).toMatchObject({ status: 200, text: "served" });
});

test("a call under way is never ended for another connection: the next one is refused, and served when it is over", async () => {
  const { port } = await serve({ max: 4, perAddressMax: 4 });
  const held = await holdCalls(port, 4);
  for (const from of ["127.0.0.1", "127.0.0.2"]) expect(await call(port, { from })).toEqual(BUSY);
  for (const go of letGo.splice(0)) go();
  expect((await Promise.all(held)).map(({ text }) => text)).toEqual(Array.from({ length: 4 }, () => "waited"));
  expect((await call(port, { from: "127.0.0.2" })).status).toBe(200);
});

test("a connection between two calls gives its place to a new one of its own address", async () => {
  const { port, connections, isOpen } = await serve({ max: 100, perAddressMax: 2 });
  const kept = aKeptAgent();
  expect((await call(port, { agent: kept })).status).toBe(200);
  await aSilent(port);
  await isOpen(2);
  expect((await call(port)).status).toBe(200);
  expect(connections.figures()).toMatchObject({ ended: 1, refused: 0 });
  expect((await call(port, { agent: kept })).status).toBe(200);
});

test("connections to be refused are bounded as well: the rest is closed, also those that say nothing after 3 seconds", async () => {
  const { port, connections, isOpen } = await serve({ max: 2, perAddressMax: 2 });
  const held = await holdCalls(port, 2);
  await isOpen(2);
  const refused = await Promise.all(Array.from({ length: 12 }, () => aSilent(port)));
  for (let tries = 0; tries < 1_000 && connections.figures().closed < 4; tries += 1) await sleep(10);
  expect(connections.figures()).toMatchObject({ open: 2, refused: 8, closed: 4 });
  for (const socket of refused) if (!socket.destroyed) await new Promise((resolve) => socket.once("close", resolve));
  for (const go of letGo.splice(0)) go();
  await Promise.all(held);
}, 30_000);

test("connections of a trusted proxy are bounded in all, and not as those of one address", async () => {
  const { port, isOpen } = await serve({ max: 6, perAddressMax: 2 }, { trustProxy: true });
  for (let count = 0; count < 5; count += 1) await aSilent(port);
  await isOpen(5);
  const served = await call(port);
  expect(served.status).toBe(200);
  await aSilent(port);
  await isOpen(6);
  expect(await call(port)).toEqual(BUSY);
});
