import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createRunDiskPool } from "../../sandbox/run-disks.ts";
import { type PreparedRunDisks, prepareRunDisks } from "../../src/setup/run-disks.ts";
import { runCommand } from "../../src/setup/servers/command.ts";
import { runInLane } from "../sandbox/lane-runs.ts";
import { makeFolder } from "./folders.ts";
import { type Bench, openWarmBench, type Program, type Ran } from "./harness.ts";

const MIB = 1024 * 1024;
const OUTPUT_BYTES_MAX = 32 * MIB;
/** What the kernel lets an execution write, tables of the file system included. */
const DISK_BYTES_MAX = OUTPUT_BYTES_MAX + 128 * MIB;
const IS_ROOT = process.getuid?.() === 0;

const NO_SCRATCH = {
  trim: () => undefined,
  openScratch: () => Promise.reject(new Error("not needed")),
  closeScratch: () => Promise.reject(new Error("not needed")),
};

let dataDir: string;
let prepared: PreparedRunDisks;
let bench: Bench;
let disks: readonly string[] = [];

beforeAll(async () => {
  dataDir = makeFolder("disks");
  const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const size = { cold: 2, lanes: 10, outputBytesMax: OUTPUT_BYTES_MAX, outputFilesMax: 50 };
  prepared = await (await prepareRunDisks({ dataDir, owner, size, run: runCommand })).ready;
  disks = prepared.problem === undefined ? [...prepared.cold, ...prepared.lanes] : [];
  bench = await openWarmBench({ disks: prepared.problem === undefined ? prepared : undefined });
});
afterAll(async () => {
  await bench.close();
  await prepared.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function runBothWays(program: Program): Promise<Ran[]> {
  return [await bench.run(program), await runInLane(bench.commit(program))];
}

const COMMON = `
import mmap, os, socket, time
held = []
os.chdir("outputs")
def keep(name):
    fd = os.open(name, os.O_RDWR | os.O_CREAT)
    os.write(fd, b"x" * (1 << 20))
    return fd
def fill():
`;
/** Swallows what the kernel says, and waits for somebody to look. */
const AGAIN = `
while True:
    try: fill()
    except OSError: time.sleep(0.01)
`;

const HIDDEN = {
  "deep folders": `
    while True:
        os.mkdir("d"); os.chdir("d"); os.close(keep("f"))`,
  "files without a name that are mapped": `
    while True:
        fd = keep("f"); os.unlink("f"); held.append(mmap.mmap(fd, 1 << 20)); os.close(fd)`,
  "files in flight between sockets": `
    while True:
        ours, theirs = socket.socketpair(); fd = keep("f"); os.unlink("f")
        socket.send_fds(ours, [b"x"], [fd]); os.close(fd); held.extend([ours, theirs])`,
} as const;

test.each(Object.entries(HIDDEN))(
  "outputs, grown by %s, cold and in a lane, end the execution in the usual words",
  async (_name, way) => {
    if (!IS_ROOT) return expect(prepared.problem).toBe("the service is not started as root");
    let most = 0;
    const looking = setInterval(() => {
      for (const dir of disks) most = Math.max(most, usedBytes(dir));
    }, 20);
    for (const ran of await runBothWays({ code: COMMON + way + AGAIN })) {
      expect(ran.outcome).toMatchObject({
        status: "failed",
        // Whichever of the two the watchdog sees first, where folders are deep.
        message: expect.stringMatching(
          /^The outputs grew beyond the 32 MiB they may have\.$|more than 16 folders deep\.$/,
        ),
      });
    }
    clearInterval(looking);
    expect(most).toBeLessThanOrEqual(DISK_BYTES_MAX);
    await expectEmptyDisks();
  },
);

test("outputs, 20,000 folders and files of no size, cold and in a lane, end where the kernel says so", async () => {
  if (!IS_ROOT) return expect(prepared.problem).toBeDefined();
  const code = `
import os
n = 0
try:
    while n < 20_000:
        os.mkdir("outputs/%d" % n); n += 1
except OSError as error: print(error.strerror, n < 2_000)
`;
  // On a machine without time the watchdog may come to look before the kernel has refused anything.
  const ends = /^No space left on device True$|^More than the \d+ output files that are allowed were made\.$/;
  for (const { stdout, outcome } of await runBothWays({ code }))
    expect([stdout, outcome.message]).toContainEqual(expect.stringMatching(ends));
  await expectEmptyDisks();
});

test("outputs, of a few bytes and of many, cold and in a lane, arrive whole, and nothing of them stays on the disk", async () => {
  const code = `
import os
os.makedirs("outputs/sub")
open("outputs/small.txt", "w").write("small")
open("outputs/sub/also.txt", "w").write("also")
open("outputs/large.bin", "wb").write(b"x" * (9 << 20))
`;
  for (const ran of await runBothWays({ code })) {
    expect(ran.outcome.status).toBe("success");
    expect(ran.outputs.map(({ fileName, bytes }) => [fileName, bytes])).toEqual([
      ["large.bin", 9 * MIB],
      ["small.txt", 5],
      ["sub/also.txt", 4],
    ]);
    expect(ran.texts).toMatchObject({ small: "small", "sub/also.txt": "also" });
  }
  await expectEmptyDisks();
});

test("outputs, written through to the disk and deleted, cold and in a lane, give their room back to all", async () => {
  if (!IS_ROOT) return expect(prepared.problem).toBeDefined();
  const code = `
import os
fd = os.open("outputs/x", os.O_RDWR | os.O_CREAT); os.write(fd, b"x" * (30 << 20)); os.fsync(fd); os.unlink("outputs/x")
`;
  for (const ran of await runBothWays({ code })) expect(ran.outcome.status).toBe("success");
  const images = disks.map((dir) => `${dir}.img`);
  const large = () => images.filter((image) => statSync(image).blocks * 512 > 16 * MIB);
  for (let look = 0; large().length > 0 && look < 400; look++) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(large()).toEqual([]);
});

test("outputs, on disks that were made anew, cold, are on them and arrive", async () => {
  if (!IS_ROOT) return expect(disks).toEqual([]);
  const cold = prepared.problem === undefined ? prepared.cold : [];
  const program = { code: "def main(): open('outputs/kept.txt', 'w').write('x' * 4096)" };
  // No disk with such a name in it can be cleared.
  for (const dir of cold) writeFileSync(Buffer.concat([Buffer.from(`${dir}/`), Buffer.from([0xff])]), "");
  for (const _ of cold) expect((await bench.run(program)).outcome.status).toBe("success");
  for (const dir of cold) while (readdirSync(dir).length > 0) await sleep(20);
  // Those that wait were started before.
  for (const _ of [...cold, ...cold])
    expect(await bench.run(program)).toMatchObject({ outcome: { status: "success" }, outputs: [{ name: "kept" }] });
});

test("outputs, by many executions in turn, cold, never wait for ever for a disk", async () => {
  const rans = await Promise.all(Array.from({ length: 6 }, () => bench.run({ code: "def main(): return {'ok': 1}" })));
  expect(rans.map(({ outcome }) => outcome.status)).toEqual(Array(6).fill("success"));
});

test("pool of disks, one that cannot be cleared, renews it before it is used again", async () => {
  const root = mkdtempSync(join(tmpdir(), "treadle-pool-"));
  const gone = join(root, "gone");
  const pool = createRunDiskPool([gone], { ...NO_SCRATCH, renew: async (dir) => mkdirSync(dir) }); // It is not there, so it cannot be read.
  const disk = await pool.take();
  expect(pool.tryTake()).toBeUndefined();
  const next = pool.take();
  await disk.giveBack();
  await disk.giveBack(); // Twice is once.
  expect((await next).dir).toBe(gone);
  expect(readdirSync(root)).toEqual(["gone"]);
  expect(pool.tryTake()).toBeUndefined();
  rmSync(root, { recursive: true });
});

test("pool of disks, whoever waits and gives up, leaves the disk to the next", async () => {
  const root = mkdtempSync(join(tmpdir(), "treadle-pool-"));
  const pool = createRunDiskPool([root], {
    ...NO_SCRATCH,
    renew: () => Promise.reject(new Error("not needed")),
  });
  const disk = await pool.take();
  const giveUp = new AbortController();
  const waiting = pool.take(giveUp.signal);
  giveUp.abort(new Error("cancelled"));
  await expect(waiting).rejects.toThrow("cancelled");
  await disk.giveBack();
  expect(pool.tryTake()?.dir).toBe(root);
  rmSync(root, { recursive: true });
});

function usedBytes(dir: string): number {
  const { blocks, bfree, bsize } = statfsSync(dir);
  return (blocks - bfree) * bsize;
}

/** They are cleared behind the end of an execution, not before it. */
async function expectEmptyDisks(): Promise<void> {
  const used = () => disks.filter((dir) => usedBytes(dir) > MIB);
  for (let look = 0; used().length > 0 && look < 200; look++) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(used()).toEqual([]);
}
