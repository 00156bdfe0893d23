import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { promisify } from "node:util";
import { listTree } from "../../sandbox/process-tree.ts";
import { readProportionalBytes } from "../processes.ts";
import type { Filling } from "./peer.ts";
import { measureSlice, type Resources, type Slice, type Stand } from "./slices.ts";

const MIB = 1024 ** 2;
const SOAK_SECONDS = 60;

/** Half a peer's own rate, minute after minute, with what it holds at the end of each. */
export async function* soak(
  stand: Stand,
  { minutes, capacity, dataDir }: { minutes: number; capacity: number | undefined; dataDir: string },
): AsyncGenerator<Slice> {
  for (let minute = 0; minute < minutes; minute++) {
    const slice = await measureSlice(stand, "open50", { seconds: SOAK_SECONDS, capacity });
    const resources = await readResources(stand.running.pid ?? process.pid, dataDir);
    if (slice !== undefined) yield { ...slice, load: "soak", round: minute, resources };
  }
}

/** `hello` beside so many finished executions, or other workflows, for peers that can be filled. */
export async function* grow(
  stand: Stand,
  { of, sizes, seconds }: { of: keyof Filling; sizes: readonly number[]; seconds: number },
): AsyncGenerator<Slice> {
  const { filling } = stand.running;
  if (filling === undefined) return;
  let filled = 0;
  for (const size of sizes) {
    if (size > filled) await filling[of](filled, size);
    filled = size;
    const slice = await measureSlice(stand, "hello", { seconds, capacity: undefined });
    if (slice !== undefined) yield { ...slice, load: `hello beside ${size} ${of}` };
  }
}

async function readResources(pid: number, dataDir: string): Promise<Resources> {
  const pids = listTree(pid);
  const open = await Promise.all(pids.map((each) => readdir(`/proc/${each}/fd`).catch(() => [])));
  const { stdout } = await promisify(execFile)("du", ["-sm", dataDir]).catch(() => ({ stdout: "NaN" }));
  return {
    memoryMebibytes: readProportionalBytes(pids) / MIB,
    descriptors: open.reduce((total, files) => total + files.length, 0),
    diskMebibytes: Number.parseInt(stdout, 10),
  };
}
