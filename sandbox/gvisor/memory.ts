import { readFileSync, statSync } from "node:fs";
import type { Reach } from "../users/reach.ts";

const KIB = 1024;
const BLOCK_BYTES = 512;

/** What gVisor and its program hold. */
export interface GvisorMemory {
  readonly program: number;
  readonly all: number;
}

/**
 * Measures memory. The program's is a file in memory that all of gVisor's processes map, scratch files included: it is counted
 * once, by its descriptor.
 */
export async function measureGvisor(
  pids: readonly number[],
  outputsDir: string,
  reach: Pick<Reach, "statDescriptors">,
): Promise<GvisorMemory> {
  const disk = statSync(outputsDir).dev; // Deleted outputs are no memory.
  const files = new Map<string, number>();
  for (const descriptors of await reach.statDescriptors(pids, Number.MAX_SAFE_INTEGER)) {
    for (const { kind, links, device, inode, blocks } of descriptors ?? [])
      if (kind === "file" && links === 0 && device !== disk) files.set(`${device}:${inode}`, blocks * BLOCK_BYTES);
  }
  const program = [...files.values()].reduce((sum, bytes) => sum + bytes, 0);
  return { program, all: pids.reduce((sum, pid) => sum + ownBytes(pid), program) };
}

function ownBytes(pid: number): number {
  const status = readStatus(pid);
  const kib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0);
  return (kib("RssAnon") + kib("VmPTE")) * KIB;
}

function readStatus(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "latin1");
  } catch {
    return ""; // It ended meanwhile.
  }
}
