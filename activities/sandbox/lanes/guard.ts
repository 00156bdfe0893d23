import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as sleep, setImmediate as yieldOnce } from "node:timers/promises";
import { INSIDE } from "../bubblewrap.ts";
import { listChildren } from "../process-tree.ts";

/**
 * What the host knows of a lane's processes by looking at them itself. The zygote imports packages, which can change
 * everything in it, so nothing it says of itself counts.
 */
export interface ForkProcesses {
  /** Process 1 of the execution's namespaces, and the user's process below it. */
  readonly first: number;
  readonly user: number;
}

const STOP_TIMEOUT_MS = 2_000;
const IMPATIENT_MS = 2;
/** What a fork has of its own; the network namespace is the lane's. */
const OWN_NAMESPACES = ["user", "mnt", "pid", "ipc", "uts"] as const;
const WRITABLE = new Set<string>([...INSIDE.scratch, `${INSIDE.work}/outputs`, "/proc"]);

/** The zygote's only fork. Throws when there are other processes: somebody would be there while an execution has its data. */
export function findFork(zygote: number): ForkProcesses {
  const [first, ...others] = listChildren(zygote);
  const [user, ...more] = first === undefined ? [] : listChildren(first);
  if (first === undefined || user === undefined) throw new Error("The lane's fork is gone.");
  if (others.length > 0 || more.length > 0) throw new Error("The lane holds processes that are none of its fork's.");
  return { first, user };
}

/**
 * Stops the zygote, so that no code that outlives an execution runs while that execution has its inputs. Throws when it
 * cannot be stopped, has threads, or has made other processes meanwhile.
 */
export async function stopZygote(zygote: number, fork: ForkProcesses): Promise<void> {
  process.kill(zygote, "SIGSTOP");
  const startedAt = performance.now();
  while (readState(zygote) !== "T") {
    const waited = performance.now() - startedAt;
    if (waited > STOP_TIMEOUT_MS) throw new Error("The lane's zygote could not be stopped.");
    await (waited < IMPATIENT_MS ? yieldOnce() : sleep(1));
  }
  if (readdirSync(`/proc/${zygote}/task`).length !== 1) throw new Error("The lane's zygote has threads.");
  const now = findFork(zygote);
  if (now.first !== fork.first || now.user !== fork.user) throw new Error("The lane's fork was exchanged.");
}

/** The state letter of `/proc/<pid>/stat`. */
function readState(pid: number): string {
  const text = readFileSync(`/proc/${pid}/stat`, "latin1");
  return text.charAt(text.lastIndexOf(")") + 2);
}

/** Whether the user's process is confined as it must be. Answers what is wrong; empty means confined. */
export function inspectFork({ user }: ForkProcesses, zygote: number): string[] {
  const status = readStatus(user);
  const problems: string[] = [];
  const expect = (field: string, wanted: string) => {
    if (status.get(field) !== wanted) problems.push(`${field} is ${status.get(field)} and should be ${wanted}`);
  };
  for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) expect(set, "0000000000000000");
  expect("NoNewPrivs", "1");
  expect("Seccomp", "2");
  if (status.has("Seccomp_filters")) expect("Seccomp_filters", "2"); // The lane's and the execution's; Linux 5.9.
  if (/^0\b/.test(status.get("Uid") ?? "0")) problems.push("it runs as root");
  for (const name of OWN_NAMESPACES) {
    const own = readNamespace(user, name);
    if (own === readNamespace(zygote, name)) problems.push(`it shares its ${name} namespace with the lane`);
  }
  if (readNamespace(user, "net") === readNamespace(process.pid, "net")) problems.push("it is on the host's network");
  const writable = listWritableMounts(user).filter((path) => !WRITABLE.has(path));
  if (writable.length > 0) problems.push(`it can write ${writable.join(", ")}`);
  return problems;
}

function readNamespace(pid: number, name: string): string {
  return readlinkSync(`/proc/${pid}/ns/${name}`);
}

function readStatus(pid: number): Map<string, string> {
  const lines = readFileSync(`/proc/${pid}/status`, "latin1").split("\n");
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
}

/** Mount points that are writable, and not covered by a later mount on the same path. Devices are nodes, not folders. */
function listWritableMounts(pid: number): string[] {
  const top = new Map<string, boolean>();
  for (const line of readFileSync(`/proc/${pid}/mountinfo`, "latin1").split("\n")) {
    const [, , , , path, options = "", ...rest] = line.split(" ");
    const superOptions = rest[rest.length - 1] ?? "";
    if (path === undefined) continue;
    top.set(path, !options.split(",").includes("ro") && !superOptions.split(",").includes("ro"));
  }
  const isDevice = (path: string) => path.startsWith("/dev/") && path !== "/dev/shm";
  return [...top].filter(([path, writable]) => writable && !isDevice(path)).map(([path]) => path);
}
