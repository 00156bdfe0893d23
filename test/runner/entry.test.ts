import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { THREAD_VARIABLES } from "../../sandbox/bubblewrap.ts";
import { writeFolder } from "./folders.ts";
import { type Bench, jsonOf, openBench } from "./harness.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

test("main.py, with a main and a script guard, runs once, as a module", async () => {
  const ran = await bench.run({
    code: `
print("loaded as", __name__, __file__)
def main(a):
    print("called with", a)
if __name__ == "__main__":
    main("by the guard")
`,
    inputs: { a: 1 },
  });
  expect(ran.stdout).toBe("loaded as main /app/main.py\ncalled with 1");
});

test("main.py, without a main of its own, runs as a script", async () => {
  const ran = await bench.run({
    code: `
import sys, helper
class App:
    main = "an attribute"
if __name__ == "__main__":
    print(helper.main(), App.main, __file__, sys.argv, sys.path[0])
    from helper import main
`,
    commit: { "helper.py": "def main():\n    return 'helped'" },
  });
  expect(ran.outcome.status).toBe("success");
  expect(ran.stdout).toBe("helped an attribute /app/main.py ['/app/main.py'] /app");
});

test.each([
  ["imported", "from helper import start as main"],
  ["assigned", "import helper\nmain = helper.start"],
  ["defined in a branch", "import sys\nif sys.version_info > (3,):\n    def main(): return 'started'"],
  ["defined after try", "try:\n    import nothing_like_it\nexcept ImportError:\n    def main(): return 'started'"],
  ["a class that is called", "class main(dict):\n    def __init__(self): super().__init__(result='started')"],
])("main, %s, is called", async (_how, code) => {
  const ran = await bench.run({ code, commit: { "helper.py": "def start(): return 'started'" } });
  expect(ran.texts).toEqual({ result: "started" });
});

test("main, as a coroutine, is awaited", async () => {
  const ran = await bench.run({
    code: "import asyncio\nasync def main(a):\n    await asyncio.sleep(0)\n    return a",
    inputs: { a: "x" },
  });
  expect(ran.texts).toEqual({ result: "x" });
});

test("entrypoint, in a folder, finds its neighbours and starts in the commit's folder", async () => {
  const ran = await bench.run({
    entrypoint: "src/job.py",
    code: "import os, neighbour\ndef main():\n    return [os.getcwd(), neighbour.x, open('top.txt').read(), __name__]",
    commit: { "src/neighbour.py": "x = 1", "top.txt": "top" },
  });
  expect(jsonOf(ran)).toEqual(["/app", 1, "top", "job"]);
});

test("working folder, of each run, is one tree of plain files of its own, with the modes of a checkout", async () => {
  const commit = bench.commit({
    code: `
import os, stat, subprocess
from pathlib import Path
HERE = Path(__file__).resolve().parent
def shell(line): return subprocess.check_output(line, shell=True, text=True).split()
def main():
    found = [os.path.relpath(os.path.join(parent, name), HERE) for parent, _, names in os.walk(HERE) for name in names]
    modes = {name: stat.filemode(os.lstat(name).st_mode) for name in ("main.py", "data", "data/deep", "data/deep/rates.csv", "data/tool")}
    text = (HERE / "data/deep/rates.csv").read_text()
    for name in ("data/deep/rates.csv", "data/new.txt"): (HERE / name).write_text("changed")
    (HERE / "main.py").unlink()
    return {"result": [sorted(found), modes, text, shell("data/tool; cp -r . /tmp/copy && cat /tmp/copy/data/new.txt; echo; tar -cf - data | tar -t | sort")]}
`,
    commit: { "data/deep/rates.csv": "1;2", "data/tool": "#!/bin/sh\necho ran", "inputs/old": "hidden" },
    inputs: { a: 1 },
  });
  const path = (name: string) => join(commit.commitDir, name);
  chmodSync(path("data/tool"), 0o555);
  chmodSync(path("data/deep/rates.csv"), 0o444);
  for (const ran of [await commit.run(), await commit.run()])
    expect(jsonOf(ran)).toEqual([
      ["data/deep/rates.csv", "data/tool", "inputs.json", "main.py"],
      {
        "main.py": "-rw-r--r--",
        data: "drwxr-xr-x",
        "data/deep": "drwxr-xr-x",
        "data/deep/rates.csv": "-rw-r--r--",
        "data/tool": "-rwxr-xr-x",
      },
      "1;2",
      ["ran", "changed", "data/", "data/deep/", "data/deep/rates.csv", "data/new.txt", "data/tool"],
    ]);
  expect(readFileSync(path("data/deep/rates.csv"), "utf8")).toBe("1;2");
});

test("environment, with packages and .pth files, is importable and in the path of programs", async () => {
  const version = bench.settings.interpreter.version.split(".").slice(0, 2).join(".");
  const packages = `lib/python${version}/site-packages`;
  const environmentDir = writeFolder(join(bench.root, "environment"), {
    [`${packages}/greeting.py`]: "text = 'hello'",
    [`${packages}/more.pth`]: "/env/extra\n",
    "extra/further.py": "text = 'there'",
    "bin/tool": "#!/bin/sh\necho tool",
  });
  const ran = await bench.run({
    environmentDir,
    code: "import greeting, further, sys, shutil\ndef main():\n    return [greeting.text, further.text, sys.prefix, shutil.which('sh') is not None]",
  });
  expect(jsonOf(ran)).toEqual(["hello", "there", "/env", true]);
});

test("environment, made by venv, serves the program and the Pythons it starts", async () => {
  const environmentDir = join(bench.root, "venv");
  execFileSync(bench.settings.interpreter.path, ["-m", "venv", "--without-pip", environmentDir]);
  const version = bench.settings.interpreter.version.split(".").slice(0, 2).join(".");
  writeFolder(join(environmentDir, `lib/python${version}/site-packages`), { "greeting.py": "text = 'hello'" });
  const ran = await bench.run({
    environmentDir,
    code: `
import greeting, multiprocessing, subprocess, sys
def work(x): return greeting.text * x
def main():
    with multiprocessing.get_context("spawn").Pool(1) as pool: texts = pool.map(work, [2])
    return [texts, subprocess.run(["python3", "-c", "import greeting, sys; print(greeting.text, sys.prefix)"], capture_output=True, text=True).stdout, sys.executable]
`,
  });
  expect(jsonOf(ran)).toEqual([["hellohello"], "hello /env\n", "/env/bin/python3"]);
});

test("interpreter, seen by user code, is what python3 would be", async () => {
  const ran = await bench.run({
    code: `
import sys, os, subprocess, multiprocessing, getpass, tempfile, zoneinfo, ssl, sqlite3, ctypes, threading
def square(x): return x * x
def main():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        squares = pool.map(square, [1, 2, 3])
    return {"result": {
        "squares": squares,
        "exit": callable(exit) and callable(quit) and callable(help),
        "shell": subprocess.run("echo $HOME | tr a-z A-Z", shell=True, capture_output=True, text=True).stdout.strip(),
        "child": subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout.strip(),
        "user": getpass.getuser(), "tmp": tempfile.gettempdir(), "zone": str(zoneinfo.ZoneInfo("Europe/Berlin")),
        "environ": sorted(os.environ), "encoding": sys.stdout.encoding, "host": os.uname().nodename,
        "ids": [os.getuid(), os.getgid()], "runner": [name for name in sys.path if "runner" in name],
        "main": repr(sys.modules["__main__"]), "hash": hash("x") != 0, "utf8": open("u.txt", "w").encoding,
    }}
`,
  });
  expect(jsonOf(ran)).toEqual({
    squares: [1, 4, 9],
    exit: true,
    shell: "/TMP",
    child: "42",
    user: "user",
    tmp: "/tmp",
    zone: "Europe/Berlin",
    environ: ["HOME", "LANG", ...THREAD_VARIABLES, "PATH", "PWD", "PYTHONPATH", "USER"].sort(),
    encoding: "utf-8",
    host: "sandbox",
    ids: [10001, 10001],
    runner: ["/runner/modules"],
    main: "<module '__main__'>",
    hash: true,
    utf8: "UTF-8",
  });
});

test.each([0.5, 1])(
  "cores, of code that may use %d, are the one that it may use and not the machine's",
  async (cpu) => {
    const ran = await bench.run({
      code: `
import concurrent.futures, multiprocessing, os
def main():
    pool = concurrent.futures.ProcessPoolExecutor()
    return [os.cpu_count(), multiprocessing.cpu_count(), len(os.sched_getaffinity(0)), pool._max_workers, int(os.environ["POLARS_MAX_THREADS"])]
`,
      limits: { cpu },
    });
    expect(jsonOf(ran)).toEqual([1, 1, 1, 1, 1]);
  },
);

test("/dev/stdout, opened by name, reaches the log", async () => {
  const ran = await bench.run({
    code: "import os\nopen('/dev/stdout', 'w').write('by name\\n')\nos.system('echo by shell > /dev/stderr')",
  });
  expect(ran.outcome.status).toBe("success");
  expect(ran.log.map(({ stream, text }) => [stream, text])).toEqual([
    ["stdout", "by name"],
    ["stderr", "by shell"],
  ]);
});

test("treadle.progress, from main and from Pythons that it starts, arrives checked and bounded, from main alone", async () => {
  const ran = await bench.run({
    code: `
import treadle, subprocess, sys
class Odd:
    def __str__(self): raise KeyError
def main():
    treadle.progress(0.4, "parsing")
    treadle.progress(7, "x" * 1000)
    for bad in ("nonsense", float("nan"), 10 ** 400, None): treadle.progress(bad)
    treadle.progress(0.5, Odd())
    for name in (sys.executable, "python", "python3"):
        subprocess.run([name, "-c", "import treadle; treadle.progress(0.9)"], check=True)
`,
    commit: { "json.py": "" },
  });
  expect([ran.outcome.status, ran.outcome.message]).toEqual(["success", ""]);
  expect(ran.progress).toEqual([
    { fraction: 0.4, message: "parsing" },
    { fraction: 1, message: "x".repeat(200) },
  ]);
});

test("treadle.progress, called more often than is sent, tells the newest while the program goes on", async () => {
  const controller = new AbortController();
  const ran = await bench.run({
    code: `
import treadle, time
for row in range(10_000): treadle.progress(row / 10_000, "row %d" % row)
treadle.progress(1, "all rows")
time.sleep(2)
print("up", flush=True)
time.sleep(60)
`,
    signal: controller.signal,
    onLine: () => controller.abort(),
  });
  expect(ran.outcome.status).toBe("cancelled");
  expect(ran.progress.at(-1)).toEqual({ fraction: 1, message: "all rows" });
});

/** Every name in it is one of the standard library that the runner needs for some inputs and outputs. */
const NAMESAKES = Object.fromEntries(
  ["asyncio", "datetime", "enum", "functools", "inspect", "json", "pathlib", "re", "shutil", "types"].map((name) => [
    `${name}.py`,
    `OWN = "${name}"`,
  ]),
);

test.each([
  ["a function", "def main(**given): return work(**given)"],
  ["a coroutine", "async def main(**given): return work(**given)"],
  [
    "another callable",
    "class Main:\n    def __call__(self, day, at, table): return work(day, at, table)\nmain = Main()",
  ],
])("main, as %s beside modules named like the library's, is called, and has its own modules", async (_what, code) => {
  const ran = await bench.run({
    code: `
def work(day, at, table):
    import asyncio, datetime, enum, functools, inspect, json, pathlib, re, shutil, types
    own = [module.OWN for module in (asyncio, datetime, enum, functools, inspect, json, pathlib, re, shutil, types)]
    return {"own": own, "given": [type(day).__name__, at.utcoffset().total_seconds(), table.read_text()], "file": table, "day": [day]}
${code}
`,
    commit: NAMESAKES,
    kinds: { day: "date", at: "datetime" },
    inputs: { day: "2026-02-28", at: "2026-02-28T13:14:15.016Z" },
    files: [{ input: "table", files: [{ fileName: "t.csv", content: "1;2" }] }],
  });
  expect([ran.outcome.status, ran.outcome.message]).toEqual(["success", ""]);
  expect(jsonOf(ran, "own")).toEqual(Object.keys(NAMESAKES).map((name) => name.replace(".py", "")));
  expect(jsonOf(ran, "given")).toEqual(["date", 0, "1;2"]);
  expect(ran.texts).toMatchObject({ file: "1;2", day: '["2026-02-28"]' });
});

test("log, while the code runs, is handed over line by line with consecutive ids", async () => {
  let sawFirst = () => undefined as void;
  const first = new Promise<void>((resolve) => {
    sawFirst = resolve;
  });
  const controller = new AbortController();
  const running = bench.run({
    code: "import time\nprint('first')\ntime.sleep(15)",
    signal: controller.signal,
    onLine: () => sawFirst(),
  });
  await first;
  controller.abort();
  const ran = await running;
  expect(ran.log.map(({ id, stream, text }) => ({ id, stream, text }))).toEqual([
    { id: 1, stream: "stdout", text: "first" },
  ]);
  expect(ran.elapsedMs).toBeLessThan(10_000);
});
