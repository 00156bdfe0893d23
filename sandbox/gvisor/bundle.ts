import { INSIDE, INSIDE_ID, toInsideVariables } from "../bubblewrap.ts";
import { SIGNALS_MAX } from "../request.ts";
import { ABSENT, REFUSED } from "../seccomp.ts";
import { BOX, NAME, STDERR_FD } from "./box.ts";

const EPERM = 1;
const PIDS_MAX = `/sys/fs/cgroup/${NAME}/pids.max`;
/** Rights that only process 1 has: it writes a limit that the program may not change, and then gives them up for good. */
const FIRST_RIGHTS: readonly string[] = ["CAP_DAC_OVERRIDE", "CAP_SETPCAP"];
/** Process 1, and what it starts before the program. */
const FIRST_PROCESSES = 1;
/**
 * gVisor knows no other error than EPERM for them. Libraries do not take that for a kernel without `clone3`; its
 * `syslog` shows that it is gVisor.
 */
const KEPT_CALLS = ["clone3", "inotify_init", "inotify_init1", "syslog"];
/** What programs have no need for, as in other sandboxes. It would be gVisor's kernel that does it, so this only keeps the two alike. */
const REFUSED_CALLS = [...REFUSED, ...ABSENT].filter((name) => !KEPT_CALLS.includes(name));
/** As many as a watchdog lets pass where it can count them. */
const SCRATCH_FILES_MAX = 100_000;

export interface BundleParts {
  readonly environmentDir: string | null;
  readonly cpu: number;
  readonly hasFileInputs: boolean;
  readonly scratchBytes: number;
  /** What process 1 runs. */
  readonly command: readonly string[];
  readonly processes: number;
}

/**
 * Process 1 of the sandbox. It bounds processes and threads, which gVisor does in cgroups of its own only, and waits for orphans.
 * A program that ends it has ended itself.
 */
function toFirstProcess(processes: number): string {
  const without = "/usr/bin/setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all";
  return `
exec ${STDERR_FD}>&2 2>/dev/null
echo ${processes + FIRST_PROCESSES} > ${PIDS_MAX} || exit 1
(exec ${without} "$@" 2>&${STDERR_FD} ${STDERR_FD}>&-)
exit $?
`;
}

/** Returns the configuration of one sandbox as the Open Container Initiative defines it (`config.json`), for `toBoxArguments`' folders. */
export function toBundle(parts: BundleParts) {
  const { environmentDir, cpu, hasFileInputs, scratchBytes, command, processes } = parts;
  const id = Number(INSIDE_ID);
  const variables = toInsideVariables(environmentDir !== null, cpu);
  return {
    ociVersion: "1.0.2",
    root: { path: BOX.root, readonly: true },
    hostname: "sandbox",
    process: {
      terminal: false,
      user: { uid: id, gid: id },
      args: ["/bin/sh", "-c", toFirstProcess(processes), "sh", ...command],
      env: Object.entries(variables).map(([name, value]) => `${name}=${value}`),
      cwd: INSIDE.work,
      noNewPrivileges: true,
      capabilities: {
        bounding: FIRST_RIGHTS,
        effective: FIRST_RIGHTS,
        permitted: FIRST_RIGHTS,
        inheritable: FIRST_RIGHTS,
        ambient: FIRST_RIGHTS,
      },
      rlimits: [{ type: "RLIMIT_SIGPENDING", hard: SIGNALS_MAX, soft: SIGNALS_MAX }], // No program may set it in gVisor.
    },
    mounts: toMounts({ hasFileInputs, scratchBytes, id }),
    linux: {
      namespaces: ["pid", "ipc", "uts", "mount", "network"].map((type) => ({ type })),
      seccomp: toSeccomp(),
    },
  };
}

function toMounts({ hasFileInputs, scratchBytes, id }: { hasFileInputs: boolean; scratchBytes: number; id: number }) {
  const scratch = (destination: string, mode: string) => ({
    destination,
    type: "tmpfs",
    source: "none",
    options: [
      `size=${scratchBytes}`,
      `nr_inodes=${SCRATCH_FILES_MAX}`,
      `mode=${mode}`,
      `uid=${id}`,
      `gid=${id}`,
      "nosuid",
      "nodev",
    ],
  });
  const bind = (source: string, destination: string, access: "ro" | "rw") => ({
    destination,
    type: "bind",
    source,
    options: ["rbind", access, "nosuid", "nodev"],
  });
  const inputs = `${INSIDE.work}/inputs`;
  return [
    { destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "nodev", "noexec"] },
    scratch("/dev/shm", "1777"),
    scratch("/tmp", "1777"),
    scratch(INSIDE.work, "0700"),
    hasFileInputs ? bind(`${BOX.inputs}/inputs`, inputs, "ro") : scratch(inputs, "0755"),
    { destination: "/sys", type: "sysfs", source: "sysfs", options: ["nosuid", "nodev", "noexec", "ro"] },
    { destination: "/sys/fs/cgroup", type: "cgroup", source: "cgroup", options: ["nosuid", "nodev", "noexec"] },
    bind(BOX.outputs, `${INSIDE.work}/outputs`, "rw"),
  ];
}

function toSeccomp() {
  return {
    defaultAction: "SCMP_ACT_ALLOW",
    architectures: [process.arch === "arm64" ? "SCMP_ARCH_AARCH64" : "SCMP_ARCH_X86_64"],
    syscalls: [{ names: REFUSED_CALLS, action: "SCMP_ACT_ERRNO", errnoRet: EPERM }],
  };
}
