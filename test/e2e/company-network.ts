import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:https";
import type { Server } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { generate } from "selfsigned";
import { startHolder } from "../../sandbox/network/commands.ts";
import { runCommand } from "../../src/setup/servers/command.ts";
import type { PostgresBinaries } from "../../src/setup/servers/postgres-binaries.ts";
import { createData } from "../../src/setup/servers/postgres-data.ts";
import { findPrograms, IS_ROOT, makeWorld, OUTSIDE, type World } from "../sandbox/network/world.ts";
import { administer, chooseBinaries, chooseUser } from "../support/postgres-server.ts";
import type { Received } from "./receiver.ts";

/** Where the company's servers are, for those who are granted them. */
export const WAREHOUSE = `${OUTSIDE.private10}:5432`;
export const HOOKS = "hooks.company.test:8090";
/** Where the receiver's path `/moved` redirects to. Messages that come there are received under `/elsewhere`. */
const ELSEWHERE = `http://${OUTSIDE.private172}:8090/elsewhere`;

/** Passes the bytes of an address outside to a socket in the file system, and back as they are. */
const PASS_ON = `
import socket, sys, threading
def pass_on(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass
server = socket.create_server((sys.argv[1], int(sys.argv[2])))
def serve():
    while True:
        client, _ = server.accept()
        local = socket.socket(socket.AF_UNIX)
        local.connect(sys.argv[3])
        for pair in ((client, local), (local, client)):
            threading.Thread(target=pass_on, args=pair, daemon=True).start()
threading.Thread(target=serve, daemon=True).start()
print(flush=True)
sys.stdin.read()
`;
const PATIENCE_MS = 60_000;

/**
 * A host for a service and a company around it, in network namespaces that have no link to real ones. The company has a PostgreSQL at
 * `WAREHOUSE`, with a password, `https://api.example.com`, which takes a token for each call, and a receiver of messages at `HOOKS`.
 */
export async function aCompanyNetwork(secrets: { readonly password: string; readonly token: string }) {
  const programs = findPrograms();
  const world = await makeWorld(programs);
  const database = await aWarehouse(world, secrets.password);
  const { cert, private: key } = await generate([{ name: "commonName", value: "api.example.com" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "subjectAltName", altNames: [{ type: 2, value: "api.example.com" }] },
    ],
  });
  const api = aPaidApi(secrets.token);
  const hooks = hearMessages();
  const servers = [
    await listen(createServer({ key, cert }, api.answer), join(world.dir, "api")),
    await listen(createHttpServer(hooks.answer), join(world.dir, "hooks")),
  ];
  const passing = [
    [OUTSIDE.public, "443", join(world.dir, "api")],
    [OUTSIDE.private192, "8090", join(world.dir, "hooks")],
    [OUTSIDE.private172, "8090", join(world.dir, "hooks")],
  ] as const;
  const holders = await Promise.all(
    passing.map((where) =>
      startHolder({ runAs: undefined, prefix: world.enterOutside }, [programs.python3, "-I", "-c", PASS_ON, ...where]),
    ),
  );
  return {
    /** Put before a command: runs it on the company's host for Treadle. */
    enter: [...world.enter, ...demote()],
    certificate: cert,
    database,
    /** What the API was asked, and how it answers; `refusing` is the status of all its answers. */
    api: api.state,
    received: hooks.received,
    async close() {
      for (const holder of holders) await holder.close();
      for (const server of servers) server.close();
      await database.stop();
      await world.close();
    },
  };
}

/** Where the tests are no root, they are one in their namespaces alone. There, this is an ordinary user again. */
function demote(): string[] {
  const { uid, gid } = { uid: process.getuid?.(), gid: process.getgid?.() };
  return IS_ROOT ? [] : [findPrograms().unshare, "--user", `--map-user=${uid}`, `--map-group=${gid}`];
}

/** Starts a real PostgreSQL at an address outside, which lets `loader` in with a password and nobody else. */
async function aWarehouse(world: World, password: string) {
  const runAs = await chooseUser();
  const folder = join(world.dir, "warehouse");
  mkdirSync(folder);
  if (runAs !== undefined) chownSync(folder, runAs.uid, runAs.gid);
  const binaries: PostgresBinaries = await chooseBinaries(folder, runAs);
  const data = join(folder, "data");
  await createData({ folder, data, binaries, runAs, run: runCommand });
  const access = join(folder, "access");
  writeFileSync(access, "local all treadle trust\nhost warehouse loader 0.0.0.0/0 scram-sha-256\n");
  chmodSync(access, 0o644);
  const asUser =
    runAs === undefined
      ? demote()
      : ["/usr/bin/setpriv", `--reuid=${runAs.uid}`, `--regid=${runAs.gid}`, "--clear-groups"];
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const settings = {
      listen_addresses: OUTSIDE.private10,
      unix_socket_directories: folder,
      hba_file: access,
      fsync: "off",
      lc_messages: "C",
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const command = [...world.enterOutside, ...asUser, join(binaries.folder, "postgres"), "-D", data, ...options];
    server = spawn(command[0] as string, command.slice(1), { cwd: folder, stdio: "ignore", env: { LC_ALL: "C" } });
    for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(50)) {
      try {
        await administer(folder, "select 1");
        return;
      } catch (error) {
        if (Date.now() > deadline) throw error;
      }
    }
  }

  async function stop(): Promise<void> {
    if (server === undefined || server.exitCode !== null) return;
    const ended = once(server, "exit");
    server.kill("SIGINT");
    await ended;
  }

  await start();
  await administer(folder, `create role loader login password '${password}'`);
  await administer(folder, "create database warehouse owner loader");
  return {
    start,
    stop,
    /** Asks as the one who owns the server, at its socket. */
    query: (sql: string) => administer(folder, sql, "warehouse"),
  };
}

/** A paid API: two pages of rates of a day for those with the token. Others get a refusal that repeats what they sent. */
function aPaidApi(token: string) {
  const state = { asked: [] as string[], refusing: undefined as number | undefined };
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const url = new URL(request.url ?? "/", "https://api.example.com");
    const given = request.headers.authorization;
    const status = state.refusing ?? (given === `Bearer ${token}` ? 200 : 401);
    const [day, page] = ["day", "page"].map((name) => url.searchParams.get(name) ?? "");
    state.asked.push(`${status} ${url.pathname} ${day} ${page}`);
    response.writeHead(status, { "content-type": "application/json" });
    if (status !== 200) return void response.end(`No rates for ${given}.`);
    // Numbers of which a floating point number would lose digits.
    const rates = page === "1" ? '{"USD": 1.08123456789012345678, "GBP": 0.86}' : '{"JPY": 163}';
    response.end(`{"rates": ${rates}, "pages": 2}`);
  };
  return { state, answer };
}

function hearMessages() {
  const received: Received[] = [];
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    let text = "";
    request.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    request.on("end", () => {
      received.push({ path: request.url ?? "", headers: request.headers, text });
      // 307 keeps the method and the body: who follows it sends the message on.
      if (request.url === "/moved") response.writeHead(307, { location: ELSEWHERE }).end();
      else response.writeHead(204).end();
    });
  };
  return { received, answer };
}

async function listen(server: Server, path: string): Promise<Server> {
  server.listen(path);
  await once(server, "listening");
  return server;
}
