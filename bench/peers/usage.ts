import { readFile } from "node:fs/promises";
import { readTree } from "../processes.ts";

/** `USER_HZ` of every Linux a Node.js binary runs on. */
const MS_PER_TICK = 10;

export const COMPONENTS = ["service", "engine", "database", "program"] as const;
export type Component = (typeof COMPONENTS)[number];

/** Milliseconds of processor time, by part of the peer. */
export type ProcessorTime = Readonly<Record<Component, number>>;

/** What all processes have used since they began, in milliseconds of processor time. */
export interface Reading {
  readonly at: number;
  /** The whole machine, time that its host took away included. */
  readonly machineMs: number;
  /** This process and everything it has started, the peer included. */
  readonly suiteMs: number;
  /** The peer. */
  readonly peerMs: number;
  /** The peer's living processes by name. */
  readonly byName: ReadonlyMap<string, number>;
}

export interface Usage {
  readonly processorMs: ProcessorTime;
  /** Cores that all else on the machine has used in the mean. */
  readonly noiseCores: number;
}

/** How a peer is read: its first process (none: everything the suite has started), and meters where there are cgroups. */
export interface UsageSource {
  readonly pid: number | undefined;
  readonly readSuiteMs: (() => number) | undefined;
  readonly readPeerMs: (() => number) | undefined;
}

/** Returns processor time so far. Where there is no cgroup, programs that the kernel reaps count as noise. */
export async function readUsage({ pid, readSuiteMs, readPeerMs }: UsageSource): Promise<Reading> {
  const ownMs = toMs(process.cpuUsage());
  const byName = pid === undefined ? new Map<string, number>() : await readTree(pid, "living");
  const suiteMs = readSuiteMs?.() ?? sum(await readTree(process.pid, "living")) * 1000;
  const treeMs = pid === undefined ? suiteMs - ownMs : sum(byName) * 1000;
  const peerMs = pid === undefined ? treeMs : (readPeerMs?.() ?? treeMs);
  const [total = ""] = (await readFile("/proc/stat", "utf8")).split("\n");
  return { at: performance.now(), machineMs: toMachineMs(total), suiteMs, peerMs, byName };
}

/** Returns the busy time of the first line of `/proc/stat`: all but idle, waiting for a disk, and guests (counted as user). */
export function toMachineMs(line: string): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softirq + steal) * MS_PER_TICK;
}

/** Returns what was used between two readings. What is none of the named processes is the program's: it has ended. */
export function toUsage(before: Reading, after: Reading, engine: RegExp = /^$/): Usage {
  const used = { service: 0, engine: 0, database: 0, program: 0 };
  for (const [name, seconds] of after.byName) {
    used[toComponent(name, engine)] += (seconds - (before.byName.get(name) ?? 0)) * 1000;
  }
  const { service, engine: engineMs, database } = used;
  const program = Math.max(0, after.peerMs - before.peerMs - service - engineMs - database);
  const othersMs = after.machineMs - before.machineMs - (after.suiteMs - before.suiteMs);
  return {
    processorMs: { service, engine: engineMs, database, program },
    noiseCores: Math.max(0, othersMs / (after.at - before.at)),
  };
}

function toComponent(name: string, engine: RegExp): Component {
  if (engine.test(name)) return "engine";
  if (name.startsWith("postgres")) return "database";
  return /^(node|MainThread)/.test(name) ? "service" : "program";
}

function toMs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000;
}

function sum(byName: ReadonlyMap<string, number>): number {
  return [...byName.values()].reduce((total, seconds) => total + seconds, 0);
}
