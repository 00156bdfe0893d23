import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { findCgroupFolders } from "../../sandbox/cgroup-folders.ts";
import { type Bench, openWarmBench, type Program, type Ran } from "../runner/harness.ts";
import { runInLane } from "./lane-runs.ts";

const MIB = 1024 * 1024;
/** Of a whole second of work, for the 100 ms in which the kernel keeps its accounts. */
const CPU_TOLERANCE = 0.2;

/** Time to make a hundred thousand of them on a busy machine, and memory that holds them. */
const SCRATCH_FILES = { memoryBytes: 1024 * MIB, timeoutSeconds: 120 };

let bench: Bench;
beforeAll(async () => {
  bench = await openWarmBench();
});
afterAll(() => bench.close());

/** The same program by both ways. */
async function runBothWays(program: Program): Promise<Ran[]> {
  return [await bench.run(program), await runInLane(bench.commit(program))];
}

const told = ({ outcome: { status, message } }: Ran) => ({ status, message });

test.each<[name: string, program: Program, status: string, message: string | RegExp]>([
  [
    "wall time",
    { code: "while True: pass", limits: { timeoutSeconds: 0.5 } },
    "timed_out",
    "The code ran longer than limits.timeout (0.5 s) and was stopped.",
  ],
  [
    "memory",
    { code: "x = bytearray(400 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1", limits: { memoryBytes: 96 * MIB } },
    "out_of_memory",
    /limits\.memory \(96 MiB\)/,
  ],
  [
    "processes",
    { code: "import os, time\nwhile True:\n    if os.fork() == 0: time.sleep(5)", limits: { processes: 12 } },
    "failed",
    "BlockingIOError: [Errno 11] Resource temporarily unavailable",
  ],
  [
    "open files",
    { code: "files = []\nwhile True: files.append(open('/dev/null'))", limits: { openFiles: 40 } },
    "failed",
    "OSError: [Errno 24] Too many open files: '/dev/null'",
  ],
  [
    "file size",
    // No file of scratch folders is larger than these, so the limit is the larger of the two.
    {
      code: "open('outputs/x', 'wb').write(b'x' * (2 << 20))",
      limits: { fileBytesMax: MIB / 2, scratchBytes: MIB },
    },
    "failed",
    "OSError: [Errno 27] File too large",
  ],
  [
    "scratch bytes",
    { code: "open('/tmp/x', 'wb').write(b'x' * (2 << 20))", limits: { scratchBytes: MIB } },
    "failed",
    "OSError: [Errno 28] No space left on device",
  ],
  [
    "scratch files",
    { code: "n = 0\nwhile True:\n    open('/tmp/%d' % n, 'w').close(); n += 1", limits: SCRATCH_FILES },
    "failed",
    /No space left on device|Too many files were made in the working folder/,
  ],
  [
    "bytes of outputs",
    {
      code: "for i in range(3): open('outputs/%d' % i, 'wb').write(b'x' * MIB)".replace("MIB", "(1 << 20)"),
      limits: { outputBytesMax: 2 * MIB },
    },
    "failed",
    "The outputs grew beyond the 2 MiB they may have.",
  ],
  [
    "number of outputs",
    { code: "for i in range(9): open('outputs/%d' % i, 'w').close()", limits: { outputFilesMax: 4 } },
    "failed",
    "More than the 4 output files that are allowed were made.",
  ],
  [
    "folders in folders of outputs, at their end",
    { code: "import os\nos.makedirs('outputs/' + '/'.join('d' * 17))" },
    "failed",
    "The folder outputs/ is more than 16 folders deep.",
  ],
  [
    "folders in folders of outputs, while it fills them",
    {
      code: `import os, time
os.makedirs('outputs/' + '/'.join('d' * 20))
while True: open('outputs/' + '/'.join('d' * 20) + '/f', 'ab').write(b'x' * 65536); time.sleep(0.01)`,
    },
    "failed",
    "The folder outputs/ is more than 16 folders deep.",
  ],
  [
    "the length of a path in outputs, at its end",
    { code: "import os\nos.makedirs('outputs/' + '/'.join(['d' * 250] * 5))" },
    "failed",
    "The path of a file or folder in outputs/ is longer than 1024 bytes.",
  ],
  [
    "the length of a path in outputs, longer than any the host can name",
    { code: "import os\nos.chdir('outputs')\nfor i in range(40): os.mkdir('d' * 250); os.chdir('d' * 250)" },
    "failed",
    "The path of a file or folder in outputs/ is longer than 1024 bytes.",
  ],
  [
    "bytes of outputs, in a folder whose name is no text",
    {
      code: `import os, time
os.mkdir(b'outputs/\\xff\\xfe')
while True: open(b'outputs/\\xff\\xfe/f', 'ab').write(b'x' * 65536); time.sleep(0.01)`,
      limits: { outputBytesMax: 4 * MIB },
    },
    "failed",
    "The outputs grew beyond the 4 MiB they may have.",
  ],
  [
    "bytes of outputs, of a file without a name or a descriptor",
    {
      code: `import ctypes, os, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
for i in range(4):
    f = os.open('outputs/f', os.O_CREAT | os.O_RDWR)
    os.write(f, b'x' * (3 << 20))
    libc.mmap(None, ctypes.c_size_t(3 << 20), 1, 1, f, ctypes.c_long(0))
    os.close(f)
    os.unlink('outputs/f')
while True: time.sleep(1)`,
      limits: { outputBytesMax: 8 * MIB },
    },
    "failed",
    "The outputs grew beyond the 8 MiB they may have.",
  ],
])("limit, %s, exceeded cold and in a lane, ends it in its own words", async (_name, program, status, message) => {
  for (const ran of await runBothWays(program)) {
    const words = typeof message === "string" ? message : expect.stringMatching(message);
    expect(told(ran)).toEqual({ status, message: words });
  }
});

test("limit, bytes of outputs, met to the byte cold and in a lane, is not exceeded by what the file system adds", async () => {
  const code = "import time\nopen('outputs/f', 'wb').write(b'x' * (4 << 20)); time.sleep(0.5)";
  for (const ran of await runBothWays({ code, limits: { outputBytesMax: 4 * MIB } }))
    expect(told(ran)).toEqual({ status: "success", message: "" });
});

test("limit, bytes of log, exceeded cold and in a lane, cuts the log and says so", async () => {
  const program = { code: "for i in range(5000): print('a line', i)", limits: { logBytesMax: 10_000 } };
  for (const ran of await runBothWays(program)) {
    expect(told(ran)).toEqual({ status: "success", message: "" });
    expect(ran.logTruncated).toBe(true);
    expect(ran.log.at(-1)?.text).toBe("The log is cut here: it reached its limit of 10000 bytes.");
  }
});

test("limit, share of the processor, cold and in a lane, is all that several processes get together", async () => {
  const code = `
import os, time
before, started = os.times(), time.monotonic()
child = os.fork()
while time.monotonic() - started < 1: pass
if child == 0: os._exit(0)
os.wait()
print(sum(os.times()[:4]) - sum(before[:4]), time.monotonic() - started)
`;
  for (const ran of await runBothWays({ code, limits: { cpu: 0.25 } })) {
    const [used = 0, wall = 0] = ran.stdout.split(" ").map(Number);
    // Without cgroups nothing bounds it, and the documentation says so.
    const share = findCgroupFolders()?.cpu === undefined ? 2 : 0.25;
    expect(used).toBeLessThanOrEqual(share * wall + CPU_TOLERANCE);
    expect(used).toBeGreaterThanOrEqual(0.05);
  }
});

const FORK_BOMB = "import os, time\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(0.01)";
const MEMORY_HOG = "import time\nx = []\nwhile True:\n    x.append(bytearray(b'x') * (4 << 20)); time.sleep(0.01)";
const OUTPUT_FLOOD = `
import sys, time
for i in range(400):
    print("x" * 10_000)
    open("outputs/%d" % (i % 10), "ab").write(b"x" * (1 << 20)); time.sleep(0.005)
`;
/** How much longer a short execution may take beside all that, at the least; the exact figure is a benchmark's. */
const STORM_FACTOR = 25;
const STORM_FLOOR_MS = 500;
/** The first of them would go on for ever. */
const STORM_SECONDS = 8;

test("storm, of processes, memory and outputs at once, leaves the executions of another commit alone", async () => {
  const limits = { timeoutSeconds: 60, memoryBytes: 128 * MIB, processes: 24, cpu: 0.5, logBytesMax: 100_000 };
  const hello = bench.commit({
    code: "def main(name):\n    return 'hello ' + name\n",
    kinds: { name: "string" },
    inputs: { name: "x" },
  });
  const sayHello = async () => {
    const ran = await hello.run({ inputs: { name: "you" } });
    expect([ran.outcome.status, ran.outcome.message, ran.texts.result]).toEqual(["success", "", "hello you"]);
    return ran.elapsedMs;
  };
  await hello.warm();
  const quiet: number[] = [];
  for (let round = 0; round < 10; round++) quiet.push(await sayHello());

  const storm = [
    bench.commit({ code: FORK_BOMB, limits: { ...limits, timeoutSeconds: STORM_SECONDS } }).run(),
    ...[MEMORY_HOG, OUTPUT_FLOOD].map((code) => bench.commit({ code, limits }).run()),
  ];
  let isOver = false;
  const ends = Promise.all(storm).finally(() => (isOver = true));
  const stormy: number[] = [];
  while (!isOver) stormy.push(await sayHello());

  expect((await ends).map(({ outcome }) => outcome.status)).toEqual(["timed_out", "out_of_memory", "failed"]);
  expect(stormy.length).toBeGreaterThan(5);
  expect(median(stormy)).toBeLessThan(Math.max(STORM_FLOOR_MS, STORM_FACTOR * median(quiet)));
});

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.POSITIVE_INFINITY;
}
