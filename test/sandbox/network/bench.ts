import { type ChildProcess, execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { DENIED_RANGES, DOCUMENTATION_RANGES } from "../../../domain/address-ranges.ts";
import type { Destination } from "../../../domain/destinations.ts";
import type { NetworkSettings } from "../../../sandbox/network/network.ts";
import { NODE_ARGUMENTS } from "../../setup/servers/surroundings.ts";
import { CLIENT } from "./server.ts";
import type { Request, ServiceOrder } from "./service.ts";
import { findPrograms, IS_ROOT, listDescendants, spawnInWorld, USER, type World } from "./world.ts";

export const PROGRAMS = findPrograms();
const SERVICE = fileURLToPath(new URL("service.ts", import.meta.url));
/** The tests' internet has documentation addresses; everything else is denied as by default. */
const DENIED = DENIED_RANGES.filter((range) => !DOCUMENTATION_RANGES.includes(range));
const BWRAP = "/usr/bin/bwrap";

/** Whom a service can be, as far as these tests can make one. */
export const WAYS: readonly (readonly [is: string, how: ServiceOrder["how"]])[] = [
  ...(IS_ROOT
    ? ([
        ["stays root", "stays"],
        ["gives root up", "drops"],
      ] as const)
    : []),
  ["is an ordinary user", "ordinary"],
];

/** What is sent, and what came of it. */
export type Target = readonly [protocol: "tcp" | "udp", host: string, port: number];
export type Heard = readonly [said: string, milliseconds: number];

export interface Slot {
  readonly slot: number;
  readonly enter: readonly string[];
  readonly resolvConf: string;
}

export interface Service {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly startMs: number;
  /** Of the beginning; `readProblem` says it as it is now. */
  readonly problem: string | null;
  /** What the service reported. */
  readonly lines: readonly string[];
  ask(request: Request): Promise<Record<string, unknown>>;
  /** With destinations: one that leads there alone. */
  take(destinations?: readonly Destination[]): Promise<Slot>;
  release(slot: Slot): Promise<void>;
  readProblem(): Promise<string | null>;
  /** Every process it has started, directly or not. */
  listProcesses(): number[];
  close(): Promise<void>;
}

/** Starts a service on the simulated host and waits until its network is there, or is not. */
export async function startService(
  world: World,
  how: ServiceOrder["how"],
  change: Partial<NetworkSettings> & Pick<ServiceOrder, "names" | "executor"> = {},
  user: ServiceOrder["user"] | null = USER,
): Promise<Service> {
  const { names, executor, ...settings } = change;
  const order: ServiceOrder = {
    how,
    user: user ?? undefined,
    settings: { programs: PROGRAMS, dir: world.dir, slots: 2, deniedRanges: DENIED, refreshSeconds: 0.2, ...settings },
    ...(names === undefined ? {} : { names }),
    ...(executor === undefined ? {} : { executor }),
  };
  // The world of an ordinary user is one in which it is root; the service must not be.
  const demote = IS_ROOT ? [] : [PROGRAMS.unshare, "--user", "--map-user=1000", "--map-group=1000"];
  const child = spawnInWorld(world, [...demote, process.execPath, ...NODE_ARGUMENTS, SERVICE, JSON.stringify(order)]);
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
  const pending: ((answer: Record<string, unknown>) => void)[] = [];
  const receive = (id: number) =>
    new Promise<Record<string, unknown>>((resolve) => {
      pending[id] = resolve;
    });
  let asked = 0;
  const first = receive(asked);
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { id, ...answer } = JSON.parse(line) as { id: number };
    pending[id]?.(answer);
  });
  child.once("exit", () => {
    for (const resolve of pending) resolve({ error: `The service has ended. ${lines.join(" ")}` });
  });
  const ask = async (request: Request) => {
    const answer = receive(++asked);
    child.stdin.write(`${JSON.stringify({ id: asked, request })}\n`);
    return orThrow(await answer);
  };
  const { startMs, problem } = orThrow(await first) as unknown as Pick<Service, "startMs" | "problem">;
  return {
    child,
    pid: child.pid ?? 0,
    startMs,
    problem,
    lines,
    ask,
    take: async (destinations) => (await ask({ act: "take", destinations })) as unknown as Slot,
    release: async ({ slot }) => void (await ask({ act: "release", slot })),
    readProblem: async () => (await ask({ act: "problem" })).problem as string | null,
    listProcesses: () => listDescendants(child.pid ?? 0),
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    },
  };
}

function orThrow(answer: Record<string, unknown>): Record<string, unknown> {
  if (typeof answer.error === "string") throw new Error(answer.error);
  return answer;
}

/** Runs a command in a slot, by the unprivileged user, in a sandbox as executions have it. Answers what it printed. */
export async function runInSlot({ enter, resolvConf }: Slot, argv: readonly string[]): Promise<string> {
  const sandbox = [
    ["--unshare-all", "--share-net", "--unshare-user", "--disable-userns", "--uid", "10001", "--gid", "10001"],
    ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--setenv", "PATH", "/usr/sbin:/usr/bin"],
    ["--ro-bind", "/", "/", "--ro-bind", resolvConf, "/etc/resolv.conf", "--proc", "/proc", "--dev", "/dev", "--"],
  ].flat();
  return runDirectly(enter, [BWRAP, ...sandbox, ...argv]);
}

/** The same without a sandbox: with all the rights that the router's user has inside. */
export async function runDirectly(enter: readonly string[], argv: readonly string[]): Promise<string> {
  const [program = "", ...args] = [...enter, ...argv];
  const { stdout } = await promisify(execFile)(program, args, { ...USER, env: {}, cwd: "/", timeout: 20_000 });
  return stdout;
}

/** Tries each target from a sandbox in the slot, one after the other. */
export async function tryTargets(slot: Slot, targets: readonly Target[]): Promise<Heard[]> {
  const text = await runInSlot(slot, [PROGRAMS.python3, "-I", "-S", "-c", CLIENT, JSON.stringify(targets)]);
  return JSON.parse(text) as Heard[];
}

/** What each target said. */
export async function hear(slot: Slot, ...targets: Target[]): Promise<string[]> {
  return (await tryTargets(slot, targets)).map(([said]) => said);
}

/** Put before a command: enters the router that a slot belongs to, with all rights. */
export function enterRouter({ enter }: Slot): string[] {
  const user = enter.find((word) => word.startsWith("--user=")) ?? "";
  return [...enter.slice(0, 2), user, user.replace("--user=", "--net=").replace("/ns/user", "/ns/net"), "--"];
}

/** Takes every rule away that refuses anything: what is then still unreachable was not kept away by the rules. */
export async function removeRules(slot: Slot): Promise<void> {
  const script = ["forward", "input"].map((chain) => `insert rule inet treadle ${chain} accept`).join("; ");
  await runDirectly(enterRouter(slot), [PROGRAMS.nft, script]);
}

/** A program in the place of another, as a shell script in the world's folder. */
export function writeProgram(world: World, name: string, body: string): string {
  const path = `${world.dir}/${name}`;
  writeFileSync(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return path;
}

/** Which process of the service runs this program. */
export function findProcess(service: Service, name: string): number {
  const pid = service.listProcesses().find((each) => readFileSync(`/proc/${each}/comm`, "utf8").trim() === name);
  if (pid === undefined) throw new Error(`The service has started no ${name}.`);
  return pid;
}

/** Resolves when `check` answers true; rejects after `seconds`. */
export async function until(what: string, check: () => boolean | Promise<boolean>, seconds = 30): Promise<void> {
  const end = Date.now() + 1_000 * seconds;
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`Not within ${seconds} s: ${what}`);
    await sleep(50);
  }
}

/** Whether the process runs; one that has ended and that nobody has asked after does not. */
export function isAlive(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
}
