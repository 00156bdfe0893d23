import { statSync } from "node:fs";
import { open } from "node:fs/promises";
import type { Reach } from "./users/reach.ts";

/** Some 2,500 mappings; an interpreter with large libraries has 1,000. */
const MAPS_BYTES_MAX = 256 * 1024;
/** As many as 64 processes with 512 each have: some 100 ms. Of those beyond nobody knows what they hold. */
const DESCRIPTORS_MAX = 32_768;
const DELETED_MAPPING = /^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) ([0-9a-f]+):([0-9a-f]+) (\d+) .*\(deleted\)$/gm;

/** What processes hold of a disk without a name for it. */
export interface HiddenFiles {
  readonly bytes: number;
  /** Whether they could hold more than is seen here: by sockets, which files can be sent into, or by hiding their descriptors. */
  readonly mayHide: boolean;
}

/** Measures files on the disk of `outputsDir` that have no name any more and live on in descriptors or mappings of processes. */
export async function measureHidden(
  pids: readonly number[],
  outputsDir: string,
  reach: Pick<Reach, "statDescriptors">,
): Promise<HiddenFiles> {
  const device = statSync(outputsDir).dev;
  const bytesOf = new Map<number, number>();
  let mayHide = false;
  for (const descriptors of await reach.statDescriptors(pids, DESCRIPTORS_MAX)) {
    mayHide ||= descriptors === undefined;
    for (const { kind, links, device: of, inode, blocks } of descriptors ?? []) {
      mayHide ||= kind === "socket";
      if (kind === "file" && links === 0 && of === device) bytesOf.set(inode, blocks * 512);
    }
  }
  const mapped = new Map<number, Map<string, number>>();
  for (const pid of pids) {
    const text = await readMaps(pid);
    mayHide ||= text === undefined;
    for (const [, from = "", to = "", offset = "", major = "", minor = "", inode] of (text ?? "").matchAll(
      DELETED_MAPPING,
    )) {
      if (toDevice(major, minor) !== device || bytesOf.has(Number(inode))) continue;
      const parts = mapped.get(Number(inode)) ?? new Map<string, number>();
      mapped.set(Number(inode), parts.set(offset, Number.parseInt(to, 16) - Number.parseInt(from, 16)));
    }
  }
  const parts = [...bytesOf.values(), ...[...mapped.values()].flatMap((each) => [...each.values()])];
  return { bytes: parts.reduce((total, bytes) => total + bytes, 0), mayHide };
}

/** Undefined for a process that has ended, hides it, or has more mappings than are worth reading. */
async function readMaps(pid: number): Promise<string | undefined> {
  try {
    const file = await open(`/proc/${pid}/maps`); // On the thread pool: the kernel may keep a reader waiting.
    try {
      const buffer = Buffer.allocUnsafe(MAPS_BYTES_MAX);
      let length = 0;
      for (let read = -1; read !== 0 && length < MAPS_BYTES_MAX; length += read)
        read = (await file.read(buffer, length, MAPS_BYTES_MAX - length)).bytesRead;
      return length < MAPS_BYTES_MAX ? buffer.toString("latin1", 0, length) : undefined;
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

/** The number that `stat` gives: see `new_encode_dev` of Linux. */
function toDevice(major: string, minor: string): number {
  const [high, low] = [Number.parseInt(major, 16), Number.parseInt(minor, 16)];
  return (low & 0xff) + (high << 8) + (low & ~0xff) * 4096;
}
