import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { findProcess, isRunning, listTree } from "../../sandbox/process-tree.ts";
import { writeFolder } from "./folders.ts";
import { type Bench, LIMITS, openBench, UNPRIVILEGED } from "./harness.ts";
import { buildService } from "./service.ts";

let bench: Bench;
let service: string;
const children: ChildProcess[] = [];
const isRoot = process.getuid?.() === 0;

beforeAll(async () => {
  bench = await openBench();
  service = buildService(join(bench.root, "service"));
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await bench.close();
});

/** A small service of its own: a Node process that runs one program in a sandbox, told by `request`, and prints its result. */
function startService(
  code: string,
  user: { uid: number; gid: number } | undefined,
  limits: Partial<typeof LIMITS> = {},
) {
  const folder = join(bench.root, `service-${children.length}`);
  const commitDir = writeFolder(join(folder, "commit"), { "main.py": code });
  mkdirSync(join(folder, "spool"));
  // Whoever runs the service owns its spool.
  chmodSync(join(folder, "spool"), 0o777);
  const settings = { ...bench.settings, runAs: user === undefined && isRoot ? UNPRIVILEGED : undefined };
  const request = {
    executionId: "ex_1",
    commitDir,
    environmentDir: null,
    entrypoint: "main.py",
    spoolDir: join(folder, "spool"),
    inputs: {},
    kinds: {},
    files: [],
    declaredOutputs: null,
    limits: { ...LIMITS, ...limits },
  };
  const child = spawn(process.execPath, [service, JSON.stringify({ settings, request })], {
    stdio: ["ignore", "pipe", "inherit"],
    cwd: "/",
    env: { PLANTED_SECRET: "planted-secret-4711", PATH: "/usr/bin:/bin" },
    ...user,
  });
  children.push(child);
  return {
    child,
    lines: createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator](),
    folder,
  };
}

const LINGERING = `
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 64)
            while True: time.sleep(0.05)
        os._exit(0)
    os.wait()
print("lingering", flush=True)
while True: time.sleep(0.05)
`;

test("service, killed by SIGKILL, leaves no process of its sandboxes", async () => {
  const { child, lines } = startService(LINGERING, undefined);
  expect((await lines.next()).value).toContain("lingering");
  const tree = listTree(child.pid ?? 0)
    .slice(1)
    .flatMap((pid) => findProcess(pid) ?? []);
  expect(tree.length).toBeGreaterThanOrEqual(7);
  child.kill("SIGKILL");
  await once(child, "exit");
  for (let waited = 0; waited < 5_000 && tree.some(isRunning); waited += 20) await sleep(20);
  expect(tree.filter(isRunning)).toEqual([]);
});

/** False of a process that has ended meanwhile, such as one that only began another. */
function isConfined(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8").includes("Seccomp:\t2");
  } catch {
    return false;
  }
}

test("execution, cancelled while daemons of it linger, leaves no process", async () => {
  const controller = new AbortController();
  let tree: NonNullable<ReturnType<typeof findProcess>>[] = [];
  const ran = await bench.run({
    code: LINGERING,
    signal: controller.signal,
    onLine: () => {
      tree = listTree(process.pid)
        .slice(1)
        .flatMap((pid) => findProcess(pid) ?? []);
      tree = tree.filter(({ pid }) => isConfined(pid));
      controller.abort();
    },
  });
  expect(ran.outcome.status).toBe("cancelled");
  // Process 1 of the sandbox, the program, and its three daemons.
  expect(tree.length).toBeGreaterThanOrEqual(5);
  expect(tree.filter(isRunning)).toEqual([]);
});

test("service, started by an ordinary user, runs and contains programs alike", async () => {
  const user = isRoot ? UNPRIVILEGED : undefined;
  const secret = join(bench.root, "readable-secret");
  writeFileSync(secret, "secret", { mode: 0o644 });
  const code = `
import os, socket
def refused(act):
    try: act()
    except OSError: return True
    return False
def main():
    print("hello")
    return {"result": [os.getuid(), refused(lambda: open(${JSON.stringify(secret)})), refused(lambda: open("/proc/${process.pid}/stat")),
                       refused(lambda: open("/etc/new", "w")), refused(lambda: socket.create_connection(("127.0.0.1", 22), 1)), "PLANTED_SECRET" in os.environ]}
`;
  const { child, lines, folder } = startService(code, user);
  const printed: string[] = [];
  for await (const line of lines) printed.push(line);
  expect(JSON.parse(printed.at(-1) ?? "")).toMatchObject({
    selfTest: [],
    result: { outcome: { status: "success", message: "" } },
  });
  expect(readFileSync(join(folder, "spool/outputs/result.json"), "utf8")).toBe(
    "[10001, true, true, true, true, false]",
  );
  // A closed sandbox holds nothing that would keep its service from ending.
  if (child.exitCode === null) await once(child, "exit");
  expect(child.exitCode).toBe(0);
});

test("memory, of an ordinary user's service without cgroups, is watched from outside", async () => {
  const { lines } = startService(
    "import time\nx = []\nwhile True: x.append(b'x' * (4 << 20)); time.sleep(0.005)",
    isRoot ? UNPRIVILEGED : undefined,
  );
  const printed: string[] = [];
  for await (const line of lines) printed.push(line);
  // The limit's own words, without a MemoryError: it was the watchdog, as there is no cgroup for an ordinary user.
  expect(JSON.parse(printed.at(-1) ?? "").result.outcome).toMatchObject({
    status: "out_of_memory",
    message: "The code needed more memory than limits.memory (256 MiB).",
  });
});

test("processor time, of an ordinary user's service without cgroups, is measured and ends at what was agreed", async () => {
  const code = "import os\nos.fork()\nwhile True: pass\n";
  const { lines } = startService(code, isRoot ? UNPRIVILEGED : undefined, { cpu: 0.05 });
  const printed: string[] = [];
  for await (const line of lines) printed.push(line);
  const { outcome } = JSON.parse(printed.at(-1) ?? "").result;
  expect(outcome).toMatchObject({
    status: "timed_out",
    message: "The code used more processor time than limits.timeout and limits.cpu allow together (1 s).",
  });
  expect(outcome.processorSeconds).toBeGreaterThanOrEqual(1);
  expect(outcome.secondsUsed).toBeLessThan(LIMITS.timeoutSeconds);
});

/** Unix sockets hold 208 KB each in either direction; nothing of it is memory of a process. */
const FILL_SOCKETS = `
import os, socket, time
for _ in range(7):
    if os.fork() == 0: break
kept = []
for _ in range(110):
    for end in socket.socketpair():
        end.setblocking(False)
        kept.append(end)
        try:
            while True: end.send(b"x" * 65536)
        except BlockingIOError: pass
time.sleep(8)
`;
/** Buffers of TCP grow while they are used: to 7 MB for each of these. */
const FILL_CONNECTIONS = `
import socket, time
server = socket.create_server(("127.0.0.1", 0))
kept = []
for _ in range(110):
    ends = [socket.create_connection(server.getsockname()), server.accept()[0]]
    for end in ends:
        end.setblocking(False)
        kept.append(end)
        try:
            while True: end.send(b"x" * 65536)
        except BlockingIOError: pass
time.sleep(8)
`;
/** Each page in a region of its own needs a page of the page table: 4 processes of 80 MB. */
const FILL_PAGE_TABLES = `
import ctypes, os, time
for _ in range(3):
    if os.fork() == 0: break
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
file = os.open("/usr/bin/env", os.O_RDONLY)
for region in range(20000):
    address = libc.mmap(ctypes.c_void_p((1 << 44) + (region << 21)), 4096, 1, 0x12, file, 0)
    ctypes.string_at(address, 1)
time.sleep(8)
`;

test.each([
  ["sockets", FILL_SOCKETS],
  ["page tables", FILL_PAGE_TABLES],
  ["TCP buffers", FILL_CONNECTIONS],
])("memory, taken as %s of an ordinary user's service without cgroups, ends the execution", async (_name, code) => {
  const { lines } = startService(code, isRoot ? UNPRIVILEGED : undefined);
  const printed: string[] = [];
  for await (const line of lines) printed.push(line);
  expect(JSON.parse(printed.at(-1) ?? "").result.outcome).toMatchObject({
    status: "out_of_memory",
    message: "The code needed more memory than limits.memory (256 MiB).",
  });
});

test("sockets, asked for larger buffers in an ordinary user's service without cgroups, keep those they have", async () => {
  const code = `
import socket
one = socket.socketpair()[0]
before = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
print("same", one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == before)
`;
  const { lines } = startService(code, isRoot ? UNPRIVILEGED : undefined);
  expect(JSON.parse((await lines.next()).value ?? "")).toMatchObject({ text: "same True" });
});

test("scratch files, of an ordinary user's service without cgroups, count as memory and are counted", async () => {
  const user = isRoot ? UNPRIVILEGED : undefined;
  const fill =
    "import time\nhold = bytearray(b'x') * (200 << 20)\nfor f in ('/tmp', '/dev/shm', '/app'): open(f + '/x', 'wb').write(b'x' * (30 << 20))\ntime.sleep(15)";
  const { lines } = startService(fill, user);
  const printed: string[] = [];
  for await (const line of lines) printed.push(line);
  expect(JSON.parse(printed.at(-1) ?? "").result.outcome.status).toBe("out_of_memory");
});

test("cgroups, after all of this, are not left behind", async () => {
  await bench.close();
  bench = await openBench();
  const mine = ["memory", "pids", "cpu"].flatMap((controller) => {
    const folder = `/sys/fs/cgroup/${controller}`;
    return existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith(`treadle-${process.pid}-`)) : [];
  });
  // Two are prestarted for the next execution at most.
  expect(new Set(mine).size).toBeLessThanOrEqual(2);
});
