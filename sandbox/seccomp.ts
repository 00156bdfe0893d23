import { SYSCALL_NUMBERS, type SyscallName } from "./syscall-numbers.ts";

export const SECCOMP_ARCHITECTURES = ["x64", "arm64"] as const;
export type SeccompArchitecture = (typeof SECCOMP_ARCHITECTURES)[number];

export interface SeccompOptions {
  /**
   * Whether a memory cgroup counts memory that the kernel keeps for a program. Without one memfd is closed, sockets keep the
   * size that they have, and so do pipes.
   */
  readonly countsMemory: boolean;
  /** What a zygote needs to make the namespaces of a fork, each call with exactly the flags it uses; `buildForkFilter` takes it back. */
  readonly forks?: boolean;
  /** With `forks`: each has a network namespace of its own, too. */
  readonly forkNetworks?: boolean;
}

/** One classic-BPF instruction: operation, jump if true, jump if false, operand. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];

const AUDIT_ARCHITECTURE: Record<SeccompArchitecture, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };
const X32_BIT = 0x40000000;
/** The last call this filter was written against (Linux 6.1). Newer ones answer ENOSYS, and libraries fall back. */
const NEWEST_KNOWN_CALL = 450;

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;

/** CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const CLONE_NAMESPACE_BITS = 0x7e020080;
/** NEWUSER, NEWNS, NEWPID, NEWIPC, NEWUTS and SIGCHLD: `CLONE_FLAGS` of `runner/_treadle_fork.py`. */
const FORK_FLAGS = 0x3c020011;
/** NEWNET as well. */
const FORK_FLAGS_WITH_NETWORK = FORK_FLAGS | 0x40000000;
/** tmpfs, proc, a bind mount, the same made read-only, a read-only tmpfs: the mounts of `runner/_treadle_fork.py`. */
const FORK_MOUNT_FLAGS = [0x6, 0xe, 0x1000, 0x1027, 0x7];
const TERMINAL_INJECTION = [0x5412, 0x541c, 0x5423]; // TIOCSTI, TIOCLINUX, TIOCSETD
const PR_SET_MM = 35;
/** A lease stops the next process that opens the file, for up to 45 s; F_NOTIFY is what inotify grew out of. */
const FILE_WATCHES = [1024, 1026]; // F_SETLEASE, F_NOTIFY
const F_SETPIPE_SZ = 1031;
const SOL_SOCKET = 1;
const BUFFER_SIZES = [7, 8, 32, 33]; // SO_SNDBUF, SO_RCVBUF, SO_SNDBUFFORCE, SO_RCVBUFFORCE
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const NETLINK_ROUTE = 0;
const IP_PROTOCOLS = [0, 6, 17]; // default, TCP, UDP; so no raw sockets, SCTP or MPTCP

export const REFUSED: readonly SyscallName[] = [
  ...([
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
  ] as const),
  ...([
    "fspick",
    "mount_setattr",
    "unshare",
    "setns",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "kcmp",
  ] as const),
  ...(["pidfd_getfd", "process_madvise", "keyctl", "add_key", "request_key", "bpf", "perf_event_open"] as const),
  ...(["userfaultfd", "fanotify_init", "fanotify_mark", "lookup_dcookie", "init_module", "finit_module"] as const),
  ...(["delete_module", "create_module", "query_module", "get_kernel_syms", "kexec_load", "kexec_file_load"] as const),
  ...(["reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "settimeofday"] as const),
  ...(["clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname", "iopl", "ioperm"] as const),
  ...(["vhangup", "nfsservctl", "vserver", "uselib", "ustat", "sysfs", "_sysctl", "modify_ldt"] as const),
  ...(["name_to_handle_at", "open_by_handle_at", "shmget", "shmat", "shmctl", "shmdt", "semget", "semop"] as const),
  ...(["semctl", "semtimedop", "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "memfd_secret", "vmsplice"] as const),
  ...(["get_mempolicy", "set_mempolicy", "mbind", "migrate_pages", "move_pages", "set_mempolicy_home_node"] as const),
];

/**
 * ENOSYS rather than EPERM: callers know it from older kernels and do without (glibc: clone3 → clone). The calls of
 * inotify watch inodes in any namespace: they would show which files of a shared environment others read. Contexts of
 * `io_setup` are counted for the whole machine (`fs.aio-max-nr`), so that one program could take all of them.
 */
export const ABSENT: readonly SyscallName[] = [
  ...(["io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"] as const),
  ...(["io_setup", "io_destroy", "io_submit", "io_cancel", "io_getevents", "io_pgetevents"] as const),
  ...(["inotify_init", "inotify_init1"] as const),
];

const loadField = (offset: number): Instruction => [0x20, 0, 0, offset];
const loadNumber = loadField(0);
const loadArchitecture = loadField(4);
/** The low 32 bits only: the kernel itself ignores the high ones of these arguments (CVE-2019-10063). */
const loadArgument = (index: number): Instruction => loadField(16 + 8 * index);
const answer = (action: number): Instruction => [0x06, 0, 0, action];
const fail = (errno: number): Instruction => answer(0x00050000 | errno);
const allow = answer(ALLOW);
const skipUnlessEqual = (value: number, skip: number): Instruction => [0x15, 0, skip, value];
const skipUnlessAtLeast = (value: number, skip: number): Instruction => [0x35, 0, skip, value];
const skipUnlessAnyBit = (bits: number, skip: number): Instruction => [0x45, 0, skip, bits];

/** When the loaded field equals one of `values`, does `then` (which must end in an answer); otherwise goes on. */
function whenOneOf(values: readonly number[], then: readonly Instruction[]): Instruction[] {
  return values.flatMap((value) => [skipUnlessEqual(value, then.length), ...then]);
}

/** Returns the architecture of this machine. Throws where no filter is known for it. */
export function architectureOf(name: string): SeccompArchitecture {
  const architecture = SECCOMP_ARCHITECTURES.find((known) => known === name);
  if (architecture !== undefined) return architecture;
  throw new Error(`There is no seccomp filter for ${name}; sandboxes run on ${SECCOMP_ARCHITECTURES.join(" and ")}.`);
}

/** The seccomp filter for user code, as the raw `struct sock_filter` array that `bwrap --seccomp` reads. */
export function buildSeccompFilter(architecture: SeccompArchitecture, options: SeccompOptions): Buffer {
  const program: Instruction[] = [
    loadArchitecture,
    [0x15, 1, 0, AUDIT_ARCHITECTURE[architecture]],
    answer(KILL_PROCESS),
    loadNumber,
    ...(architecture === "x64" ? [skipUnlessAtLeast(X32_BIT, 1), fail(ENOSYS)] : []),
    skipUnlessAtLeast(NEWEST_KNOWN_CALL + 1, 1),
    fail(ENOSYS),
  ];
  const onCall = (name: SyscallName, body: readonly Instruction[]) => {
    const number = SYSCALL_NUMBERS[name][architecture === "x64" ? 0 : 1];
    if (number !== null) program.push(skipUnlessEqual(number, body.length), ...body);
  };

  if (options.forks === true) onCall("mount", [loadArgument(3), ...whenOneOf(FORK_MOUNT_FLAGS, [allow]), fail(EPERM)]);
  for (const name of REFUSED) onCall(name, [fail(EPERM)]);
  for (const name of ABSENT) onCall(name, [fail(ENOSYS)]);
  if (!options.countsMemory) {
    onCall("memfd_create", [fail(ENOSYS)]);
    onCall("setsockopt", bufferRules());
  }
  const forkFlags = options.forkNetworks === true ? FORK_FLAGS_WITH_NETWORK : FORK_FLAGS;
  const asFork = options.forks === true ? [loadArgument(0), ...whenOneOf([forkFlags], [allow])] : [];
  onCall("clone", [...asFork, ...namespaceRules()]);
  onCall("personality", [loadArgument(0), ...whenOneOf([0, 0xffffffff], [allow]), fail(EPERM)]);
  const refusedFileCommands = options.countsMemory ? FILE_WATCHES : [...FILE_WATCHES, F_SETPIPE_SZ];
  onCall("fcntl", [loadArgument(1), ...whenOneOf(refusedFileCommands, [fail(EPERM)]), allow]);
  onCall("ioctl", [loadArgument(1), ...whenOneOf(TERMINAL_INJECTION, [fail(EPERM)]), allow]);
  onCall("prctl", [loadArgument(0), ...whenOneOf([PR_SET_MM], [fail(EPERM)]), allow]);
  onCall("socketpair", [loadArgument(0), ...whenOneOf([AF_UNIX], [allow]), fail(EAFNOSUPPORT)]);
  onCall("socket", socketRules());
  program.push(allow);
  return toBytes(program);
}

/**
 * What a fork loads on top of the zygote's filter, which it keeps. It takes back what `forks` lets pass. Both together
 * decide as the filter without `forks`. The kernel compiles it anew for each execution, and tries it on every call
 * there is.
 */
export function buildForkFilter(architecture: SeccompArchitecture): Buffer {
  const numberOf = (name: SyscallName) => SYSCALL_NUMBERS[name][architecture === "x64" ? 0 : 1] as number;
  return toBytes([
    loadArchitecture,
    [0x15, 1, 0, AUDIT_ARCHITECTURE[architecture]],
    answer(KILL_PROCESS),
    loadNumber,
    ...whenOneOf([numberOf("mount")], [fail(EPERM)]),
    ...whenOneOf([numberOf("clone")], namespaceRules()),
    allow,
  ]);
}

function namespaceRules(): Instruction[] {
  return [loadArgument(0), skipUnlessAnyBit(CLONE_NAMESPACE_BITS, 1), fail(EPERM), allow];
}

/** Reports success: libraries ask for larger buffers to be faster, and do not look whether they got them. */
function bufferRules(): Instruction[] {
  const onSocket = [loadArgument(2), ...whenOneOf(BUFFER_SIZES, [fail(0)]), allow];
  return [loadArgument(1), skipUnlessEqual(SOL_SOCKET, onSocket.length), ...onSocket, allow];
}

/** AF_VSOCK is not confined by network namespaces, and AF_ALG, AF_PACKET and their like are attack surface only. */
function socketRules(): Instruction[] {
  const ip = [loadArgument(2), ...whenOneOf(IP_PROTOCOLS, [allow]), fail(EAFNOSUPPORT)];
  const netlink = [loadArgument(2), ...whenOneOf([NETLINK_ROUTE], [allow]), fail(EAFNOSUPPORT)];
  return [
    loadArgument(0),
    ...whenOneOf([AF_UNIX], [allow]),
    ...whenOneOf([AF_INET, AF_INET6], ip),
    ...whenOneOf([AF_NETLINK], netlink),
    fail(EAFNOSUPPORT),
  ];
}

function toBytes(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, ifTrue, ifFalse, operand], index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(operand >>> 0, index * 8 + 4);
  });
  return bytes;
}
