// Attacks on the kernel's interfaces: calls, capabilities, identities, and what a process is confined by.
import { readFileSync } from "node:fs";
import { endByName, findByName } from "./scene.ts";
import type { Assault, Attack, Siege } from "./siege.ts";
import type { BubblewrapEdits } from "./weaken.ts";

const BOTH = ["cold", "lane"] as const;
const NO_FILTER = { without: "the seccomp filter", bubblewrap: { noFilter: true } } as const;
/** Every capability in the sandbox's own namespaces, no filter: what is left is what namespaces and mounts hold. */
const ALL_RIGHTS: BubblewrapEdits = {
  replace: [
    [
      ["--cap-drop", "ALL"],
      ["--cap-add", "ALL"],
    ],
    [["--disable-userns"], []],
  ],
  unstaged: true,
  noFilter: true,
};
const AS_ROOT_INSIDE: BubblewrapEdits = {
  ...ALL_RIGHTS,
  replace: [
    ...(ALL_RIGHTS.replace ?? []),
    [
      ["--uid", "10001", "--gid", "10001"],
      ["--uid", "0", "--gid", "0"],
    ],
  ],
};
const KEPT_LIMITS = {
  without: "the limits that the runner sets",
  sources: [
    { file: "runner/main.py", from: "        resource.setrlimit(limit, (value, value))\n", to: "        pass\n" },
  ],
} as const;

const only =
  (program: string, inputs = {}) =>
  async ({ run }: Siege): Promise<readonly string[]> =>
    (await run(program, { inputs })).loot;

export const KERNEL_ATTACKS: readonly Attack[] = [
  {
    name: "namespaces and mounts",
    source: "21",
    essence: "makes namespaces, joins those of process 1, mounts, moves and removes mounts, by old and new calls",
    containment: "every one of them is refused",
    ways: BOTH,
    wage: only("namespaces"),
    control: {
      without: "the seccomp filter and the bar on user namespaces",
      bubblewrap: { noFilter: true, replace: [[["--disable-userns"], []]] },
    },
  },
  {
    name: "memory and descriptors of process 1",
    source: "2, 22",
    essence: "reads the memory of process 1, attaches to it and takes its descriptors",
    containment: "refused, by the filter and by /proc",
    ways: BOTH,
    wage: async ({ run, bench, way }) => {
      // An attachment would halt process 1, so the control does without. On the cold path process 1 is bubblewrap, whose
      // memory is open to whoever has its rights: there is nothing in it that its user does not have.
      const inputs = { attach: bench.settings.bwrapPath === "/usr/bin/bwrap", mem: way === "lane" };
      return (await run("memory_of_others", { inputs })).loot;
    },
    control: NO_FILTER,
  },
  {
    name: "corners of the kernel",
    source: "23",
    essence: "keys, bpf, perf, io_uring, userfaultfd, file handles, System V and POSIX queues, calls yet to come",
    containment: "none reaches the kernel: each is answered by the filter",
    ways: BOTH,
    wage: only("kernel_corners"),
    control: NO_FILTER,
  },
  {
    name: "watches on files of all",
    source: "own",
    essence:
      "takes leases on files of the runner and of Python, and on its own, and asks for notices of folders (dnotify)",
    containment: "each is refused, whoever the file belongs to",
    ways: BOTH,
    wage: only("file_watches"),
    control: NO_FILTER,
  },
  {
    name: "asynchronous contexts of the machine",
    source: "own",
    essence: "makes contexts for asynchronous input and output, which are counted for all users together",
    containment: "the filter answers that there is no such call",
    ways: BOTH,
    wage: only("machine_counters", { what: "contexts" }),
    control: NO_FILTER,
  },
  {
    name: "terminals of the machine",
    source: "own",
    essence: "opens a new terminal, of which all sandboxes together have some 3,000",
    containment: "there is no device to open one by",
    ways: BOTH,
    wage: only("machine_counters", { what: "terminals" }),
    control: {
      without: "the cover of the terminals' folder",
      bubblewrap: { replace: [[["--tmpfs", "/dev/pts", "--remount-ro", "/dev/pts"], []]] },
    },
  },
  {
    name: "another system call interface",
    source: "own",
    essence: "enters the kernel by int 0x80, where the numbers that the filter knows mean other calls, and by x32",
    containment: "the process that does it is ended",
    ways: BOTH,
    wage: only("other_abi"),
    control: NO_FILTER,
  },
  {
    name: "sockets of odd families",
    source: "18",
    essence: "vsock, netfilter, packet, raw, MPTCP, SCTP, Bluetooth, AF_ALG and others",
    containment: "none can be made",
    ways: BOTH,
    wage: only("odd_sockets"),
    control: NO_FILTER,
  },
  {
    name: "configuration of the network",
    source: "19",
    essence: "takes the loopback down, gives it an address, makes a link, by ioctl and netlink",
    containment: "refused",
    ways: BOTH,
    wage: only("network_configuration"),
    control: { without: "the ordinary user and the loss of capabilities", bubblewrap: AS_ROOT_INSIDE },
  },
  {
    name: "other identities",
    source: "25",
    essence: "becomes root or somebody else, gives files away",
    containment: "refused",
    ways: BOTH,
    wage: only("identities"),
    control: { without: "the ordinary user and the loss of capabilities", bubblewrap: AS_ROOT_INSIDE },
  },
  {
    name: "rights of the process, as the host sees them",
    source: "26",
    essence: "just runs; the host reads its /proc/<pid>/status",
    containment: "no capability in any set, no_new_privs, seccomp filters, an ordinary user",
    ways: BOTH,
    wage: (siege) => watch(siege, (pid) => lookAtStatus(pid)),
    control: { without: "the loss of capabilities and the filter", bubblewrap: ALL_RIGHTS },
  },
  {
    name: "limits of the process, as the host sees them",
    source: "30, 37",
    essence: "just runs; the host reads its /proc/<pid>/limits",
    containment: "processes, files, file size and core dumps are bounded as asked, soft and hard",
    ways: BOTH,
    wage: (siege) => watch(siege, (pid) => lookAtLimits(pid)),
    control: KEPT_LIMITS,
  },
  {
    name: "higher limits and priority",
    source: "30",
    essence: "raises its own limits and priority",
    containment: "refused",
    ways: BOTH,
    wage: only("more_of_everything"),
    control: {
      without: "limits that are hard",
      sources: [{ file: "runner/main.py", from: "(limit, (value, value))", to: "(limit, (value, now[1]))" }],
    },
  },
  {
    name: "keys for a terminal",
    source: "27",
    essence: "TIOCSTI, also with high bits set, TIOCLINUX and TIOCSETD on every descriptor",
    containment: "the filter answers, not the terminal layer",
    ways: BOTH,
    wage: only("terminal"),
    control: NO_FILTER,
  },
  {
    name: "devices and settings of the machine",
    source: "28",
    essence: "makes device nodes, writes core_pattern, sysrq, modprobe, namespace limits and its own uid map",
    containment: "refused",
    ways: BOTH,
    wage: only("devices_and_settings"),
    control: { without: "the ordinary user and the loss of capabilities", bubblewrap: AS_ROOT_INSIDE },
  },
];

/** Looks at the attacker's process from the host while it runs. */
async function watch({ run, scene }: Siege, look: (pid: number) => string[]): Promise<readonly string[]> {
  const name = scene.newName();
  let seen: string[] | undefined;
  const assault: Assault = await run("show_itself", {
    inputs: { name },
    onLine: () => {
      const [pid] = findByName(name);
      if (pid !== undefined) seen = look(pid);
      endByName(name);
    },
  });
  if (seen === undefined) throw new Error("The host did not find the process.");
  return [...seen, ...assault.loot];
}

function lookAtStatus(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/status`, "latin1");
  const value = (field: string) => new RegExp(`^${field}:\\s+(.*)$`, "m").exec(text)?.[1] ?? "absent";
  const none = "0".repeat(16);
  const wrong = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].filter((field) => value(field) !== none);
  return [
    ...wrong.map((field) => `${field} ${value(field)}`),
    ...(value("NoNewPrivs") === "1" ? [] : ["new privileges are possible"]),
    ...(value("Seccomp") === "2" ? [] : ["no filter"]),
    ...(/^0\b/.test(value("Uid")) ? ["root"] : []),
  ];
}

function lookAtLimits(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/limits`, "latin1");
  const expected = {
    "Max core file size": 0,
    "Max processes": 32,
    "Max open files": 256,
    "Max file size": 64 * 1024 * 1024,
  };
  return Object.entries(expected).flatMap(([name, value]) => {
    const [, soft, hard] = new RegExp(`^${name}\\s+(\\S+)\\s+(\\S+)`, "m").exec(text) ?? [];
    return soft === String(value) && hard === String(value) ? [] : [`${name} is ${soft}, ${hard}`];
  });
}
