import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "../cluster/cluster.ts";
import type { Disk } from "../disk.ts";
import { killProcess, type Process, signal } from "../processes.ts";
import type { ClientRecord, FaultLine } from "../record.ts";
import type { Service } from "../service.ts";
import type { Fault, Victim } from "./plan.ts";
import { sortAll } from "./victims.ts";

/** A victim of some kinds is there only while an execution runs. */
const VICTIM_WAIT_MS = 8_000;
const SUCCESSOR_WAIT_MS = 30_000;
const LOOK_MS = 20;

export interface InjectorDeps {
  readonly service: Service;
  readonly disk: Disk;
  readonly record: ClientRecord;
  /** Where there are several processes. */
  readonly cluster?: Pick<Cluster, "servers" | "cut" | "mend"> | undefined;
}

type Told = Pick<FaultLine, "note" | "done"> & Partial<Pick<FaultLine, "pid" | "victim">>;

/** Does one thing to the service, undoes it where it does not pass by itself, and writes it down. */
export async function injectFault(deps: InjectorDeps, fault: Fault): Promise<void> {
  const at = Date.now();
  const write = (told: Told): void =>
    deps.record.write({ type: "fault", at, until: Date.now(), kind: fault.kind, ...told });
  switch (fault.kind) {
    case "kill":
      return kill(deps, fault);
    case "pause":
      return write(await pause(deps, fault));
    case "refuse":
      return write(await refuse(deps, fault.ms));
    case "fill":
      return write(await fill(deps.disk, fault.ms));
    case "cut":
      return write(await cut(deps, fault.from, fault));
    case "restart": {
      const left = await deps.service.stop({ last: false });
      for (const { pid, command } of left)
        deps.record.write({
          type: "service",
          at: Date.now(),
          event: "left_behind",
          note: `process ${pid} after a stop: ${command.join(" ")}`,
        });
      return write({ note: "stopped and started", done: true });
    }
  }
}

async function kill(deps: InjectorDeps, fault: Extract<Fault, { kind: "kill" }>): Promise<void> {
  const { service, record } = deps;
  const killOne = async (victim: Victim, list: () => readonly Process[]): Promise<Process | undefined> => {
    const found = await findVictim(list, fault.pick);
    const at = Date.now();
    const done = found !== undefined && (await killProcess(found));
    const note = found === undefined ? "there was none" : found.command.join(" ").slice(0, 200);
    record.write({
      type: "fault",
      at,
      until: Date.now(),
      kind: "kill",
      victim,
      note,
      done,
      ...(found === undefined ? {} : { pid: found.pid }),
    });
    return found;
  };
  const roots = service.trees().map(([root]) => root?.pid);
  const killed = await killOne(fault.victim, () => sortAll(service.trees(), deps.cluster?.servers())[fault.victim]);
  if (fault.againMs === undefined || killed === undefined) return;
  const successor = (): Process[] =>
    (service.trees()[roots.indexOf(killed.pid)] ?? []).slice(0, 1).filter(({ pid }) => pid !== killed.pid);
  const deadline = Date.now() + SUCCESSOR_WAIT_MS;
  while (Date.now() < deadline && successor().length === 0) await sleep(LOOK_MS);
  await sleep(fault.againMs);
  await killOne("service", successor);
}

/** One of those that are listed, now or a little later. */
async function findVictim(list: () => readonly Process[], pick: number): Promise<Process | undefined> {
  const deadline = Date.now() + VICTIM_WAIT_MS;
  for (;;) {
    const found = list();
    if (found.length > 0) return found[Math.floor(pick * found.length)];
    if (Date.now() > deadline) return undefined;
    await sleep(LOOK_MS);
  }
}

/** Of all processes, unless one is picked. */
async function cut(
  { cluster }: InjectorDeps,
  from: Parameters<Cluster["cut"]>[0],
  { ms, pick }: { readonly ms: number; readonly pick?: number },
): Promise<Told> {
  if (cluster === undefined) return { note: "there is one process", done: false };
  try {
    const cutOff = await cluster.cut(from, pick);
    await sleep(ms);
    return { victim: from, note: `${cutOff} for ${ms} ms`, done: true };
  } finally {
    await cluster.mend();
  }
}

async function pause({ service, cluster }: InjectorDeps, fault: Extract<Fault, { kind: "pause" }>): Promise<Told> {
  const { victim, ms } = fault;
  const victims = sortAll(service.trees(), cluster?.servers());
  // A server of many processes stands still only when all of them do.
  const stopped = victim === "postgres" ? [...victims.postgres, ...victims.backend] : victims[victim];
  const done = stopped.filter((process) => signal(process, "SIGSTOP"));
  await sleep(ms);
  for (const process of done) signal(process, "SIGCONT");
  return { victim, note: `${done.length} processes for ${ms} ms`, done: done.length > 0 };
}

async function refuse(deps: InjectorDeps, ms: number): Promise<Told> {
  const { service, disk } = deps;
  if (deps.cluster !== undefined) return cut(deps, "storage", { ms });
  const pid = service.trees()[0]?.[0]?.pid;
  if (pid === undefined) return { note: "there was no service", done: false };
  try {
    const how = await disk.refuse(pid);
    await sleep(ms);
    return { note: `${how} for ${ms} ms`, done: true };
  } finally {
    await disk.accept();
  }
}

async function fill(disk: Disk, ms: number): Promise<Told> {
  if (disk.notFillable !== undefined) return { note: disk.notFillable, done: false };
  try {
    await disk.fill();
    await sleep(ms);
    return { note: `full for ${ms} ms`, done: true };
  } finally {
    await disk.empty();
  }
}
