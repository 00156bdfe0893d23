import { readdirSync, readlinkSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { INSIDE } from "../bubblewrap.ts";
import { readKernelFile } from "../kernel-files.ts";
import { listChildren, runsCode } from "../process-tree.ts";
import type { Reach } from "../users/reach.ts";

/**
 * What the host knows of a lane's processes by looking at them itself. The zygote imports packages, which can change
 * everything in it and in its forks, so nothing they say of themselves counts. All of it is looked at anew for each
 * fork, with the zygote stopped and the fork without its inputs.
 */
export interface ForkProcesses {
  /** Process 1 of the execution's namespaces, and the user's process below it. */
  readonly first: number;
  readonly user: number;
}

/** The packages of this code keep something that would outlive an execution; in words for its author. */
export class UnfitError extends Error {}

/** As far as could be seen in time. A host that stands still for a moment looks the same, so that the code is tried again later. */
export class SeeminglyUnfitError extends UnfitError {}

/** The signal works at once; only a machine that stands still takes longer. */
const STOP_TIMEOUT_MS = 2_000;
/** A fork closes what it inherited first of all. What is still open then was opened by a package. */
const CLOSE_TIMEOUT_MS = 500;
/** What a fork has of its own; the network namespace is the lane's, unless forks have links. */
const OWN_NAMESPACES = ["user", "mnt", "pid", "ipc", "uts"] as const;
const WRITABLE = new Set<string>([...INSIDE.scratch, `${INSIDE.work}/outputs`, "/proc"]);
/** stdin, the two pipes for what it prints, and the line to the host. */
const ZYGOTE_DESCRIPTORS = "0,1,2,3";
/** Filters of a program: the lane's and the execution's. */
const FILTERS = 2;
const READ_ONLY_FILES = /^\/(usr|lib|lib32|lib64|env)\//;
const COUNTERS = ["dev", "snmp", "netstat", "snmp6"];

/**
 * The zygote's only fork. Throws when there are other processes: one would be there while an execution has its data.
 */
function findFork(zygote: number): ForkProcesses {
  const [first, ...others] = listLiving(zygote);
  const [user, ...more] = first === undefined ? [] : listLiving(first);
  if (first === undefined || user === undefined) throw new Error("The lane's fork is gone.");
  if (others.length > 0 || more.length > 0) throw new UnfitError("A package keeps processes of its own.");
  return { first, user };
}

/** Without the fork before, which the kernel may still be taking apart. */
function listLiving(parent: number): number[] {
  return listChildren(parent).filter(runsCode);
}

/**
 * Stops the zygote, so that no code that outlives an execution runs while that execution has its inputs. Throws when
 * something it holds could carry them over: a thread, process, descriptor or memory that others share. Memory of a fork
 * that the zygote does not hold ends with the fork, so that only the zygote's is looked at. Returns its one fork.
 */
export async function stopZygote(zygote: number, reach: Pick<Reach, "listDescriptors">): Promise<ForkProcesses> {
  process.kill(zygote, "SIGSTOP");
  const startedAt = performance.now();
  while (readState(zygote) !== "T") {
    if (performance.now() - startedAt > STOP_TIMEOUT_MS) throw new Error("The lane's zygote could not be stopped.");
    await sleep(1);
  }
  if (readdirSync(`/proc/${zygote}/task`).length !== 1) throw new UnfitError("A package starts threads.");
  const fork = findFork(zygote);
  const forks = [fork.first, fork.user];
  const [own = {}, ...ofForks] = await reach.listDescriptors([zygote, ...forks]);
  const descriptors = Object.keys(own).sort((a, b) => Number(a) - Number(b));
  if (descriptors.join() !== ZYGOTE_DESCRIPTORS) throw new UnfitError("A package keeps files, pipes or sockets open.");
  if (sharesMemory(zygote)) throw new UnfitError("A package keeps memory that is shared between processes.");
  await expectOwnDescriptors(ofForks, () => reach.listDescriptors(forks));
  checkWorkingFolders(zygote, fork);
  return fork;
}

/** Namespaces that a fork must not be in, by their kind. */
export interface Namespaces extends Readonly<Record<(typeof OWN_NAMESPACES)[number], string>> {
  /** The host's, and the lane's where a fork has its own. */
  readonly nets: readonly string[];
}

/**
 * Returns the zygote's namespaces, and the host's network; the zygote's network counts where forks have their own. A
 * process stays in its own: the zygote's filter refuses `setns` and `unshare`, so that they are read once.
 */
export function readForeignNamespaces(zygote: number, ownNetworks: boolean): Namespaces {
  const [user, mnt, pid, ipc, uts] = OWN_NAMESPACES.map((name) => readNamespace(zygote, name));
  const nets = [process.pid, ...(ownNetworks ? [zygote] : [])].map((each) => readNamespace(each, "net"));
  return { user, mnt, pid, ipc, uts, nets } as Namespaces;
}

/** Throws unless both of the fork's processes are as confined as an execution must be. */
export function checkConfinement({ first, user }: ForkProcesses, foreign: Namespaces): void {
  const problems = [...inspectStatus(first), ...inspectStatus(user), ...inspectWorld(user, foreign)];
  if (problems.length > 0) throw new Error(`A lane is not confined: ${[...new Set(problems)].join("; ")}.`);
}

/** Devices and counters of the network that a process is in. Those of a lane show any use of it to later executions. */
export function readNetworkMarks(pid: number): string {
  return COUNTERS.map((name) => readOrNothing(`/proc/${pid}/net/${name}`)).join();
}

/** Whether the network that a process is in has an address: one that was just made has none, not even its loopback's. */
export function hasAddresses(pid: number): boolean {
  return readOrNothing(`/proc/${pid}/net/fib_trie`).includes("|--");
}

/** The state letter of `/proc/<pid>/stat`. */
function readState(pid: number): string {
  const text = readKernelFile(`/proc/${pid}/stat`);
  return text.charAt(text.lastIndexOf(")") + 2);
}

/**
 * Whether writing to a page of this process could ever show in another one. A shared mapping that is only readable now
 * can be made writable, unless it is of a file on a read-only mount. For example, glibc maps a cache of its own from
 * below `/usr`.
 */
function sharesMemory(pid: number): boolean {
  const shared = readKernelFile(`/proc/${pid}/maps`).matchAll(/^\S+ ...s \S+ \S+ \S+ *(.*)$/gm);
  return [...shared].some(([, path = ""]) => !READ_ONLY_FILES.test(path));
}

/**
 * A fork has pipes of its own and nothing else: a file or a socket would be one that the zygote has made. The line by which
 * it reported of itself is closed a moment after.
 */
async function expectOwnDescriptors(
  first: readonly Descriptors[],
  lookAgain: () => Promise<readonly Descriptors[]>,
): Promise<void> {
  const startedAt = performance.now();
  for (let seen = first; !seen.every(arePipesOnly); seen = await lookAgain()) {
    if (performance.now() - startedAt > CLOSE_TIMEOUT_MS)
      throw new SeeminglyUnfitError("A package passes files or sockets on to executions.");
    await sleep(1);
  }
}

type Descriptors = Readonly<Record<string, string>>;

/** A process without any is gone, or was not to be looked at. */
function arePipesOnly(descriptors: Descriptors): boolean {
  const targets = Object.values(descriptors);
  const isOwn = (target: string) => target === "" || target === "/dev/null" || target.startsWith("pipe:");
  return targets.length > 0 && targets.every(isOwn);
}

/** A working folder may lie below a mount, and so be a place that no path leads to. */
function checkWorkingFolders(zygote: number, { first, user }: ForkProcesses): void {
  const root = statSync(`/proc/${zygote}/root/`);
  const own = statSync(`/proc/${user}/root${INSIDE.work}`);
  for (const pid of [first, user]) {
    const [cwd, rootOfIt] = [statSync(`/proc/${pid}/cwd/`), statSync(`/proc/${pid}/root/`)];
    const isOwn = cwd.dev === own.dev && cwd.ino === own.ino && rootOfIt.ino === root.ino && rootOfIt.dev === root.dev;
    if (!isOwn) throw new UnfitError("A package changes the working folder of executions.");
  }
  const cwd = statSync(`/proc/${zygote}/cwd/`);
  const lane = statSync(`/proc/${zygote}/root${INSIDE.work}`);
  if (cwd.dev !== lane.dev || cwd.ino !== lane.ino) throw new UnfitError("A package changes the working folder.");
}

function inspectStatus(pid: number): string[] {
  const status = readKernelFile(`/proc/${pid}/status`);
  const problems: string[] = [];
  const expect = (field: string, wanted: string) => {
    const found = new RegExp(`^${field}:\\s+(\\S+)`, "m").exec(status)?.[1];
    if (found !== wanted) problems.push(`${field} is ${found} and should be ${wanted}`);
  };
  for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) expect(set, "0000000000000000");
  expect("NoNewPrivs", "1");
  expect("Seccomp", "2");
  const outside = countOwnFilters();
  if (outside !== undefined) expect("Seccomp_filters", String(outside + FILTERS));
  if (/^Uid:\s+0\b/m.test(status)) problems.push("it runs as root");
  return problems;
}

/** Returns how many filters of system calls this service has from its container, and every program with it; undefined before Linux 5.9. */
function countOwnFilters(): number | undefined {
  const found = /^Seccomp_filters:\s+(\d+)/m.exec(readKernelFile("/proc/self/status"))?.[1];
  return found === undefined ? undefined : Number(found);
}

function inspectWorld(user: number, foreign: Namespaces): string[] {
  const problems = OWN_NAMESPACES.filter((name) => readNamespace(user, name) === foreign[name]).map(
    (name) => `it shares its ${name} namespace with the lane`,
  );
  if (foreign.nets.includes(readNamespace(user, "net")))
    problems.push("it is on the network of the host, or of the lane");
  const mounts = readMounts(user);
  const writable = [...mounts].filter(([path, isWritable]) => isWritable && !WRITABLE.has(path) && !isDevice(path));
  if (writable.length > 0) problems.push(`it can write ${writable.map(([path]) => path).join(", ")}`);
  if (mounts.get(INSIDE.lane) !== false) problems.push("it can see the lane's folder");
  return problems;
}

function readNamespace(pid: number, name: string): string {
  return readlinkSync(`/proc/${pid}/ns/${name}`);
}

function isDevice(path: string): boolean {
  return path.startsWith("/dev/") && path !== "/dev/shm";
}

/** Of each mount point, whether what is mounted there last is writable. */
function readMounts(pid: number): Map<string, boolean> {
  const mounts = new Map<string, boolean>();
  for (const line of readKernelFile(`/proc/${pid}/mountinfo`).split("\n")) {
    const [, , , , path, options = "", ...rest] = line.split(" ");
    const superOptions = rest.at(-1) ?? "";
    if (path !== undefined) mounts.set(path, !hasReadOnly(options) && !hasReadOnly(superOptions));
  }
  return mounts;
}

function hasReadOnly(options: string): boolean {
  return options === "ro" || options.startsWith("ro,");
}

function readOrNothing(path: string): string {
  try {
    return readKernelFile(path);
  } catch {
    return ""; // Not every kernel has each of them.
  }
}
