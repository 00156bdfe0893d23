import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { lstatSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createEnvironments, EnvironmentError } from "../../environments/builder.ts";
import { keyOf } from "../../environments/lock.ts";
import { aFolder, anIndex, findUv, lockOf, onlyFrom, PYTHON, RUN_AS, runWith, someEnvironments } from "./machine.ts";

const MINUTE_MS = 60_000;
const children: { kill: (signal: "SIGKILL") => boolean }[] = [];
afterAll(() => children.forEach((child) => child.kill("SIGKILL")));

async function failureOf(promise: Promise<unknown>): Promise<EnvironmentError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof EnvironmentError)) throw new Error(`no EnvironmentError, but ${String(error)}`);
  return error;
}

/** A uv that sleeps where it should do the step that has this option. */
function aSlowUv(option: string, seconds: string): string {
  const path = join(aFolder(), "uv");
  writeFileSync(path, `#!/bin/sh\ncase "$*" in *${option}*) sleep ${seconds};; esac\nexec ${findUv().path} "$@"\n`, {
    mode: 0o755,
  });
  return path;
}

function isRunning(commandLine: string): boolean {
  return execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }).split("\n").includes(commandLine);
}

/** Every path below a folder with its mode; links are not followed. */
function modesOf(folder: string): { path: string; mode: number; uid: number }[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((path) => ({ path, stats: lstatSync(join(folder, path)) }))
    .filter(({ stats }) => !stats.isSymbolicLink())
    .map(({ path, stats }) => ({ path, mode: stats.mode & 0o7777, uid: stats.uid }));
}

const HELLO = {
  name: "hello",
  files: {
    "hello.py": "import sys\ndef main(): print('hi from', sys.prefix)\n",
    "broken.py": "print 'two'\n",
    "suite/tests/common.py": "",
    "suite/tests/test_hello.py": "",
  },
  scripts: { greet: "hello:main" },
};

describe.each(["uv", "pip"])("%s", (tool) => {
  const uv = tool === "uv" ? findUv() : undefined;
  let index: string;
  beforeAll(() => {
    index = anIndex(HELLO, { name: "other", requires: ["hello"] });
  });

  test("ensure, a new lock, builds a compiled, read-only environment that works in a sandbox", async () => {
    const environments = someEnvironments({ uv, env: onlyFrom(index) });
    const { key, lock } = await lockOf(environments, "other");
    const lines: string[] = [];
    const path = await environments.ensure(key, lock, { report: (line) => lines.push(line) });
    expect(path).toBe(join(environments.dir, key));
    expect(runWith(path, ["greet"])).toBe("hi from /env\n");
    expect(runWith(path, ["python3", "-c", "import hello; print(hello.__file__, hello.__cached__)"])).toMatch(
      /^\/env\/lib\/python3\.\d+\/site-packages\/hello\.py \/env\/lib\/.*\/hello\.cpython-\d+\.pyc\n$/,
    );
    expect(statSync(join(path, "site-packages/hello.py")).isFile()).toBe(true);
    const compiled = readdirSync(join(path, "site-packages/__pycache__")).find((name) => name.startsWith("hello"));
    // Bit 0: by hash; bit 1 clear: never checked against the source.
    expect(readFileSync(join(path, "site-packages/__pycache__", compiled ?? "")).readUInt32LE(4)).toBe(1);
    const ofTests = readdirSync(join(path, "site-packages/suite/tests/__pycache__")).map((name) => name.split(".")[0]);
    expect(ofTests).toEqual(["common"]);
    const wrong = modesOf(path).filter(
      ({ mode, uid }) => (mode & 0o7222) !== 0 || (mode & 0o444) !== 0o444 || uid !== process.getuid?.(),
    );
    expect(wrong).toEqual([]);
    expect(statSync(path).mode & 0o777).toBe(0o555);
    expect(lines.join("\n")).toMatch(
      new RegExp(`${tool} [\\d.]+[^]*Downloading…[^]*Installing[^]*The environment is ready`),
    );
    expect(await environments.readLog(key)).toContain("The environment is ready.");
    expect(readdirSync(join(environments.dir, ".building"))).toEqual([]);
  });

  test("ensure, a hash that is not the package's, refuses and leaves nothing", async () => {
    const environments = someEnvironments({ uv, env: onlyFrom(index) });
    const { lock } = await lockOf(environments, "hello");
    const forged = lock.replace(/sha256:\w{64}/, `sha256:${"0".repeat(64)}`);
    const key = keyOf(PYTHON, forged);
    const error = await failureOf(environments.ensure(key, forged));
    expect(error).toMatchObject({
      kind: "refused",
      message: expect.stringMatching(/not the one that was locked/),
      log: expect.stringMatching(/hash/i),
    });
    expect(readdirSync(environments.dir).sort()).toEqual([".building", `${key}.log`]);
    expect(readdirSync(join(environments.dir, ".building"))).toEqual([]);
  });

  test("ensure, packages that run code wherever Python lets them, never run it while building", async () => {
    const code = "open('/env/sprung', 'w').write('x')\n";
    const evil = anIndex({
      name: "evil",
      files: {
        "evil.pth": `import sys; exec(${JSON.stringify(code)})\n`,
        "sitecustomize.py": code,
        "evil.py": code,
        "pip.py": code,
        "compileall.py": code,
      },
    });
    const environments = someEnvironments({ uv, env: onlyFrom(evil) });
    const { key, lock } = await lockOf(environments, "evil");
    const path = await environments.ensure(key, lock);
    expect(readdirSync(path)).not.toContain("sprung");
    expect(readdirSync(join(path, "site-packages"))).toContain("evil.pth");
  });
});

describe("limits and races", () => {
  const env = onlyFrom(anIndex(HELLO, { name: "big", files: { "data.big": "0".repeat(1_000) }, times: 60_000 }));

  test("ensure, the same key ten times at once in two services, builds once", async () => {
    const one = someEnvironments({ env });
    const two = someEnvironments({ env, dir: one.dir });
    const { key, lock } = await lockOf(one, "hello");
    const followed: string[] = [];
    const calls = [one, two].flatMap((environments) =>
      Array.from({ length: 5 }, (_, index) =>
        environments.ensure(key, lock, { report: (line) => followed.push(`${index}: ${line}`) }),
      ),
    );
    expect(new Set(await Promise.all(calls))).toEqual(new Set([join(one.dir, key)]));
    expect([...one.builds, ...two.builds]).toEqual([key]);
    for (const index of [0, 4]) expect(followed).toContain(`${index}: The environment is ready.`);
    await two.ensure(key, lock);
    expect([...one.builds, ...two.builds]).toEqual([key]);
  });

  test("ensure, after a builder was killed in the middle, builds without waiting and removes what was left", async () => {
    const stuck = someEnvironments({ env });
    const { key, lock } = await lockOf(stuck, "hello");
    // A uv that never ends where it should install.
    const slow = aSlowUv("--offline", "300.0815");
    const loader = new URL("../setup/servers/typescript-loader.mjs", import.meta.url).href;
    const program = new URL("build-and-wait.ts", import.meta.url).pathname;
    const settings = {
      dir: stuck.dir,
      python: PYTHON,
      uv: { path: slow },
      bwrapPath: "bwrap",
      isolation: "bubblewrap",
      runAs: RUN_AS,
      env,
    };
    const child = spawn(process.execPath, ["--import", loader, program, JSON.stringify({ settings, key, lock })], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(child);
    for await (const chunk of child.stdout) if (String(chunk).includes("Installing")) break;
    const isBuilding = () => isRunning("sleep 300.0815");
    while (!isBuilding()) await sleep(50);
    expect(readdirSync(join(stuck.dir, ".building"))).toContain(`${key}.lock`);
    expect(readdirSync(stuck.dir)).not.toContain(key);
    child.kill("SIGKILL");
    await once(child, "exit"); // Until then it is alive, and what it has is its own.
    const startedAtMs = Date.now();
    const next = someEnvironments({ env, dir: stuck.dir });
    const path = await next.ensure(key, lock);
    expect(Date.now() - startedAtMs).toBeLessThan(15_000);
    expect(runWith(path, ["greet"])).toBe("hi from /env\n");
    expect(next.builds).toEqual([key]);
    expect(readdirSync(join(stuck.dir, ".building"))).toEqual([]);
    expect(isBuilding()).toBe(false);
  });

  test("ensure, packages larger than allowed once unpacked, stops and says the limit", async () => {
    const { key, lock } = await lockOf(someEnvironments({ env }), "big");
    const environments = someEnvironments({ env, limits: { bytesMax: 20 * 1024 ** 2 } });
    const error = await failureOf(environments.ensure(key, lock));
    expect(error).toMatchObject({ kind: "too_large", message: expect.stringMatching(/more than 20 MiB/) });
    expect(readdirSync(environments.dir)).not.toContain(key);
    expect(readdirSync(join(environments.dir, ".building"))).toEqual([]);
  });

  test("ensure, on a disk with less free than a build must leave, stops and says so", async () => {
    const { key, lock } = await lockOf(someEnvironments({ env }), "big");
    const limits = { freeBytesMin: Number.POSITIVE_INFINITY, freeShareMin: 1 };
    const environments = someEnvironments({ env, limits });
    expect(await failureOf(environments.ensure(key, lock))).toMatchObject({ kind: "disk_full" });
    expect(readdirSync(join(environments.dir, ".building"))).toEqual([]);
  });

  test("ensure, stopped while a sandbox is only being made, ends what would wait in it for ever", async () => {
    const { key, lock } = await lockOf(someEnvironments({ env }), "hello");
    const bwrapPath = join(aFolder(), "bwrap");
    writeFileSync(bwrapPath, "#!/bin/sh\nsleep 300.2931 & wait\n", { mode: 0o755 });
    const environments = someEnvironments({ env, bwrapPath, limits: { timeoutMs: 1_000 } });
    expect(await failureOf(environments.ensure(key, lock))).toMatchObject({ kind: "timed_out" });
    expect(isRunning("sleep 300.2931")).toBe(false);
  });

  test("ensure, an installer that does not end, is stopped at the time limit", async () => {
    const slow = aSlowUv("--target", "300.4711");
    const { key, lock } = await lockOf(someEnvironments({ env }), "hello");
    const environments = someEnvironments({ env, uv: { path: slow }, limits: { timeoutMs: 3_000 } });
    const error = await failureOf(environments.ensure(key, lock));
    expect(error).toMatchObject({ kind: "timed_out", message: expect.stringMatching(/longer than/) });
    expect(isRunning("sleep 300.4711")).toBe(false);
    expect(readdirSync(join(environments.dir, ".building"))).toEqual([]);
  });

  test("ensure, a key of another Python or of another lock, refuses to build under it", async () => {
    const environments = someEnvironments({ env });
    const { key, lock } = await lockOf(environments, "hello");
    const other = someEnvironments({ env, python: { ...PYTHON, version: "3.99.0" } });
    expect(await failureOf(other.ensure(key, lock))).toMatchObject({ kind: "wrong_interpreter" });
    expect(await failureOf(environments.ensure("../../evil", lock))).toMatchObject({ kind: "wrong_interpreter" });
  });

  test("ensure, nothing on the machine that can install, says what to do", async () => {
    const nothing = join(aFolder(), "python3");
    writeFileSync(nothing, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    const environments = createEnvironments({
      dir: join(aFolder(), "environments"),
      python: { ...PYTHON, path: nothing },
      uv: { path: "/not/there" },
      bwrapPath: "bwrap",
      isolation: "bubblewrap",
      runAs: RUN_AS,
      users: undefined,
      env: { PATH: "/nowhere" },
      log: { info: () => {}, warn: () => {} },
    });
    const lock = `six==1.0 --hash=sha256:${"0".repeat(64)}`;
    const error = await failureOf(environments.ensure(keyOf({ ...PYTHON, path: nothing }, lock), lock));
    expect(error).toMatchObject({
      kind: "no_installer",
      message: expect.stringMatching(/no uv, and no pip.*Install uv/s),
    });
  });

  test("ensure, an empty lock, gives an environment without packages", async () => {
    const environments = someEnvironments({ env });
    const { key, lock } = await lockOf(environments, 'hello; python_version < "3"');
    expect(lock).toBe("");
    expect(runWith(await environments.ensure(key, lock), ["python3", "-c", "import sys; print(sys.prefix)"])).toBe(
      "/env\n",
    );
  });

  test("prune, environments of different age, removes the unused and never one in use", async () => {
    const environments = someEnvironments({
      env: onlyFrom(anIndex(...["a", "b", "c", "d"].map((name) => ({ name })))),
    });
    const keys: string[] = [];
    for (const [age, name] of ["a", "b", "c", "d"].entries()) {
      const { key, lock } = await lockOf(environments, name);
      const usedAt = new Date(Date.now() - [400, 300, 200, 1][age]! * MINUTE_MS);
      utimesSync(await environments.ensure(key, lock), usedAt, usedAt);
      keys.push(key);
    }
    const [a, b, c, d] = keys as [string, string, string, string];
    expect(await environments.prune({ bytesMax: 1e9, unusedForMs: 250 * MINUTE_MS, inUse: new Set([a]) })).toEqual([b]);
    expect(await environments.prune({ bytesMax: 0, unusedForMs: 1e12, inUse: new Set([a]) })).toEqual([c]);
    expect(
      readdirSync(environments.dir)
        .filter((name) => !name.startsWith("."))
        .sort(),
    ).toEqual([a, `${a}.log`, d, `${d}.log`].sort());
  });

  test("prune, an environment that was only just built, however long that took, or is before somebody, leaves it", async () => {
    const environments = someEnvironments({ env });
    const { key, lock } = await lockOf(environments, "hello");
    const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
    let pausedUntilMs = Number.POSITIVE_INFINITY;
    const report = (line: string): void => {
      if (line !== "The environment is ready.") return;
      pause();
      pausedUntilMs = Date.now();
    };
    const path = await environments.ensure(key, lock, { report });
    // Its last change is that it was finished, not when its folder was begun.
    expect(statSync(path).mtimeMs).toBeGreaterThan(pausedUntilMs - 1_000);
    const everything = { bytesMax: 0, unusedForMs: 0, inUse: new Set<string>() };
    expect(await environments.prune(everything)).toEqual([]);
    const old = new Date(Date.now() - 60 * MINUTE_MS);
    utimesSync(path, old, old);
    expect(await environments.prune({ ...everything, isBusy: (each) => each === path })).toEqual([]);
    expect(await environments.prune(everything)).toEqual([key]);
  });

  test("prune, of an environment that somebody asks for at the same moment, leaves it or builds it again", async () => {
    const environments = someEnvironments({ env });
    const { key, lock } = await lockOf(environments, "hello");
    const path = await environments.ensure(key, lock);
    const old = new Date(Date.now() - 60 * MINUTE_MS);
    utimesSync(path, old, old);
    // The moment after it was chosen and before it is taken away.
    const isBusy = () => {
      const now = new Date();
      utimesSync(path, now, now);
      return false;
    };
    expect(await environments.prune({ bytesMax: 0, unusedForMs: 0, inUse: new Set(), isBusy })).toEqual([]);
    for (let round = 0; round < 10; round += 1) {
      utimesSync(path, old, old);
      const pruning = environments.prune({ bytesMax: 0, unusedForMs: 0, inUse: new Set() });
      await sleep(round * 2);
      const asked = await environments.ensure(key, lock);
      await pruning;
      expect(readdirSync(join(asked, "bin")).length).toBeGreaterThan(0);
      expect(runWith(asked, ["greet"])).toBe("hi from /env\n");
    }
  });
});
