import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Bench, openBench } from "./harness.ts";

const MIB = 1024 * 1024;
let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

test("log, flooded with 200 MB, is cut with a last line that says so, and the program goes on", async () => {
  const ran = await bench.run({
    code: "import sys\nfor _ in range(200): sys.stdout.buffer.write((b'a' * 1023 + b'\\n') * 1024)\nopen('outputs/end.txt', 'w').write('reached')",
  });
  expect(ran.outcome.status).toBe("success");
  expect(ran.texts).toEqual({ end: "reached" });
  expect(ran.logTruncated).toBe(true);
  expect(ran.logBytes).toBe(MIB);
  expect(ran.log.at(-1)).toMatchObject({
    stream: "system",
    text: `The log is cut here: it reached its limit of ${MIB} bytes.`,
  });
  expect(ran.log.map(({ id }) => id)).toEqual(ran.log.map((_, index) => index + 1));
});

test("log, flooded with empty lines, stays small", async () => {
  const ran = await bench.run({
    code: "import sys\nsys.stdout.write('\\n' * (4 << 20))",
    limits: { logBytesMax: 100_000 },
  });
  expect(ran.logTruncated).toBe(true);
  expect(ran.log.length).toBeLessThanOrEqual(5_001);
});

test("log, of one endless line of no text at all, comes in readable pieces", async () => {
  const ran = await bench.run({ code: "import sys\nsys.stdout.buffer.write(b'\\xff\\x00\\x1b[2J' * 50_000)" });
  expect(ran.log.length).toBeGreaterThan(1);
  expect(ran.log.every(({ text }) => text.length <= 65_536 && !text.includes("\0"))).toBe(true);
});

test("fork bomb, is held by the process limit and leaves nothing", async () => {
  const ran = await bench.run({
    code: "import os, time\nn = 0\nwhile True:\n    try:\n        os.fork()\n    except OSError: time.sleep(0.01)",
    limits: { timeoutSeconds: 2, processes: 24 },
  });
  expect(ran.outcome.status).toBe("timed_out");
});

test("threads, without end, are held by the process limit", async () => {
  const ran = await bench.run({
    code: "import threading, time\nn = 0\ntry:\n    while n < 500:\n        threading.Thread(target=time.sleep, args=(9,), daemon=True).start(); n += 1\nexcept RuntimeError: pass\nprint(n)",
    limits: { processes: 24 },
  });
  expect(Number(ran.stdout)).toBeLessThan(24);
  expect(Number(ran.stdout)).toBeGreaterThan(10);
});

test.each(["/tmp", "/app", "/dev/shm"])("disk, filled in %s, ends at the scratch limit", async (folder) => {
  const ran = await bench.run({
    code: `
import os
try:
    for i in range(100): open("${folder}/%d" % i, "wb").write(b"x" * (1 << 20))
except OSError as error: print(error.strerror, i)
`,
  });
  expect(ran.stdout).toMatch(/^No space left on device 3[0-2]$/);
});

test("inodes, of empty files without end, end the execution", async () => {
  const ran = await bench.run({
    code: "n = 0\nwhile True:\n    open('/tmp/%d' % n, 'w').close(); n += 1",
    limits: { memoryBytes: 2048 * MIB },
  });
  expect(ran.outcome).toMatchObject({ status: "failed", message: expect.stringContaining("Too many files") });
});

test("sparse file, of a tebibyte, is refused by the file limit", async () => {
  const ran = await bench.run({
    code: "try:\n    open('outputs/sparse', 'wb').truncate(1 << 40)\nexcept OSError as error: print(error.strerror)",
  });
  expect(ran.stdout).toBe("File too large");
});

test("open files, without end, end at the limit", async () => {
  const ran = await bench.run({
    code: "import os\nfiles = []\ntry:\n    while True: files.append(os.open('/dev/null', 0))\nexcept OSError as error: print(error.strerror, len(files) < 256)",
  });
  expect(ran.stdout).toBe("Too many open files True");
});

test("memory, taken as TCP buffers, is bounded like other memory", async () => {
  const ran = await bench.run({
    code: `
import socket, time
server = socket.create_server(("127.0.0.1", 0))
kept, queued = [], 0
for _ in range(110):
    ends = [socket.create_connection(server.getsockname()), server.accept()[0]]
    for end in ends:
        end.setblocking(False)
        kept.append(end)
        try:
            while True: queued += end.send(b"x" * 65536)
        except BlockingIOError: pass
print(queued >> 20)
time.sleep(2)
`,
    limits: { memoryBytes: 64 * MIB },
  });
  if (ran.outcome.status !== "out_of_memory") expect(Number(ran.stdout)).toBeLessThan(200);
});

test("outputs, growing over their limit, end the execution while it runs", async () => {
  const ran = await bench.run({
    code: "import time\nfor i in range(1000):\n    open('outputs/%d' % (i % 40), 'ab').write(b'x' * (1 << 20)); time.sleep(0.003)\ntime.sleep(15)",
  });
  expect(ran.outcome).toMatchObject({ status: "failed", message: "The outputs grew beyond the 32 MiB they may have." });
  expect(ran.outcome.secondsUsed).toBeLessThan(10);
  expect([ran.outputs, ran.log.at(-1)?.text]).toEqual([[], expect.stringContaining("No output is kept")]);
});

test("outputs, one cut where a file may not grow, are kept of a program that goes on, and not of one that fails of it", async () => {
  const code = "open('outputs/cut', 'wb', buffering=0).write(bytes(9 << 20))";
  // A file may be as large as scratch folders are, at least.
  const limits = { fileBytesMax: 4 * MIB, scratchBytes: 4 * MIB };
  const fails = await bench.run({ code: `${code}\nopen('outputs/cut', 'ab', buffering=0).write(b'x' * 9)`, limits });
  expect([fails.outcome.message, fails.outputs]).toEqual([expect.stringContaining("File too large"), []]);
  const goesOn = await bench.run({ code, limits });
  expect(goesOn.outputs.map(({ fileName, bytes }) => [fileName, bytes])).toEqual([["cut", 4 * MIB]]);
});

test("outputs, over their limit at once, fail the execution", async () => {
  const ran = await bench.run({ code: "for i in range(3): open('outputs/%d' % i, 'wb').write(b'x' * (15 << 20))" });
  expect(ran.outcome).toMatchObject({ status: "failed", message: "The outputs grew beyond the 32 MiB they may have." });
});

test("outputs, deleted while open, count as outputs", async () => {
  const ran = await bench.run({
    code: `
import os, time
held = []
while True:
    file = open("outputs/x", "wb"); file.write(b"x" * (4 << 20)); file.flush(); os.unlink("outputs/x"); held.append(file); time.sleep(0.02)
`,
  });
  expect(ran.outcome).toMatchObject({ status: "failed", message: "The outputs grew beyond the 32 MiB they may have." });
  expect(ran.outcome.secondsUsed).toBeLessThan(10);
});

test("outputs, more files than allowed, fail the execution and come back up to the limit", async () => {
  const many = await bench.run({
    code: "import time\nfor i in range(5000): open('outputs/%d' % i, 'w').write('x')\ntime.sleep(15)",
  });
  expect(many.outcome).toMatchObject({
    status: "failed",
    message: "More than the 50 output files that are allowed were made.",
  });
  expect(many.outputs.length).toBe(50);
  expect(many.outcome.secondsUsed).toBeLessThan(10);
});

test("control channel, flooded and forged, changes nothing but what is said of this execution", async () => {
  const ran = await bench.run({
    code: `
import os
os.write(3, b'{"type":"ready","stdout":0,"stderr":1}\\n{"type":"started","mode":"function"}\\n')
os.write(3, b'["' + b"[" * 50_000 + b"\\n" + b'{"type":"output","name":"x","file":"../../log.ndjson"}\\n')
for _ in range(64): os.write(3, b"9" * (1 << 20))
os.write(3, b'\\n{"type":"end","kind":"exit","code":0,"message":"forged"}\\n')
os._exit(3)
`,
  });
  expect(ran.outcome).toMatchObject({ status: "failed", message: "forged" });
  expect(ran.outputs).toEqual([]);
});

const LOOP = `
import os, treadle
def say(data):
    view = memoryview(data)
    while view: view = view[os.write(3, view):]
def main(by_itself, fails):
    for row in range(200_000): treadle.progress(row / 200_000, "row %d" % row)
    if by_itself:
        for _ in range(100): say(b'{"type":"progress","fraction":0.5,"message":"flood"}\\n' * 2_000)
    treadle.progress(1, "all rows")
    if fails: raise ValueError("the true reason")
    return {"score": 1, "report": "text"}
`;

test.each([
  ["by treadle.progress", false],
  ["by the control channel too", true],
])(
  "progress, told without end %s, leaves outputs, the reason of a failure, and the newest progress",
  async (_how, by) => {
    const kinds = { by_itself: "boolean", fails: "boolean" } as const;
    const ran = await bench.run({
      code: LOOP,
      kinds,
      inputs: { by_itself: by, fails: false },
      outputs: ["score", "report"],
    });
    expect([ran.outcome.status, ran.outcome.message]).toEqual(["success", ""]);
    expect(ran.names).toEqual({ score: "score.json", report: "report.txt" });
    expect(ran.progress.at(-1)).toEqual({ fraction: 1, message: "all rows" });
    if (!by) expect(ran.progress.length).toBeLessThanOrEqual(20 * Math.ceil(ran.outcome.secondsUsed) + 1);
    const failed = await bench.run({ code: LOOP, kinds, inputs: { by_itself: by, fails: true } });
    expect(failed.outcome).toMatchObject({ status: "failed", message: "ValueError: the true reason" });
  },
);

test("control channel, claiming a success for a crash, is not believed", async () => {
  const ran = await bench.run({
    code: `import os\nos.write(3, b'{"type":"end","kind":"exit","code":0,"message":""}\\n')\nos.kill(os.getpid(), 9)`,
  });
  expect(ran.outcome).toMatchObject({ status: "failed", message: "The process was killed by SIGKILL." });
});
