import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { THREAD_VARIABLES } from "../../sandbox/bubblewrap.ts";
import { createSandbox } from "../../sandbox/sandbox.ts";
import { type Bench, jsonOf, LIMITS, openBench } from "./harness.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench({ isolation: "none" });
});
afterAll(() => bench.close());

test("without isolation, the contract is the same", async () => {
  const ran = await bench.run({
    code: `
from pathlib import Path
import os, subprocess, treadle
CODE = "import treadle; treadle.progress(0.9); print(treadle.__name__)"
def main(name, orders, day):
    print("hello", name)
    treadle.progress(0.5, "half")
    Path("outputs/left.txt").write_text(open("data.csv").read())
    return {"result": [orders.read_text(), orders.name, day.year, Path("inputs.json").exists(), sorted(os.environ),
        [subprocess.check_output([name, "-c", CODE], text=True) for name in ("python", "python3")]]}
`,
    commit: { "data.csv": "1;2" },
    inputs: { name: "Ada", day: "2026-01-02" },
    kinds: { name: "string", day: "date" },
    files: [{ input: "orders", files: [{ fileName: "orders.csv", content: "x" }] }],
  });
  expect(ran.outcome).toMatchObject({ status: "success", message: "" });
  expect(jsonOf(ran)).toEqual([
    "x",
    "orders.csv",
    2026,
    true,
    ["HOME", "LANG", ...THREAD_VARIABLES, "PATH", "PYTHONPATH", "USER"].sort(),
    ["treadle\n", "treadle\n"],
  ]);
  expect(ran.texts.left).toBe("1;2");
  expect(ran.stdout).toBe("hello Ada");
  expect(ran.progress).toEqual([{ fraction: 0.5, message: "half" }]);
});

test("without isolation, and with a umask of 077, the commit's files are the program's own, with the modes of a checkout", async () => {
  const code = `
import os, stat
from pathlib import Path
HERE = Path(__file__).resolve().parent
def main():
    modes = [stat.filemode(path.lstat().st_mode) for path in (HERE / "data", HERE / "data/rates.csv")]
    text = (HERE / "data/rates.csv").read_text()
    (HERE / "data/rates.csv").write_text("changed")
    return {"result": [modes, text, str(HERE) == os.getcwd(), (HERE / "inputs.json").exists(), (HERE / "outputs").is_dir()]}
`;
  const commit = bench.commit({ code, commit: { "data/rates.csv": "1;2" } });
  const mask = process.umask(0o077);
  try {
    for (const ran of [await commit.run(), await commit.run()])
      expect(jsonOf(ran)).toEqual([["drwxr-xr-x", "-rw-r--r--"], "1;2", true, true, true]);
  } finally {
    process.umask(mask);
  }
});

test("without isolation, time, memory and cancelling still end the process and its group", async () => {
  const late = await bench.run({
    code: "import os, time\nif os.fork() == 0:\n    time.sleep(2)\n    open('outputs/late', 'w').close()\ntime.sleep(9)",
    limits: { timeoutSeconds: 0.5 },
  });
  expect(late.outcome.status).toBe("timed_out");
  const large = await bench.run({
    code: "import time\nx = []\nwhile True: x.append(b'x' * (4 << 20)); time.sleep(0.005)",
  });
  expect(large.outcome.status).toBe("out_of_memory");
  const controller = new AbortController();
  const stopped = await bench.run({
    code: "import time\nprint('up', flush=True)\ntime.sleep(9)",
    signal: controller.signal,
    onLine: () => controller.abort(),
  });
  expect(stopped.outcome.status).toBe("cancelled");
});

test("without isolation, the self-test says so", async () => {
  expect(await bench.selfTest()).toEqual([expect.stringContaining("Isolation is switched off")]);
});

test("sandbox, that would run as root, is refused", () => {
  expect(() => createSandbox({ ...bench.settings, isolation: "bubblewrap", runAs: { uid: 0, gid: 0 } })).toThrow(
    /must not run as root/,
  );
});

test("request, beyond the ceilings or outside of the commit, is refused", async () => {
  await expect(bench.run({ code: "", limits: { memoryBytes: 2 ** 50 } })).rejects.toThrow(
    /limit memoryBytes must be above 0/,
  );
  await expect(bench.run({ code: "", limits: { timeoutSeconds: Number.NaN } })).rejects.toThrow(/limit timeoutSeconds/);
  for (const entrypoint of ["../spool/main.py", "./main.py", "a/../main.py"]) {
    await expect(bench.run({ code: "", entrypoint })).rejects.toThrow(/not a path inside the commit/);
  }
});

test.each(["bubblewrap", "none"] as const)(
  "sandbox, %s, whose program is missing, throws and says which",
  async (isolation) => {
    const missing = "/nowhere/at/all";
    const interpreter = { ...bench.settings.interpreter, path: missing };
    const broken = createSandbox({ ...bench.settings, isolation, bwrapPath: missing, interpreter });
    const spoolDir = join(bench.root, `spool-${isolation}`);
    mkdirSync(spoolDir);
    const request = {
      executionId: "ex_1",
      commitDir: bench.root,
      environmentDir: null,
      entrypoint: "main.py",
      spoolDir,
      inputs: {},
      kinds: {},
      files: [],
      declaredOutputs: null,
      limits: LIMITS,
    };
    await expect(broken.run(request)).rejects.toThrow(
      /\/nowhere\/at\/all could not be started|did not start \(exit code 127\)/,
    );
    await broken.close();
  },
);
