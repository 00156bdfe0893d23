import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import type { Environments } from "../../../activities/environments/builder.ts";
import { keyOf } from "../../../activities/environments/lock.ts";
import { aFolder, findUv, onlyFrom, PYTHON, runWith, someEnvironments, theRequirements } from "./machine.ts";
import { anIndexOfSources, aSource } from "./source-index.ts";

const SOURCE = { build: "source" } as const;
const servers: Server[] = [];
afterAll(() => servers.forEach((server) => server.close()));

async function lockSource(environments: Environments, ...lines: string[]) {
  const result = await environments.lock(theRequirements(...lines), SOURCE);
  if (!result.ok) throw new Error(`${JSON.stringify(result.problems)}\n${result.log}`);
  return result;
}

describe("build: source", () => {
  test("lock and ensure, packages that only have their source, build them and what they require", async () => {
    const index = anIndexOfSources(
      [aSource("alpha", { requires: ["beta>=1", "gamma"] }), aSource("beta")],
      [{ name: "gamma", files: { "gamma.py": "" } }],
    );
    const environments = someEnvironments({ env: onlyFrom(index) });
    const { key, lock, log } = await lockSource(environments, "alpha");
    expect(lock).toMatch(
      /^alpha==1\.0 \\\n {4}--hash=sha256:\w{64}\nbeta==1\.0 \\\n {4}--hash=sha256:\w{64}\ngamma==1\.0 \\\n/,
    );
    expect(key).toBe(keyOf(PYTHON, lock, "source"));
    expect(key).not.toBe(keyOf(PYTHON, lock));
    expect(log).toContain("Building alpha==1.0 in a sandbox without network…");
    const path = await environments.ensure(key, lock, SOURCE);
    expect(runWith(path, ["python3", "-c", "import alpha, beta, gamma; print(alpha.NAME, beta.NAME)"])).toBe(
      "alpha beta\n",
    );
    expect(await environments.readLog(key)).toMatch(
      /(?=[^]*Building alpha==1\.0)(?=[^]*Building beta==1\.0)[^]*The environment is ready/,
    );
    expect(readdirSync(join(environments.dir, ".building"))).toEqual([]);
  });

  test("lock, a package that has a wheel too, takes the wheel and builds nothing", async () => {
    const index = anIndexOfSources([aSource("alpha", { code: "raise SystemExit('built')" })], [{ name: "alpha" }]);
    const { log } = await lockSource(someEnvironments({ env: onlyFrom(index) }), "alpha");
    expect(log).not.toContain("Building");
  });

  test("lock and ensure, a backend in the source itself that asks for more, gets it", async () => {
    const index = anIndexOfSources([aSource("alpha", { files: { asks: "" } })]);
    const environments = someEnvironments({ env: onlyFrom(index) });
    const { key, lock } = await lockSource(environments, "alpha");
    await environments.ensure(key, lock, SOURCE);
  });

  test("lock, the build of a required package fails, is a problem at the requirement with the build's own words", async () => {
    const index = anIndexOfSources([aSource("alpha", { code: "raise RuntimeError('the compiler is missing')" })]);
    const result = await someEnvironments({ env: onlyFrom(index) }).lock(
      theRequirements("setuptools", "", "alpha"),
      SOURCE,
    );
    expect(result).toMatchObject({
      ok: false,
      problems: [
        {
          line: 3,
          message: expect.stringMatching(/alpha==1\.0 could not be built from its source.*the compiler is missing/),
        },
      ],
      log: expect.stringContaining("the compiler is missing"),
    });
  });

  test.each([
    [
      "requires = ['evil @ http://127.0.0.1:9/evil.whl']\nbuild-backend = 'x'",
      /build-system.requires cannot be used: Packages by URL/,
    ],
    [
      "requires = ['evil @ file:///etc/passwd']\nbuild-backend = 'x'",
      /build-system.requires cannot be used: Packages by URL/,
    ],
    ["requires = ['-r /etc/passwd']\nbuild-backend = 'x'", /cannot be used: Other requirement files/],
    ["requires = ['unknown']\nbuild-backend = 'x'", /unknown.*What a build requires has to be there as wheels/],
    ["requires = ['sourceonly']\nbuild-backend = 'x'", /sourceonly.*What a build requires has to be there as wheels/],
    ["requires = []\nbuild-backend = 'x;import os'", /build-backend is not understood/],
  ])("lock, a source whose build has %j, is refused with the reason", async (system, message) => {
    const index = anIndexOfSources([
      { name: "alpha", files: { "pyproject.toml": `[build-system]\n${system}\n` } },
      aSource("sourceonly"),
    ]);
    const result = await someEnvironments({ env: onlyFrom(index) }).lock(theRequirements("alpha"), SOURCE);
    expect(result).toMatchObject({ ok: false, problems: [{ line: 1, message: expect.stringMatching(message) }] });
  });

  test("lock, a source that says it needs a package by URL or path, is refused", async () => {
    for (const wanted of ["evil @ http://127.0.0.1:9/x.whl", "evil @ file:///etc/passwd"]) {
      const index = anIndexOfSources([aSource("alpha", { requires: [wanted] })]);
      const result = await someEnvironments({ env: onlyFrom(index) }).lock(theRequirements("alpha"), SOURCE);
      expect(result).toMatchObject({
        ok: false,
        problems: [{ message: expect.stringMatching(/alpha==1\.0 asks for .*by URL/) }],
      });
    }
  });

  test("ensure, a source that is not the one that was locked, is refused and not run", async () => {
    const index = anIndexOfSources([aSource("alpha")]);
    const { lock } = await lockSource(someEnvironments({ env: onlyFrom(index) }), "alpha");
    const forged = lock.replace(/sha256:\w{64}/, `sha256:${"0".repeat(64)}`);
    const environments = someEnvironments({ env: onlyFrom(index) });
    await expect(environments.ensure(keyOf(PYTHON, forged, "source"), forged, SOURCE)).rejects.toMatchObject({
      message: expect.stringMatching(/not the one that was locked/),
      log: expect.not.stringContaining("Building alpha"),
    });
  });

  test("lock, by pip or without sandboxes, says that it is not possible and why", async () => {
    const index = anIndexOfSources([aSource("alpha")]);
    const byPip = someEnvironments({ env: onlyFrom(index), uv: undefined });
    await expect(byPip.lock(theRequirements("alpha"), SOURCE)).rejects.toThrow(/build: source needs uv.*install uv/);
    const open = someEnvironments({ env: onlyFrom(index), isolation: "none" });
    await expect(open.lock(theRequirements("alpha"), SOURCE)).rejects.toThrow(/not possible.*sandboxes.*switched off/);
  });

  test("lock, without build: source, refuses the same package and says how to allow it", async () => {
    const index = anIndexOfSources([aSource("alpha")]);
    for (const uv of [findUv(), undefined]) {
      const result = await someEnvironments({ env: onlyFrom(index), uv }).lock(theRequirements("alpha"));
      expect(result).toMatchObject({
        ok: false,
        problems: [
          { line: 1, message: expect.stringMatching(/Only wheels are installed.*say build: source in config.yaml/) },
        ],
      });
    }
  });
});

describe("hostile builds", () => {
  /** What a build finds out is in its output, which is the only way out of it. */
  async function tryFrom(code: string, files: Record<string, string> = {}) {
    const index = anIndexOfSources([aSource("evil", { code: `${code}\nraise SystemExit("end of evil")`, files })]);
    const environments = someEnvironments({
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
    const result = await someEnvironments({ env: onlyFrom(index) }).lock(theRequirements("evil"), SOURCE);
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
    const environments = someEnvironments({ env: onlyFrom(index) });
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
    const environments = someEnvironments({ env: onlyFrom(index) });
    const { key, lock } = await lockSource(environments, "evil");
    await expect(environments.ensure(key, lock, SOURCE)).rejects.toThrow(/left no wheel of that name/);
  });

  test("lock, a build that never ends or forks without end, is stopped at its limits and leaves no process", async () => {
    const index = anIndexOfSources([
      aSource("evil", {
        code: "import os, time\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        time.sleep(300.7719)",
      }),
    ]);
    const environments = someEnvironments({ env: onlyFrom(index), limits: { timeoutMs: 6_000 } });
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
    expect(lines.filter((line) => line.includes("RLIMIT_") && line.includes("prepare_metadata"))).toEqual([]);
    expect(readdirSync(join(environments.dir, ".building"))).toEqual([]);
  });
});
