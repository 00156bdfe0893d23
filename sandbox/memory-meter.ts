import { readFileSync } from "node:fs";

const KIB = 1024;
/** Of the machine's memory, what is left to everybody else before the largest sandbox is ended. */
const RESERVE_SHARE = 0.03;
/** Of a small machine 3 % would leave the kernel too little to end a process before it ends one itself. */
const RESERVE_BYTES_MIN = 128 * 1024 * KIB;
/** Ending one that holds less would help nobody. */
const VICTIM_BYTES_MIN = 64 * 1024 * KIB;
/** `net.core.wmem_default` of every Linux since 2.6, where it cannot be read. */
const SOCKET_BYTES = 212_992;

/** What each sandbox of this process without a memory cgroup held when it was last looked at, in bytes. */
const held = new Map<number, number>();

/** Watches what a sandbox without a memory cgroup holds, as far as it shows from outside. */
export interface MemoryMeter {
  /**
   * Returns why the sandbox has to be ended: it holds more than it may, or the most on a machine that has no memory left.
   * Its processes hold `ownBytes`.
   */
  findExcess(scratchBytes: number, ownBytes: number): "memory" | "machine_memory" | undefined;
  stop(): void;
}

export interface MeteredTree {
  /** The process above all others of it, as the host sees it. */
  readonly rootPid: number;
  /** Whether its network is its own: then every socket there is one of its. */
  readonly hasOwnNetwork: boolean;
  /** Bounds what its processes hold, and once more what its sockets may hold. */
  readonly bytesMax: number;
}

/** Starts to measure a sandbox. `isFull` answers whether the machine has no memory left. */
export function createMemoryMeter(
  { rootPid, hasOwnNetwork, bytesMax }: MeteredTree,
  isFull: () => boolean = isMachineFull,
): MemoryMeter {
  return {
    findExcess(scratchBytes, ownBytes) {
      const bytes = ownBytes + scratchBytes;
      const socketBytes = hasOwnNetwork ? measureSockets(rootPid) : 0;
      held.set(rootPid, bytes + socketBytes);
      if (bytes > bytesMax || socketBytes > bytesMax) return "memory";
      return isLargest(rootPid) && isFull() ? "machine_memory" : undefined;
    },
    stop: () => void held.delete(rootPid),
  };
}

function isLargest(rootPid: number): boolean {
  const own = held.get(rootPid) ?? 0;
  return own >= VICTIM_BYTES_MIN && [...held].every(([pid, bytes]) => bytes < own || (bytes === own && pid <= rootPid));
}

function isMachineFull(): boolean {
  const text = readOrNothing("/proc/meminfo");
  const find = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? Number.NaN) * KIB;
  return find("MemAvailable") < Math.max(RESERVE_BYTES_MIN, find("MemTotal") * RESERVE_SHARE);
}

/**
 * What the sockets of a network namespace may hold, those in flight between processes included. Of others than TCP's,
 * the kernel reports only how many there are. Those of TCP grow by themselves, and say what they hold.
 */
function measureSockets(pid: number): number {
  const text = readOrNothing(`/proc/${pid}/net/sockstat`);
  const find = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0);
  const each = Number(readOrNothing("/proc/sys/net/core/wmem_default")) || SOCKET_BYTES;
  const queued = find(/^TCP: inuse (\d+)/m) > 0 ? measureQueues(pid) : 0;
  return find(/^sockets: used (\d+)/m) * each + queued;
}

/** Bytes that TCP has taken and not delivered yet, in both directions. */
function measureQueues(pid: number): number {
  const text = ["tcp", "tcp6"].map((name) => readOrNothing(`/proc/${pid}/net/${name}`)).join("");
  const queues = text.matchAll(/^ *\d+: \S+ \S+ \S+ ([0-9A-F]+):([0-9A-F]+) /gm);
  return [...queues].reduce(
    (sum, [, sent = "", received = ""]) => sum + parseInt(sent, 16) + parseInt(received, 16),
    0,
  );
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // The process ended meanwhile.
  }
}
