import { chmodSync, chownSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { attack, expectAllRefused } from "./attack.ts";
import { type Bench, jsonOf, LIMITS, openBench } from "./harness.ts";

/** Bubblewrap without the filter: what a sandbox without ours would be. */
const WITHOUT_FILTER = `#!/bin/bash
arguments=()
while [ $# -gt 0 ]; do
  if [ "$1" = --seccomp ]; then shift 2; else arguments+=("$1"); shift; fi
done
exec /usr/bin/bwrap "\${arguments[@]}"
`;

const PROBE = `
attempt("new user namespace", lambda: call("unshare", 0x10000000))
attempt("new mount namespace", lambda: call("unshare", 0x20000))
attempt("clone into a user namespace", lambda: call("clone", 0x10000011, 0, 0, 0, 0))
attempt("clone3", lambda: call("clone3", 0, 88))
attempt("setns", lambda: call("setns", os.open("/proc/self/ns/net", 0), 0))
attempt("mount", lambda: call("mount", b"x", b"/tmp", b"tmpfs", 0, 0))
attempt("umount", lambda: call("umount2", b"/tmp", 0))
attempt("pivot_root", lambda: call("pivot_root", b"/tmp", b"/tmp"))
attempt("move_mount", lambda: call("move_mount", -100, b"/tmp", -100, b"/app", 0))
attempt("attach to init", lambda: call("ptrace", 16, 1, 0, 0))
attempt("read init's memory", lambda: call("process_vm_readv", 1, 0, 0, 0, 0, 0))
attempt("take init's descriptors", lambda: call("pidfd_getfd", os.pidfd_open(1), 0, 0))
for name in ("keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "kexec_load", "init_module", "open_by_handle_at", "future"):
    attempt(name, lambda: call(name, 0, 0, 0, 0, 0))
attempt("personality", lambda: call("personality", 0x40000))
for what, arguments in {"vsock": (40, 1, 0), "alg": (38, 5, 0), "packet": (17, 3, 0x0300), "raw": (2, 3, 1), "netfilter": (16, 3, 12), "xdp": (44, 3, 0), "mptcp": (2, 1, 262), "bluetooth": (31, 3, 0)}.items():
    attempt("socket " + what, lambda: socket.socket(*arguments).family)
attempt("socketpair vsock", lambda: socket.socketpair(40, 1))
import fcntl
for what, number in {"TIOCSTI": 0x5412, "TIOCSTI with high bits": 0x5412 + (1 << 32), "TIOCLINUX": 0x541C}.items():
    def inject(number=number):
        if libc.ioctl(ctypes.c_int(1), ctypes.c_ulong(number), ctypes.c_char_p(b"x")) < 0:
            raise OSError(ctypes.get_errno(), what)
    attempt(what, inject)
attempt("terminal", lambda: open("/dev/tty", "w"))
`;

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

test("system calls, that reach out of the sandbox or deep into the kernel, are refused by the filter", async () => {
  const { tried } = await attack(bench, PROBE);
  expectAllRefused(tried);
  const { terminal, ...byFilter } = tried;
  expect(terminal).toBe("ENXIO");
  const expected = Object.keys(byFilter).map((name) => {
    if (name.startsWith("socket") && name !== "socket raw") return [name, "EAFNOSUPPORT"];
    if (name === "socket raw") return [name, expect.stringMatching(/EAFNOSUPPORT|EPERM/)];
    return [name, /clone3|io_uring|future/.test(name) ? "ENOSYS" : "EPERM"];
  });
  expect(byFilter).toEqual(Object.fromEntries(expected));
});

test("system calls, without the filter, get through: the probe would notice", async () => {
  const bwrapPath = join(bench.root, "bwrap");
  writeFileSync(bwrapPath, WITHOUT_FILTER);
  chmodSync(bwrapPath, 0o755);
  const open = await openBench({ bwrapPath });
  try {
    // Without the attachment, that is: it would halt process 1 of the sandbox until the time limit.
    const { tried } = await attack(open, PROBE.replace(/^attempt\("attach.*$/m, ""));
    const got = Object.entries(tried)
      .filter(([, result]) => result.startsWith("OK"))
      .map(([name]) => name);
    expect(got).toEqual(expect.arrayContaining(["socket netfilter", "personality", "read init's memory"]));
    expect(tried.keyctl).not.toBe("EPERM");
    expect(tried.TIOCSTI).not.toBe("EPERM");
    expect(await open.selfTest()).toEqual(expect.arrayContaining([expect.stringMatching(/hypervisor|seccomp/)]));
  } finally {
    await open.close();
  }
});

test("leases, of a program on files that are its kernel user's, keep nobody else's program from starting", async () => {
  const own = await openBench();
  try {
    const { runAs, runnerDir } = own.settings;
    // As an ordinary user's service has it: runner and sandboxes are one user's.
    if (runAs !== undefined)
      for (const name of readdirSync(runnerDir)) chownSync(join(runnerDir, name), runAs.uid, runAs.gid);
    expect(readdirSync(runnerDir).filter((name) => name.endsWith(".bpf"))).toEqual([]);
    let isHolding: () => void = () => undefined;
    const holds = new Promise<void>((resolve) => (isHolding = resolve));
    const holder = own.run({
      code: `
import fcntl, glob, os, signal, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
held = []
for path in glob.glob("/runner/*.*"):
    held.append(os.open(path, os.O_RDONLY))
    try:
        fcntl.fcntl(held[-1], 1024, fcntl.F_WRLCK)
    except OSError:
        pass
print("holding", flush=True)
time.sleep(9)
`,
      onLine: isHolding,
    });
    await holds;
    const { outcome, elapsedMs } = await own.run({ code: "def main():\n    return 1" });
    expect(outcome.status).toBe("success");
    expect(elapsedMs).toBeLessThan(6_000);
    await holder;
  } finally {
    await own.close();
  }
});

test("identity, of user code, has no rights and no way to any", async () => {
  const { tried, ran } = await attack(
    bench,
    `
attempt("setuid", lambda: os.setuid(0))
attempt("setgid", lambda: os.setgid(0))
attempt("setgroups", lambda: os.setgroups([0]))
open("/tmp/f", "w").close()
attempt("chown", lambda: os.chown("/tmp/f", 0, 0))
attempt("nice", lambda: os.nice(-5))
attempt("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)))
import resource
for name in ("NPROC", "FSIZE", "NOFILE", "CORE"):
    attempt("more " + name, lambda: resource.setrlimit(getattr(resource, "RLIMIT_" + name), (1 << 20, 1 << 40)))
attempt("su", lambda: subprocess.run(["su", "-c", "id"], check=True, stdin=subprocess.DEVNULL, capture_output=True))
attempt("chroot", lambda: os.chroot("/tmp"))
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
open("outputs/limits.json", "w").write(json.dumps({k: resource.getrlimit(getattr(resource, "RLIMIT_" + k)) for k in ("NPROC", "NOFILE", "FSIZE", "CORE")}))
open("outputs/status.json", "w").write(json.dumps({k: status[k].strip() for k in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")} | {"groups": os.getgroups()}))
`,
  );
  expectAllRefused(tried);
  const { processes, openFiles, fileBytesMax } = LIMITS;
  const twice = (value: number) => [value, value];
  expect(jsonOf(ran, "limits")).toEqual({
    NPROC: twice(processes),
    NOFILE: twice(openFiles),
    FSIZE: twice(fileBytesMax),
    CORE: [0, 0],
  });
  const none = "0".repeat(16);
  expect(jsonOf(ran, "status")).toMatchObject({
    CapInh: none,
    CapPrm: none,
    CapEff: none,
    CapBnd: none,
    CapAmb: none,
    NoNewPrivs: "1",
    Seccomp: "2",
  });
});

test("threads, programs, TLS, databases and mapped memory, under the filter, work", async () => {
  const ran = await bench.run({
    code: `
import asyncio, mmap, multiprocessing, sqlite3, ssl, subprocess, threading, socket, select, tempfile, ctypes.util
async def work():
    process = await asyncio.create_subprocess_exec("echo", "hi", stdout=subprocess.PIPE)
    return (await process.communicate())[0].decode()
def main():
    threads = [threading.Thread(target=lambda: None) for _ in range(5)]
    [t.start() for t in threads]; [t.join() for t in threads]
    database = sqlite3.connect("work.db"); database.execute("create table t(x)"); database.commit()
    memory = mmap.mmap(-1, 1 << 20); memory[0] = 1
    queue = multiprocessing.get_context("fork").Queue(); queue.put(1)
    pair = socket.socketpair()
    ssl.create_default_context()
    return [asyncio.run(work()), queue.get(), ctypes.util.find_library("c") is not None]
`,
  });
  expect(jsonOf(ran)).toEqual(["hi\n", 1, true]);
});
