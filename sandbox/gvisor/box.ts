import { join } from "node:path";
import {
  DEVICES,
  INSIDE,
  INSIDE_ID,
  readOnly,
  type SandboxFolders,
  toReadOnlyFolders,
  toSystemFolders,
} from "../bubblewrap.ts";

/** Paths in the bubblewrap that gVisor runs in. Programs see only what is below `root`, and the two folders that are mounted into it. */
export const BOX = {
  root: "/box",
  outputs: "/outputs",
  inputs: "/given",
  runsc: "/gvisor/runsc",
  bundle: "/gvisor",
} as const;

const CONTROL_FD = 3;
/** Where shells keep stderr for what they start: what they say themselves of a process that was killed is nothing for a log. */
export const STDERR_FD = 4;
/** Programs let the service go first: what `runner/main.py` asks of gVisor's kernel, the machine's has to be asked here. */
const NICE = 10;
/** The name of the only sandbox that its `runsc` knows. */
export const NAME = "program";
/** The program's process: process 1 of the sandbox starts it before anything else. */
const PROGRAM_PID = 2;
/** `runsc` sets up namespaces of its own with these, as the user of the sandbox. They reach nothing outside of the bubblewrap. */
const CAPABILITIES = [
  ["SYS_ADMIN", "SYS_CHROOT", "SETUID", "SETGID", "SETPCAP", "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH"],
  ["FOWNER", "FSETID", "SYS_PTRACE"],
].flat();
/** Threads of the host for each process of a program: gVisor had 178 for 60 processes that computed. */
const HOST_THREADS_EACH = 8;
const HOST_THREADS_MIN = 512;

const RUNSC = [
  BOX.runsc,
  "--root=/run/runsc",
  "--rootless",
  "--ignore-cgroups",
  "--network=none",
  "--gofer-network-namespace=host", // that of the bubblewrap, which is empty
  "--platform=systrap",
  "--overlay2=none",
  "--oci-seccomp",
  "--in-sandbox-cgroup=v2",
];

/** Returns how many threads and processes of the host gVisor and a program of so many may have. A program that needs more is ended. */
export function toHostThreads(processes: number): number {
  return Math.max(HOST_THREADS_MIN, HOST_THREADS_EACH * processes);
}

/**
 * Starts `runsc` and hands SIGTERM on to the program, which `runsc` itself does not. The limit has two names among shells.
 * Ends with the exit code of the program.
 */
const toStart = (threads: number): string => `
ulimit -u ${threads} 2>/dev/null || ulimit -p ${threads} || exit 1
echo 1000 > /proc/$$/oom_score_adj
mkfifo /run/stdout /run/stderr || exit 1
cat /run/stdout &
cat /run/stderr >&2 &
exec >/run/stdout ${STDERR_FD}>/run/stderr 2>/dev/null
nice -n ${NICE} ${RUNSC.join(" ")} run --bundle=${BOX.bundle} --pass-fd=${CONTROL_FD}:${CONTROL_FD} ${NAME} <&0 2>&${STDERR_FD} ${STDERR_FD}>&- &
runsc=$!
trap '${RUNSC.join(" ")} kill --pid=${PROGRAM_PID} ${NAME} TERM >/dev/null' TERM
while :; do
  wait "$runsc"
  code=$?
  kill -0 "$runsc" || break
done
exec >&- ${STDERR_FD}>&-
wait
exit "$code"
`;

/** What follows bubblewrap's own options: the shell that starts gVisor for a program of at most so many processes. */
export function toBoxCommand(processesMax: number): string[] {
  return ["/bin/sh", "-c", toStart(toHostThreads(processesMax))];
}

/**
 * What `bwrap --args` reads for a sandbox of gVisor: the same files as any sandbox has, below `/box`, and outside of it what
 * `runsc` needs. Everything of `runsc` is in this bubblewrap, and ends with it. `bundle` is the descriptor of its configuration.
 */
export function toBoxArguments(
  folders: SandboxFolders,
  { runscPath, bundle }: { runscPath: string; bundle: number },
): string[] {
  return [
    "--unshare-all",
    folders.hasNetworkNamespace ? ["--share-net"] : [],
    "--unshare-user",
    ["--uid", INSIDE_ID, "--gid", INSIDE_ID, "--hostname", "sandbox"],
    ["--die-with-parent", "--new-session", "--clearenv"],
    CAPABILITIES.flatMap((name) => ["--cap-add", `CAP_${name}`]),
    toSystemFolders(""),
    ["--proc", "/proc"],
    DEVICES,
    ["--tmpfs", "/run", "--tmpfs", "/tmp"], // `runsc` keeps its state in the one, and makes its root in the other.
    readOnly(runscPath, BOX.runsc),
    ["--file", String(bundle), join(BOX.bundle, "config.json")],
    toReadOnlyFolders(folders, BOX.root),
    ["/proc", "/dev", "/sys", "/tmp", INSIDE.work, `${INSIDE.work}/inputs`, `${INSIDE.work}/outputs`].flatMap(
      (path) => ["--dir", BOX.root + path],
    ),
    ["--dir", `${BOX.inputs}/inputs`],
    folders.inputs.flatMap(({ from, to }) => readOnly(from, join(BOX.inputs, to))),
    ["--bind", folders.outputsDir, BOX.outputs],
    ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"],
  ].flat();
}
