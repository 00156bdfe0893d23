import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { attack, expectAllRefused } from "./attack.ts";
import { type Bench, jsonOf, openBench } from "./harness.ts";

const SECRET = "planted-secret-4711";
let bench: Bench;
let planted: string;
const servers: Server[] = [];
let port = 0;
const socketName = `treadle-test-${process.pid}`;

beforeAll(async () => {
  process.env.PLANTED_SECRET = SECRET;
  bench = await openBench();
  planted = join(bench.root, "planted");
  mkdirSync(planted);
  writeFileSync(join(planted, "secret.txt"), SECRET);
  chmodSync(planted, 0o777);
  chmodSync(join(planted, "secret.txt"), 0o666);
  const listen = (where: object) =>
    new Promise<Server>((resolve) => {
      const server = createServer((client) => client.end(SECRET)).listen(where, () => resolve(server));
      servers.push(server);
    });
  port = ((await listen({ host: "0.0.0.0", port: 0 })).address() as AddressInfo).port;
  await listen({ path: join(planted, "socket") });
  chmodSync(join(planted, "socket"), 0o777);
  await listen({ path: `\0${socketName}` });
});
afterAll(async () => {
  delete process.env.PLANTED_SECRET;
  for (const server of servers) server.close();
  await bench.close();
});

test("self-test, of a sandbox as it should be, finds nothing", async () => {
  expect(await bench.selfTest()).toEqual([]);
});

test("files of the host, world-readable or not, cannot be read", async () => {
  const { tried } = await attack(
    bench,
    `
for path in (planted, planted + "/secret.txt", "/proc/1/root" + planted, "/proc/self/root" + planted, "/../../.." + planted, "/proc/1/cwd" + planted,
             "/etc/shadow", "/root", "/home", "/var/run/docker.sock", "/sys/kernel", "/dev/mem", "/dev/kvm", "/dev/net/tun", "/dev/vda", "/dev/sda"):
    attempt("list " + path, lambda: os.listdir(path))
    attempt("open " + path, lambda: open(path, "rb").read(20))
`,
    { planted },
  );
  expectAllRefused(tried);
});

test("environment of the service, wherever looked for, is not there", async () => {
  const { tried, ran } = await attack(
    bench,
    `
attempt("init memory", lambda: open("/proc/1/mem", "rb").read(1))
for fd in os.listdir("/proc/1/fd"):
    attempt("init descriptor " + fd, lambda: os.listdir("/proc/1/fd/" + fd))
environ = "\\n".join(open("/proc/%s/environ" % pid).read() for pid in os.listdir("/proc") if pid.isdigit())
open("outputs/environ.txt", "w").write(environ + repr(os.environ) + subprocess.run(["env"], capture_output=True, text=True).stdout)
`,
  );
  expectAllRefused(tried);
  expect(ran.texts.environ).toContain("HOME");
  expect(ran.texts.environ).not.toContain(SECRET);
  expect(ran.texts.environ).not.toContain("NODE_OPTIONS");
});

test("other processes, of the host and of other executions, cannot be seen or signalled", async () => {
  const other = bench.run({ code: "import time\ntime.sleep(1.5)" });
  const ran = await bench.run({
    code: `
import os, signal
def main():
    seen = sorted(int(pid) for pid in os.listdir("/proc") if pid.isdigit())
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV):
        for pid in (1, ${process.pid}):
            try: os.kill(pid, number)
            except OSError: pass
    try: os.kill(-1, signal.SIGKILL)
    except OSError: pass
    return {"seen": len(seen), "own": os.getpid() in seen, "init": 1 in seen}
`,
  });
  expect(ran.outcome.status).toBe("success");
  expect([jsonOf(ran, "seen"), jsonOf(ran, "own"), jsonOf(ran, "init")]).toEqual([2, true, true]);
  expect((await other).outcome.status).toBe("success");
});

test("network, of host and neighbours, cannot be reached, and one's own loopback works", async () => {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
  const { tried } = await attack(
    bench,
    `
for address in ["127.0.0.1", "0.0.0.0", "localhost", "169.254.169.254", "10.0.2.2", "192.0.2.1"] + addresses.split():
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    attempt(address, lambda: connect(family, (address, port)))
attempt("mapped", lambda: connect(socket.AF_INET6, ("::ffff:127.0.0.1", port)))
attempt("IPv6", lambda: connect(socket.AF_INET6, ("::1", port)))
attempt("unix socket", lambda: connect(socket.AF_UNIX, planted + "/socket"))
attempt("abstract socket", lambda: connect(socket.AF_UNIX, "\\0" + name))
attempt("name", lambda: socket.gethostbyname("example.org"))
attempt("route", lambda: subprocess.run(["ip", "link", "set", "lo", "down"], check=True))
with socket.create_server(("127.0.0.1", 0)) as server:
    with socket.create_connection(server.getsockname()): open("outputs/own", "w").write(str(len(socket.if_nameindex())))
`,
    { planted, port, name: socketName, addresses: addresses.join(" ") },
  );
  expectAllRefused(tried);
});

test("places outside of the scratch folders, looked for everywhere, cannot be written", async () => {
  const { tried, ran } = await attack(
    bench,
    `
targets = {line.split()[4] for line in open("/proc/self/mountinfo")} | {"/", "/usr/bin", "/etc", "/runner/modules", "/commit", "/dev", "/run", "/var", "/sys", "/opt", "/proc/sys/kernel"}
for folder in sorted(targets - {"/tmp", "/app", "/dev/shm", "/app/outputs", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}):
    attempt("new in " + folder, lambda: open(folder + "/mark" if os.path.isdir(folder) else folder, "a"))
for path in ("/commit/main.py", "/runner/main.pyc", "/etc/ld.so.preload", "/usr/lib/python3/sitecustomize.py"):
    attempt("over " + path, lambda: open(path, "r+" if os.path.exists(path) else "w"))
for path, text in (("kernel/core_pattern", "|/tmp/x"), ("kernel/sysrq", "1"), ("net/ipv4/ip_forward", "1"), ("user/max_user_namespaces", "99"), ("vm/drop_caches", "3")):
    attempt(path, lambda: open("/proc/sys/" + path, "w").write(text))
attempt("sysrq", lambda: open("/proc/sysrq-trigger", "w").write("b"))
attempt("device", lambda: os.mknod("/tmp/device", 0o60600, os.makedev(254, 0)))
open("outputs/scratch.json", "w").write(json.dumps({p: [os.statvfs(p).f_blocks * os.statvfs(p).f_frsize] for p in ("/tmp", "/app", "/dev/shm")}))
`,
  );
  expectAllRefused(tried);
  expect(jsonOf(ran, "scratch")).toEqual(
    Object.fromEntries(["/tmp", "/app", "/dev/shm"].map((path) => [path, [32 * 1024 * 1024]])),
  );
});

test("marks, of one execution, are not there for the next", async () => {
  const code = `
import os, glob
def main():
    found = [p for p in ("/tmp/mark", "/app/mark", "/dev/shm/mark", "/app/outputs/mark") if os.path.exists(p)]
    for p in ("/tmp/mark", "/app/mark", "/dev/shm/mark", "/app/outputs/mark"): open(p, "w").write("x")
    return found
`;
  await bench.run({ code });
  expect(jsonOf(await bench.run({ code }))).toEqual([]);
});

test("descriptors, inherited by user code, are its own streams and its control channel", async () => {
  const ran = await bench.run({
    code: "import os\ndef main():\n    kinds = {}\n    for fd in os.listdir('/proc/self/fd'):\n        try: kinds[fd] = os.readlink('/proc/self/fd/' + fd).split(':')[0]\n        except OSError: pass\n    return {'result': kinds}",
  });
  expect(jsonOf(ran)).toEqual({ "0": "/dev/null", "1": "pipe", "2": "pipe", "3": "socket" });
});

test("host paths, seen in mount tables, name no customer and hold nothing but what is mounted", async () => {
  const ran = await bench.run({ code: "def main():\n    return open('/proc/self/mountinfo').read()" });
  const mounts = (ran.texts.result ?? "").split("\n").filter(Boolean);
  expect(mounts.filter((line) => line.split(" ")[4] === "/")).toHaveLength(1);
  expect(mounts.length).toBeLessThan(25);
});

test("outputs, as links, pipes and sockets, are left out without a hang", async () => {
  writeFileSync(join(bench.root, "target.txt"), SECRET, { mode: 0o644 });
  const { ran } = await attack(
    bench,
    `
out = "/app/outputs/"
open(out + "fine.txt", "w").write("fine")
os.symlink("/etc/passwd", out + "absolute"); os.symlink("../../../target.txt", out + "relative"); os.symlink("/", out + "folder"); os.symlink(out + "fine.txt", out + "own")
os.mkfifo(out + "fifo"); socket.socket(socket.AF_UNIX).bind(out + "socket")
open(out + "once", "w").write("1"); os.link(out + "once", out + "twice")
os.mkdir(out + "locked"); open(out + "locked/in.txt", "w").write("in"); os.chmod(out + "locked/in.txt", 0); os.chmod(out + "locked", 0)
os.chmod(out + "fine.txt", 0o4777)
`,
  );
  expect(ran.texts).toEqual({ fine: "fine", "locked/in.txt": "in", tried: "{}" });
  const notes = ran.log
    .filter(({ stream }) => stream === "system")
    .map(({ text }) => text.replace(/^Left out of the outputs: /, ""));
  expect(notes.toSorted()).toEqual(
    [
      "absolute: a symbolic link.",
      "fifo: not a plain file.",
      "folder: a symbolic link.",
      "once: a hard link.",
      "own: a symbolic link.",
      "relative: a symbolic link.",
      "socket: not a plain file.",
      "twice: a hard link.",
    ].toSorted(),
  );
});

test("outputs folder, replaced by a link, cannot be", async () => {
  const { tried, ran } = await attack(
    bench,
    `
attempt("remove", lambda: os.rmdir("/app/outputs"))
attempt("rename", lambda: os.rename("/app/outputs", "/app/elsewhere"))
attempt("link", lambda: os.symlink("/etc", "/app/outputs"))
`,
  );
  expectAllRefused(tried);
  expect(ran.outputs.map(({ name }) => name)).toEqual(["tried"]);
});

test("planted files, after everything, are as they were", () => {
  expect(readFileSync(join(planted, "secret.txt"), "utf8")).toBe(SECRET);
  expect(readdirSync(planted).toSorted()).toEqual(["secret.txt", "socket"]);
});
