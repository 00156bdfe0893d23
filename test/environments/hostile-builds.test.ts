import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { aFolder, onlyFrom, RUN_AS, theRequirements } from "./machine.ts";
import { lockSource, SOURCE, someBuilders, users } from "./source-builds.ts";
import { anIndexOfSources, aSource } from "./source-index.ts";

const servers: Server[] = [];
afterAll(() => servers.forEach((server) => server.close()));

describe("hostile builds", () => {
  /** What a build finds out is in its output, which is the only way out of it. */
  async function tryFrom(code: string, files: Record<string, string> = {}) {
    const index = anIndexOfSources([aSource("evil", { code: `${code}\nraise SystemExit("end of evil")`, files })]);
    const environments = someBuilders({
      env: { ...onlyFrom(index), UV_INDEX_MINE_PASSWORD: "s3cret", HTTPS_PROXY: "http://me:s3cret@127.0.0.1:9" },
    });
    const result = await environments.lock(theRequirements("evil"), SOURCE);
    expect(result.ok).toBe(false);
    return { log: result.log, environments };
  }

  test("lock, a setup.py that reads, writes and calls home, reaches nothing of the host", async () => {
    const open = aFolder();
    chmodSync(open, 0o777);
    const secret = join(aFolder(), "secret");
    writeFileSync(secret, "host secret", { mode: 0o644 });
    let calls = 0;
    const server = createServer((socket) => void ((calls += 1), socket.destroy()));
    servers.push(server);
    const port = await new Promise<number>((resolve) =>
      server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port)),
    );
    const { log } = await tryFrom(`
import os, socket
def attempt(what, act):
    try:
        print(what, "WORKED", act(), flush=True)
    except BaseException as error:
        print(what, "refused", type(error).__name__, flush=True)
attempt("read", lambda: open(${JSON.stringify(secret)}).read())
attempt("passwd", lambda: open("/etc/passwd").read())
attempt("write", lambda: open(${JSON.stringify(join(open, "written"))}, "w").write("x"))
attempt("usr", lambda: open("/usr/written", "w").write("x"))
attempt("tools", lambda: open("/tools/setuptools/__init__.py", "w").write("x"))
attempt("connect", lambda: socket.create_connection(("127.0.0.1", ${port}), 2))
print("\\x1b]0;evil\\x07\\x9b2Jtitle", flush=True)
attempt("unshare", lambda: os.unshare(0x10000000) if hasattr(os, "unshare") else __import__("ctypes").CDLL(None).unshare(0x10000000) and [][0])
attempt("keys", lambda: __import__("ctypes").CDLL(None, use_errno=True).syscall(250, 0, 0) < 0 and [][0])
print("uid", os.getuid(), "others", [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) > 2 and int(pid) != os.getpid()])
print("env", sorted(os.environ), flush=True)
print("seccomp", [line for line in open("/proc/self/status") if line.startswith(("Seccomp:", "CapEff", "NoNewPrivs"))], flush=True)
`);
    for (const what of ["read", "passwd", "write", "usr", "tools", "connect", "unshare", "keys"])
      expect(log).toContain(`${what} refused`);
    expect(log).not.toMatch(/WORKED|host secret|s3cret/);
    expect(log).toMatch(/uid (?!0 )\d+ others \[\]/);
    expect(log).toMatch(/env \[(?!.*(?:UV_|PROXY))/);
    expect(log).toMatch(/NoNewPrivs:\\t1.*Seccomp:\\t2/);
    expect(log).toContain("end of evil");
    expect(log).toContain("]0;evil2Jtitle\n");
    expect(calls).toBe(0);
    expect(readdirSync(open)).toEqual([]);
  });

  test("lock, code in every place where it could begin, is never run with the network", async () => {
    let calls = 0;
    const server = createServer((socket) => void ((calls += 1), socket.destroy()));
    servers.push(server);
    const port = await new Promise<number>((resolve) =>
      server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port)),
    );
    const code = `import socket; socket.create_connection(("127.0.0.1", ${port}), 2)\n`;
    const trap = `try:\n    ${code}except Exception: pass\n`;
    const project = "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n";
    const index = anIndexOfSources([
      {
        name: "evil",
        files: {
          "pyproject.toml": project,
          "backend.py": `${trap}raise SystemExit("backend was run")\n`,
          "encodings/__init__.py": trap,
          "sitecustomize.py": trap,
          "usercustomize.py": trap,
          "setup.py": trap,
        },
      },
    ]);
    const result = await someBuilders({ env: onlyFrom(index) }).lock(theRequirements("evil"), SOURCE);
    expect(result).toMatchObject({ ok: false, log: expect.stringContaining("backend was run") });
    expect(calls).toBe(0);
  });

  test("lock, a build that leaves links for what it should leave, gives nothing of the host away", async () => {
    const secret = join(aFolder(), "secret");
    writeFileSync(secret, "Requires-Dist: host-secret\n", { mode: 0o644 });
    const { log } = await tryFrom(`
import os, sys
os.symlink(${JSON.stringify(secret)}, "/out/METADATA")
os._exit(0)
`);
    expect(log).not.toContain("host-secret");
    const index = anIndexOfSources([
      aSource("evil", {
        code: "import os; os.symlink('/etc/passwd', '/out/evil-1.0-py3-none-any.whl') if not os.path.exists('/build-tmp/metadata') else None; os.path.exists('/build-tmp/metadata') or os._exit(0)",
      }),
    ]);
    const environments = someBuilders({ env: onlyFrom(index) });
    const { key, lock } = await lockSource(environments, "evil");
    await expect(environments.ensure(key, lock, SOURCE)).rejects.toMatchObject({ kind: "refused" });
    expect(existsSync("/etc/passwd")).toBe(true);
  });

  test("ensure, a build that leaves another package's wheel, is refused", async () => {
    const index = anIndexOfSources([
      aSource("evil", {
        code: "import os\nif not os.path.exists('/build-tmp/metadata'):\n    open('/out/victim-1.0-py3-none-any.whl', 'w'); os._exit(0)",
      }),
    ]);
    const environments = someBuilders({ env: onlyFrom(index) });
    const { key, lock } = await lockSource(environments, "evil");
    await expect(environments.ensure(key, lock, SOURCE)).rejects.toThrow(/left no wheel of that name/);
  });

  /** Says what a pipe has, in bytes, that is made now: less where its user has too many pages in pipes already. */
  const LOOK = "import fcntl, os; print(fcntl.fcntl(os.pipe()[0], 1032))";
  test("lock, a build that takes all pages of pipes that a user may have, leaves the service's alone", async () => {
    const index = anIndexOfSources([
      aSource("evil", {
        code: `
import os, time
for _ in range(12):
    if os.fork() == 0:
        pipes = [os.pipe() for _ in range(110)]
        time.sleep(4)
        os._exit(0)
time.sleep(1.5)
print("has", flush=True)
time.sleep(2.5)`,
      }),
    ]);
    for (const own of users === undefined ? [] : [users, undefined]) {
      const { lock } = someBuilders({ env: onlyFrom(index), users: own });
      let building: ReturnType<typeof lock> | undefined;
      await new Promise<void>((resolve, reject) => {
        const report = (line: string) => void (line === "has" && resolve());
        building = lock(theRequirements("evil"), { ...SOURCE, report });
        building.then(() => resolve(), reject);
      });
      const left = execFileSync("python3", ["-c", LOOK], { encoding: "utf8", cwd: "/", ...RUN_AS });
      // And so it is the user that does it, the second time around.
      if (own === undefined) expect(left).not.toBe("65536\n");
      else expect(left).toBe("65536\n");
      expect((await building)?.ok).toBe(true);
    }
  });

  test("lock, a build that hides what it writes in a folder of its own, is measured all the same", async () => {
    const index = anIndexOfSources([
      aSource("evil", {
        code: `
import os, tempfile, time
folder = tempfile.mkdtemp()
with open(folder + "/large", "wb") as file: file.truncate(40_000_000)
os.chmod(folder, 0)
time.sleep(60)`,
      }),
    ]);
    const environments = someBuilders({ env: onlyFrom(index), limits: { bytesMax: 20_000_000, timeoutMs: 40_000 } });
    await expect(environments.lock(theRequirements("evil"), SOURCE)).rejects.toMatchObject({ kind: "too_large" });
    expect(readdirSync(join(environments.dir, ".building"))).toEqual([]);
  });

  test("lock, a build that never ends or forks without end, is stopped at its limits and leaves no process", async () => {
    const index = anIndexOfSources([
      aSource("evil", {
        code: "import os, time\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        time.sleep(300.7719)",
      }),
    ]);
    const environments = someBuilders({ env: onlyFrom(index), limits: { timeoutMs: 6_000 } });
    await expect(environments.lock(theRequirements("evil"), SOURCE)).rejects.toMatchObject({ kind: "timed_out" });
    const lines = readdirSync("/proc")
      .filter((pid) => /^\d+$/.test(pid))
      .map((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, "utf8");
        } catch {
          return "";
        }
      });
    // Another test may build something at the same time.
    expect(lines.filter((line) => line.includes(environments.dir))).toEqual([]);
    expect(readdirSync(join(environments.dir, ".building"))).toEqual([]);
  });
});
