import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { listTree } from "../../sandbox/process-tree.ts";
import { type Bench, openBench, type Ran } from "./harness.ts";
import { listSandboxes } from "./zygotes.ts";

const MIB = 1024 * 1024;
let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

test.each([
  ["sys.exit()", "success", ""],
  ["sys.exit(0)", "success", ""],
  ["raise SystemExit", "success", ""],
  ["os._exit(0)", "success", ""],
  ["sys.exit(3)", "failed", "The code exited with code 3."],
  ["sys.exit(137)", "failed", "The code exited with code 137."],
  ["sys.exit(10 ** 100)", "failed", "The code exited with code 255."],
  ["sys.exit(-(2 ** 63) - 1)", "failed", "The code exited with code 255."],
  ["sys.exit(2 ** 63 - 2)", "failed", "The code exited with code 254."],
  ["sys.exit(1 << 40)", "success", ""],
  ["sys.exit('no orders')", "failed", "no orders"],
  ["exit('by exit')", "failed", "by exit"],
  ["raise ValueError('bad\\ninput')", "failed", "ValueError: bad\ninput"],
  ["raise KeyError('x')", "failed", "KeyError: 'x'"],
  ["class Mine(Exception): pass\nraise Mine", "failed", "Mine"],
  [
    "import json; json.loads('{')",
    "failed",
    "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
  ],
  ["raise KeyboardInterrupt", "failed", "KeyboardInterrupt"],
  ["import nothing_like_it", "failed", "ModuleNotFoundError: No module named 'nothing_like_it'"],
  ["def broken(:", "failed", "SyntaxError: invalid syntax (main.py, line 2)"],
  [
    "os.kill(os.getpid(), 11)",
    "failed",
    "The process was killed by SIGSEGV (a crash in native code, or recursion without end in it).",
  ],
  [
    "import ctypes; ctypes.string_at(1)",
    "failed",
    "The process was killed by SIGSEGV (a crash in native code, or recursion without end in it).",
  ],
  ["os.abort()", "failed", "The process was killed by SIGABRT."],
  ["import atexit; atexit.register(lambda: os._exit(4))", "failed", "The code exited with code 4."],
])("script, %s, ends as %s", async (code, status, message) => {
  const ran = await bench.run({ code: `import os, sys\n${code}` });
  expect({ status: ran.outcome.status, message: ran.outcome.message }).toEqual({ status, message });
});

test("bubblewrap, killed from outside while a program runs in it, is a fault of ours and no end of the program", async () => {
  let hasBegun = false;
  const ran = bench.run({
    code: "import time\ndef main():\n    print('begun', flush=True)\n    time.sleep(60)",
    onLine: () => {
      hasBegun = true;
    },
  });
  const failure = ran.then(String, String);
  while (!hasBegun) await sleep(10);
  // The others are prestarted, and have nothing in them yet.
  const [outermost] = listSandboxes().sort((one, other) => listTree(other).length - listTree(one).length);
  process.kill(outermost as number, "SIGKILL");
  expect(await failure).toContain("ended from outside");
});

test("a program, ending while this process stands still, is billed no more than up to that, and has not run out of time", async () => {
  const ran = await bench.run({
    code: "import time\ndef main():\n    print('begun', flush=True)\n    time.sleep(0.4)",
    limits: { timeoutSeconds: 3 },
    onLine: () => {
      const until = performance.now() + 5_000;
      while (performance.now() < until);
    },
  });
  expect(ran.outcome.status).toBe("success");
  expect(ran.outcome.secondsUsed).toBeLessThan(2.9);
});

test("main, ending its process with code 0, has not returned, and failed", async () => {
  const ran = await bench.run({ code: "import os\ndef main():\n    os._exit(0)" });
  expect(ran.outcome).toMatchObject({ status: "failed", message: expect.stringContaining("before main() returned") });
});

test("uncaught exception, in a function of the user, leaves the traceback of user code alone in the log", async () => {
  const ran = await bench.run({
    code: "import helper\ndef main():\n    helper.work()",
    commit: { "helper.py": "def work():\n    return 1 / 0" },
  });
  expect(ran.outcome.message).toBe("ZeroDivisionError: division by zero");
  const lines = ran.stderr.split("\n").filter((line) => !/^\s*[~^]+$/.test(line));
  expect(lines).toEqual([
    "Traceback (most recent call last):",
    '  File "/app/main.py", line 3, in main',
    "    helper.work()",
    '  File "/app/helper.py", line 2, in work',
    "    return 1 / 0",
    "ZeroDivisionError: division by zero",
  ]);
});

test("exception text, without end, is cut", async () => {
  const ran = await bench.run({ code: "raise ValueError('x' * 10_000_000)", limits: { logBytesMax: 1000 } });
  expect(ran.outcome.message.length).toBeLessThan(2_000);
  expect(ran.outcome.message).toMatch(/^ValueError: xxx/);
});

test.each([
  ["a name", "import socket; socket.create_connection(('example.org', 80))"],
  ["an address", "import socket; socket.create_connection(('192.0.2.1', 80))"],
  ["a URL", "import urllib.request; urllib.request.urlopen('http://192.0.2.1/')"],
])("failure, to reach %s, says that limits.network is off", async (_what, code) => {
  const ran = await bench.run({ code });
  expect(ran.outcome.status).toBe("failed");
  expect(ran.outcome.message).toContain("limits.network is off");
});

test("failure, to open a file, does not blame the network", async () => {
  const ran = await bench.run({ code: "open('/nothing')" });
  expect(ran.outcome.message).toBe("FileNotFoundError: [Errno 2] No such file or directory: '/nothing'");
});

/** Runs it again while it is billed less than its limit, as it is when this process gets no processor at its end. */
async function runUntilBilled(seconds: number, run: () => Promise<Ran>): Promise<Ran> {
  for (let tries = 1; ; tries++) {
    const ran = await run();
    if (tries === 5 || ran.outcome.secondsUsed >= seconds) return ran;
  }
}

test("timeout, ignoring every signal, ends the whole tree on time and keeps what was made", async () => {
  const code = `
import os, signal, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
open("outputs/partial.txt", "w").write("so far")
print("started", flush=True)
for _ in range(4):
    if os.fork() == 0: os.setsid()
while True: time.sleep(0.01)
`;
  const ran = await bench.run({ code, limits: { timeoutSeconds: 3 } });
  expect(ran.outcome).toEqual({
    status: "timed_out",
    message: "The code ran longer than limits.timeout (3 s) and was stopped.",
    secondsUsed: 3,
    peakMemoryBytes: expect.any(Number),
    usedProcessorSeconds: expect.any(Number),
  });
  expect(ran.stdout).toContain("started");
  expect(ran.texts).toEqual({ partial: "so far" });
});

test("timeout, while the file is still being compiled, is the code's time", async () => {
  const code = `x = ${"(".repeat(80)}1${")".repeat(80)}\n`.repeat(150_000);
  const limits = { timeoutSeconds: 0.5, memoryBytes: 2048 * MIB };
  const ran = await bench.run({ code, limits });
  expect(ran.outcome).toMatchObject({ status: "timed_out", secondsUsed: 0.5 });
});

test("cancelling, while it runs, is over soon and says what was used", async () => {
  const controller = new AbortController();
  let abortedAt = 0;
  const ran = await bench.run({
    code: "import time\nprint('up', flush=True)\nwhile True: time.sleep(0.01)",
    signal: controller.signal,
    onLine: () => {
      abortedAt = performance.now();
      controller.abort();
    },
  });
  expect(performance.now() - abortedAt).toBeLessThan(10_000); // Two seconds, where there is time for it.
  expect(ran.outcome).toMatchObject({ status: "cancelled", message: "The execution was cancelled." });
  expect(ran.outcome.secondsUsed).toBeGreaterThan(0);
});

test.each([0, 1, 3, 6, 10, 15, 25])(
  "cancelling, %i ms after the start, ends it whatever it is doing",
  async (afterMs) => {
    const controller = new AbortController();
    const running = bench.run({ code: "import time\ntime.sleep(60)", signal: controller.signal });
    await sleep(afterMs);
    controller.abort();
    const ran = await running;
    expect(ran.outcome.status).toBe("cancelled");
    expect(ran.elapsedMs).toBeLessThan(15_000);
  },
);

test("cancelling, of code that handles SIGTERM, keeps what it saves within a second", async () => {
  const ran = await runUntilUp(`
import signal, sys, time
def save(number, frame):
    open("outputs/part.txt", "w").write("saved")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("up", flush=True)
time.sleep(60)
`);
  expect([ran.outcome.status, ran.texts.part]).toEqual(["cancelled", "saved"]);
});

test("cancelling, of code that ignores SIGTERM, ends it after the second it has for it", async () => {
  const code =
    "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(60)\n";
  const ran = await runUntilBilled(0.9, () => runUntilUp(code));
  expect(ran.outcome.status).toBe("cancelled");
  expect(ran.outcome.secondsUsed).toBeGreaterThanOrEqual(0.9);
  expect(ran.outcome.secondsUsed).toBeLessThan(10);
});

/** Cancels at the first line of the log. */
function runUntilUp(code: string) {
  const controller = new AbortController();
  return bench.run({ code, signal: controller.signal, onLine: () => controller.abort() });
}

test("cancelling, before the start, starts nothing", async () => {
  const ran = await bench.run({ code: "print('ran')", signal: AbortSignal.abort() });
  expect(ran.outcome).toEqual({ status: "cancelled", message: "The execution was cancelled.", secondsUsed: 0 });
  expect(ran.log).toEqual([]);
});

test("memory, all at once, ends as out_of_memory", async () => {
  const ran = await bench.run({ code: "x = bytearray(2 << 30)\nx[::4096] = b'x' * len(x[::4096])" });
  expect(ran.outcome).toMatchObject({
    status: "out_of_memory",
    message: expect.stringContaining("limits.memory (256 MiB)"),
  });
});

test("memory, bit by bit, ends as out_of_memory", async () => {
  const ran = await bench.run({
    code: "import time\nx = []\nwhile True: x.append(b'x' * (4 << 20)); time.sleep(0.005)",
  });
  expect(ran.outcome.status).toBe("out_of_memory");
});

test("MemoryError, uncaught, ends as out_of_memory", async () => {
  const ran = await bench.run({ code: "def main():\n    return bytearray(1 << 60)" });
  expect(ran.outcome).toMatchObject({ status: "out_of_memory", message: expect.stringContaining("MemoryError") });
});

test("memory, of scratch folders, counts as memory", async () => {
  const code =
    "import os\nfor folder in ('/tmp', '/dev/shm', '/app'):\n    open(folder + '/x', 'wb').write(b'x' * (30 << 20))\nprint('written')\nimport time; time.sleep(5)";
  const small = await bench.run({ code, limits: { memoryBytes: 64 * MIB } });
  expect(small.outcome.status).toBe("out_of_memory");
});

test("main process, ending while its children run, ends them and the execution", async () => {
  const ran = await bench.run({
    code: `
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(0.5); open("outputs/late.txt", "w").write("late"); time.sleep(60)
    os._exit(0)
open("outputs/done.txt", "w").write("done")
`,
  });
  expect(ran.outcome.status).toBe("success");
  expect(Object.keys(ran.texts)).toEqual(["done"]);
});

test("forked child, running on to the end of main, does not speak for the execution", async () => {
  const ran = await bench.run({
    code: "import os\ndef main():\n    child = os.fork()\n    if child: os.waitpid(child, 0)\n    return 'child' if child == 0 else 'parent'",
  });
  expect(ran.texts).toEqual({ result: "parent" });
});

test("threads and exit handlers, at the end of main, are waited for and may write", async () => {
  const ran = await bench.run({
    code: `
import atexit, threading, time
def main():
    atexit.register(lambda: open("outputs/last.txt", "w").write("last"))
    threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
    unclosed = open("outputs/unclosed.txt", "w"); unclosed.write("flushed")
`,
  });
  expect(ran.stdout).toBe("thread");
  expect(ran.texts).toEqual({ last: "last", unclosed: "flushed" });
});

test("seconds used, of code that sleeps, are its wall time alone", async () => {
  const ran = await bench.run({ code: "import time\ntime.sleep(0.3)" });
  expect(ran.outcome.secondsUsed).toBeGreaterThanOrEqual(0.3);
  expect(ran.outcome.secondsUsed).toBeLessThan(5);
  expect(ran.outcome.secondsUsed * 1000).toBeCloseTo(Math.round(ran.outcome.secondsUsed * 1000), 6);
});

test("sandbox, of a folder that is not there, throws as it is no fault of user code", async () => {
  await expect(bench.run({ code: "", environmentDir: "/nowhere/at/all" })).rejects.toThrow(
    /did not start .*nowhere\/at\/all/,
  );
});
