// The host that is attacked: what it has to lose, planted where an attacker would look.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { makeFolder } from "../../runner/folders.ts";

/** Half of a character: no text that came out of a decoder holds one. */
export const LONE_SURROGATE = /\p{Surrogate}/u;

export interface Scene {
  /** In a world-readable file, in the service's environment, and in what its servers say. */
  readonly secret: string;
  /** World-writable folder with `secret.txt`, a unix socket `socket` and, made by root, a set-uid `id`. */
  readonly folder: string;
  readonly port: number;
  /** Name of an abstract socket, without the leading NUL. */
  readonly socketName: string;
  /** A process of the sandbox's user with the secret in its environment and its arguments. */
  readonly victim: { readonly pid: number; isAlive(): boolean };
  /** How often anybody connected to one of the servers. */
  connections(): number;
  /** A name of at most 15 characters that nobody else uses. */
  newName(): string;
  close(): Promise<void>;
}

export async function openScene(user: { uid: number; gid: number } | undefined): Promise<Scene> {
  const secret = randomBytes(12).toString("hex");
  const root = makeFolder("scene");
  const folder = join(root, "planted");
  mkdirSync(folder);
  chmodSync(folder, 0o777);
  writeFileSync(join(folder, "secret.txt"), secret);
  chmodSync(join(folder, "secret.txt"), 0o666);
  copyFileSync("/usr/bin/id", join(folder, "id"));
  chmodSync(join(folder, "id"), process.getuid?.() === 0 ? 0o4755 : 0o755);
  process.env.TREADLE_TEST_SECRET = secret;
  const socketName = `treadle-siege-${secret}`;
  const servers: Server[] = [];
  let connections = 0;
  const listen = (where: object) =>
    new Promise<Server>((resolve) => {
      const server = createServer((client) => {
        connections += 1;
        client.on("error", () => undefined);
        client.end(secret);
      });
      servers.push(server.listen(where, () => resolve(server)));
    });
  const { port } = (await listen({ host: "127.0.0.1", port: 0 })).address() as AddressInfo;
  await listen({ path: join(folder, "socket") });
  chmodSync(join(folder, "socket"), 0o777);
  await listen({ path: `\0${socketName}` });
  const victim = await startVictim(secret, user);
  let names = 0;
  return {
    secret,
    folder,
    port,
    socketName,
    victim: { pid: victim.pid ?? 0, isAlive: () => victim.exitCode === null && victim.signalCode === null },
    connections: () => connections,
    newName: () => `t${secret.slice(0, 7)}${process.pid % 1000}-${++names}`.slice(0, 15),
    async close() {
      delete process.env.TREADLE_TEST_SECRET;
      victim.kill("SIGKILL");
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function startVictim(secret: string, user: { uid: number; gid: number } | undefined): Promise<ChildProcess> {
  const child = spawn("/bin/sh", ["-c", "echo up; while :; do sleep 60; done", secret], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { TREADLE_TEST_SECRET: secret, PATH: "/usr/bin:/bin" },
    cwd: "/",
    detached: true,
    ...user,
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.stdout.once("data", () => resolve(child));
  });
}

/** Pids of the host's processes that go by a name. A zombie has none any more. */
export function findByName(name: string): number[] {
  return readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const isAlive = !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${entry}/status`, "latin1"));
      return isAlive && readFileSync(`/proc/${entry}/comm`, "latin1").trim() === name ? [Number(entry)] : [];
    } catch {
      return []; // It ended meanwhile.
    }
  });
}

/** Kills what a control let survive. */
export function endByName(name: string): void {
  for (const pid of findByName(name)) process.kill(pid, "SIGKILL");
}
