import { lstatSync, readlinkSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

/** Paths inside the sandbox; `runner/protocol.md` promises the first three to user code. */
export const INSIDE = {
  work: "/app",
  commit: "/commit",
  environment: "/env",
  runner: "/runner",
  lane: "/lane",
  laneInputs: "/lane-inputs",
  scratch: ["/app", "/tmp", "/dev/shm"],
  sharedMemory: "/dev/shm",
} as const;

/** Libraries and languages start a thread for each core of the machine where these do not say otherwise. */
export const THREAD_VARIABLES: readonly string[] = [
  ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"],
  ["POLARS_MAX_THREADS", "RAYON_NUM_THREADS", "TOKIO_WORKER_THREADS", "GOMAXPROCS", "LOKY_MAX_CPU_COUNT"],
  "PYTHON_CPU_COUNT", // of Python 3.13 and newer; the runner reads it for older ones
].flat();
/** What packages may leave in the scratch folders while they are imported is far less. */
const LANE_SCRATCH_BYTES = 16 * 1024 * 1024;
/** Who user code is inside its namespace. Outside it is the user who starts bubblewrap, which must not be root. */
export const INSIDE_ID = "10001";

/**
 * The few devices that programs need. No terminals: those of all sandboxes together are counted for the whole machine
 * (`kernel.pty.max`), so that one program could take all of them.
 */
export const DEVICES: readonly string[] = ["--dev", "/dev", "--tmpfs", "/dev/pts", "--remount-ro", "/dev/pts"];

export interface Mount {
  readonly from: string;
  readonly to: string;
}

/** What forks of a lane have on the host, each in a folder by its number. */
export interface LaneFolders {
  readonly outputs: string;
  /** Undefined where the commit declares no input files. */
  readonly inputs: string | undefined;
}

/** What every sandbox of a commit sees, read-only. */
export interface CommonFolders {
  readonly runnerDir: string;
  /** Folders outside `/usr` that the interpreter needs; they keep their paths. */
  readonly interpreterPaths: readonly string[];
  readonly commitDir: string;
  readonly environmentDir: string | null;
  /** Cores that user code may use. */
  readonly cpu: number;
}

export interface SandboxFolders extends CommonFolders {
  readonly outputsDir: string;
  /** Input files, by their paths inside. */
  readonly inputs: readonly Mount[];
  readonly hasFileInputs: boolean;
  readonly scratchBytes: number;
  /** Where the working folder and `/tmp` are on the host, when they are not in memory. Then `scratchBytes` is that of `/dev/shm`. */
  readonly scratchDir?: string | undefined;
  /** A file to be seen as `/etc/resolv.conf`; without a network the empty one of the runner's folder is. */
  readonly resolvConf: string | undefined;
  /** A file to be seen as `/etc/hosts`; otherwise that of the runner's folder is. */
  readonly hosts: string | undefined;
  /** Set when bubblewrap runs in an empty network namespace made for this sandbox already. */
  readonly hasNetworkNamespace: boolean;
}

/**
 * What `bwrap --args` reads: one single-use sandbox that ends when its parent does, without a network unless it is in one.
 * The seccomp filter and the
 * program are on its command line already. Order matters: bubblewrap makes the mounts one after the other, and locks `/` and `/dev` last.
 */
export function toBubblewrapArguments(folders: SandboxFolders): string[] {
  const { hasFileInputs, scratchBytes, scratchDir } = folders;
  const inputs = `${INSIDE.work}/inputs`;
  return [
    toNamespaces(folders.hasNetworkNamespace),
    "--disable-userns",
    toReadOnlyParts(folders),
    toNameFiles(folders),
    ["--proc", "/proc"],
    DEVICES,
    toScratch(scratchBytes, scratchDir),
    hasFileInputs ? ["--size", "65536", "--perms", "0755", "--tmpfs", inputs] : ["--dir", inputs],
    folders.inputs.flatMap(({ from, to }) => readOnly(from, join(INSIDE.work, to))),
    hasFileInputs ? ["--remount-ro", inputs] : [],
    ["--bind", folders.outputsDir, `${INSIDE.work}/outputs`],
    toLocks(),
  ].flat();
}

/**
 * The same for a lane. Its zygote may make namespaces (the seccomp filter says which). `/lane` holds a folder for the
 * outputs of each fork. The fork mounts its own scratch over what is here and hides `/lane`.
 */
export function toLaneArguments(folders: CommonFolders & LaneFolders & NameFiles): string[] {
  return [
    toNamespaces(false),
    "--as-pid-1",
    toReadOnlyParts(folders),
    toNameFiles(folders),
    ["--proc", "/proc"],
    DEVICES,
    toScratch(LANE_SCRATCH_BYTES),
    ["--bind", folders.outputs, INSIDE.lane],
    folders.inputs === undefined ? [] : readOnly(folders.inputs, INSIDE.laneInputs),
    toLocks(),
  ].flat();
}

type NameFiles = Pick<SandboxFolders, "resolvConf" | "hosts">;

/** What names are looked up with in a network, over the files of every sandbox. */
function toNameFiles({ resolvConf, hosts }: NameFiles): string[] {
  return [
    ...(resolvConf === undefined ? [] : readOnly(resolvConf, "/etc/resolv.conf")),
    ...(hosts === undefined ? [] : readOnly(hosts, "/etc/hosts")),
  ];
}

export function readOnly(from: string, to: string): string[] {
  return ["--ro-bind", from, to];
}

function toNamespaces(hasNetworkNamespace: boolean): string[] {
  return [
    "--unshare-all",
    hasNetworkNamespace ? ["--share-net"] : [],
    // --unshare-all only tries for a user namespace; this makes the lack of one an error.
    "--unshare-user",
    ["--uid", INSIDE_ID, "--gid", INSIDE_ID, "--hostname", "sandbox"],
    ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"],
  ].flat();
}

function toReadOnlyParts(folders: CommonFolders): string[] {
  const { environmentDir, cpu } = folders;
  return [...toSetenv(toInsideVariables(environmentDir !== null, cpu)), ...toReadOnlyFolders(folders, "")];
}

/** What user code may read, mounted below `root`. */
export function toReadOnlyFolders(folders: CommonFolders, root: string): string[] {
  const { runnerDir, interpreterPaths, commitDir, environmentDir } = folders;
  const mount = (from: string, to: string) => readOnly(from, `${root}${to}`);
  return [
    ...toSystemFolders(root),
    ...interpreterPaths.flatMap((path) => mount(path, path)),
    ...mount(join(runnerDir, "etc"), "/etc"),
    ...mount(runnerDir, INSIDE.runner),
    ...mount(commitDir, INSIDE.commit),
    ...(environmentDir === null ? [] : mount(environmentDir, INSIDE.environment)),
  ];
}

function toScratch(bytes: number, dir?: string): string[] {
  const inMemory = (path: string, mode: string) => ["--size", String(bytes), "--perms", mode, "--tmpfs", path];
  const scratch = (path: string, mode: string) =>
    dir === undefined ? inMemory(path, mode) : ["--bind", join(dir, path), path];
  return [...inMemory("/dev/shm", "1777"), ...scratch("/tmp", "1777"), ...scratch(INSIDE.work, "0700")];
}

/** Both are tmpfs of half the machine's memory, and writable, until they are locked. */
function toLocks(): string[] {
  return ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", INSIDE.work];
}

/** The environment variables of user code in a sandbox. */
export function toInsideVariables(hasEnvironment: boolean, cpu: number): Record<string, string> {
  const environmentDir = hasEnvironment ? INSIDE.environment : null;
  return toVariables({ home: "/tmp", runnerDir: INSIDE.runner, environmentDir }, cpu);
}

/**
 * Returns the whole environment of user code. Nothing of the service's own environment is in it. Numerical libraries
 * get as many threads as the code may use cores. With one they start none, and so can be imported ahead in a lane.
 * `python` and `python3` are the interpreter that runs the code, and the Pythons that it starts find the module
 * `treadle`.
 */
export function toVariables(
  { home, runnerDir, environmentDir }: { home: string; runnerDir: string; environmentDir: string | null },
  cpu: number,
): Record<string, string> {
  const path = `${runnerDir}/bin:/usr/local/bin:/usr/bin:/bin`;
  const cores = String(coresOf(cpu));
  const ofLibraries = Object.fromEntries(THREAD_VARIABLES.map((name) => [name, cores]));
  const ofPython = { PYTHONPATH: `${runnerDir}/modules` };
  const variables = { HOME: home, USER: "user", LANG: "C.UTF-8", ...ofPython, ...ofLibraries };
  if (environmentDir === null) return { ...variables, PATH: path };
  return { ...variables, PATH: `${environmentDir}/bin:${path}`, VIRTUAL_ENV: environmentDir };
}

/** Returns how many cores code has that may use this much processor: whole ones, and no more than the machine. */
export function coresOf(cpu: number): number {
  return Math.max(1, Math.min(Math.ceil(cpu), availableParallelism()));
}

function toSetenv(variables: Record<string, string>): string[] {
  return Object.entries(variables).flatMap(([name, value]) => ["--setenv", name, value]);
}

/**
 * `/usr`, and `/bin`, `/lib` and so on as the host has them: links into `/usr` nearly everywhere, folders of their own on Alpine.
 * All of it is mounted below `root`.
 */
export function toSystemFolders(root: string): string[] {
  const links = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"].flatMap((name) => {
    const path = `/${name}`;
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return [];
    return stats.isSymbolicLink()
      ? ["--symlink", readlinkSync(path), `${root}${path}`]
      : readOnly(path, `${root}${path}`);
  });
  return [...readOnly("/usr", `${root}/usr`), ...links];
}
