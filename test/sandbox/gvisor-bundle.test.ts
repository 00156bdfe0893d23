import { expect, test } from "@jest/globals";
import { coresOf } from "../../sandbox/bubblewrap.ts";
import { toBoxArguments, toBoxCommand } from "../../sandbox/gvisor/box.ts";
import { toBundle } from "../../sandbox/gvisor/bundle.ts";

const FOLDERS = {
  runnerDir: "/data/runner",
  interpreterPaths: ["/opt/python"],
  commitDir: "/data/commits/c1",
  environmentDir: "/data/environments/e1",
  cpu: 1.5,
  outputsDir: "/data/spool/x/outputs",
  inputs: [{ from: "/data/files/f1", to: "inputs/orders.csv" }],
  hasFileInputs: true,
  scratchBytes: 1024,
  resolvConf: undefined,
  hosts: undefined,
  hasNetworkNamespace: true,
};
const VARIABLES = [
  ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"],
  ["POLARS_MAX_THREADS", "RAYON_NUM_THREADS", "TOKIO_WORKER_THREADS", "GOMAXPROCS", "LOKY_MAX_CPU_COUNT"],
  "PYTHON_CPU_COUNT",
].flat();
const PARTS = { ...FOLDERS, command: ["/usr/bin/python3", "-I", "/runner/main.pyc", "3"], processes: 64 };

test("toBundle, of a program with file inputs, is exactly this", () => {
  const { linux, ...bundle } = toBundle(PARTS);
  const rights = ["CAP_DAC_OVERRIDE", "CAP_SETPCAP"];
  const scratch = (destination: string, mode: string) => ({
    destination,
    type: "tmpfs",
    source: "none",
    options: ["size=1024", "nr_inodes=100000", `mode=${mode}`, "uid=10001", "gid=10001", "nosuid", "nodev"],
  });
  expect(bundle).toEqual({
    ociVersion: "1.0.2",
    root: { path: "/box", readonly: true },
    hostname: "sandbox",
    process: {
      terminal: false,
      user: { uid: 10001, gid: 10001 },
      args: ["/bin/sh", "-c", expect.any(String), "sh", "/usr/bin/python3", "-I", "/runner/main.pyc", "3"],
      env: [
        "HOME=/tmp",
        "USER=user",
        "LANG=C.UTF-8",
        "PYTHONPATH=/runner/modules",
        ...VARIABLES.map((name) => `${name}=${coresOf(2)}`),
        "PATH=/env/bin:/runner/bin:/usr/local/bin:/usr/bin:/bin",
        "VIRTUAL_ENV=/env",
      ],
      cwd: "/app",
      noNewPrivileges: true,
      capabilities: { bounding: rights, effective: rights, permitted: rights, inheritable: rights, ambient: rights },
      rlimits: [{ type: "RLIMIT_SIGPENDING", hard: 256, soft: 256 }],
    },
    mounts: [
      { destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "nodev", "noexec"] },
      scratch("/dev/shm", "1777"),
      scratch("/tmp", "1777"),
      scratch("/app", "0700"),
      {
        destination: "/app/inputs",
        type: "bind",
        source: "/given/inputs",
        options: ["rbind", "ro", "nosuid", "nodev"],
      },
      { destination: "/sys", type: "sysfs", source: "sysfs", options: ["nosuid", "nodev", "noexec", "ro"] },
      { destination: "/sys/fs/cgroup", type: "cgroup", source: "cgroup", options: ["nosuid", "nodev", "noexec"] },
      { destination: "/app/outputs", type: "bind", source: "/outputs", options: ["rbind", "rw", "nosuid", "nodev"] },
    ],
  });
  expect(bundle.process.args[2]).toBe(`
exec 4>&2 2>/dev/null
echo 65 > /sys/fs/cgroup/program/pids.max || exit 1
(exec /usr/bin/setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all "$@" 2>&4 4>&-)
exit $?
`);
  expect(linux.namespaces.map(({ type }) => type)).toEqual(["pid", "ipc", "uts", "mount", "network"]);
  const [refused] = linux.seccomp.syscalls;
  expect(refused).toMatchObject({ action: "SCMP_ACT_ERRNO", errnoRet: 1 });
  expect(refused?.names).toEqual(expect.arrayContaining(["unshare", "setns", "mount", "ptrace", "io_setup", "keyctl"]));
});

test("toBundle, of a program without file inputs, has an empty folder for them", () => {
  const { mounts } = toBundle({ ...PARTS, hasFileInputs: false, environmentDir: null });
  const inputs = mounts.find(({ destination }) => destination === "/app/inputs");
  expect(inputs).toMatchObject({ type: "tmpfs", options: expect.arrayContaining(["size=1024", "mode=0755"]) });
  expect(mounts.filter(({ type }) => type === "bind")).toHaveLength(1);
});

test("toBoxArguments, of a program with file inputs, shows it below /box what it may read, and runsc beside it", () => {
  const args = toBoxArguments(FOLDERS, { runscPath: "/usr/local/bin/runsc", bundle: 5 });
  const mounts = args.flatMap((arg, index) =>
    ["--ro-bind", "--bind", "--file"].includes(arg) ? [args.slice(index, index + 3)] : [],
  );
  const ofPrograms = mounts.filter(([, , to = ""]) => !/^(\/box)?\/(usr|bin|sbin|lib\w*)$/.test(to));
  expect(ofPrograms).toEqual([
    ["--ro-bind", "/usr/local/bin/runsc", "/gvisor/runsc"],
    ["--file", "5", "/gvisor/config.json"],
    ["--ro-bind", "/opt/python", "/box/opt/python"],
    ["--ro-bind", "/data/runner/etc", "/box/etc"],
    ["--ro-bind", "/data/runner", "/box/runner"],
    ["--ro-bind", "/data/commits/c1", "/box/commit"],
    ["--ro-bind", "/data/environments/e1", "/box/env"],
    ["--ro-bind", "/data/files/f1", "/given/inputs/orders.csv"],
    ["--bind", "/data/spool/x/outputs", "/outputs"],
  ]);
  expect(args).toEqual(expect.arrayContaining(["--unshare-all", "--unshare-user", "--die-with-parent", "--clearenv"]));
  expect(args.slice(-6)).toEqual(["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]);
});

test.each([
  [8, 512],
  [64, 512],
  [256, 2_048],
])("toBoxCommand, for programs of %d processes, lets the host start %d threads", (processes, threads) => {
  expect(toBoxCommand(processes).at(-1)).toContain(`ulimit -u ${threads} `);
});
