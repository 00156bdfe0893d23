import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createDiskRoom } from "../../sandbox/disk-room.ts";
import { createSandbox, type Sandbox, type SandboxResult } from "../../sandbox/sandbox.ts";
import { writeFolder } from "./folders.ts";
import { type Bench, LIMITS, openBench } from "./harness.ts";

const MIB = 1024 * 1024;
const DISK_BYTES = 256 * MIB;
const RESERVE = 64 * MIB;
const isRoot = process.getuid?.() === 0;

let bench: Bench;
let sandbox: Sandbox;
let disk: string;
let count = 0;

/** A small disk for root. Others have a folder that counts as one: what the kernel hides, only a disk shows. */
beforeAll(async () => {
  bench = await openBench();
  sandbox = createSandbox(bench.settings);
  disk = join(bench.root, "disk");
  mkdirSync(disk, { mode: 0o755 });
  if (isRoot) execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_BYTES},mode=755`, "treadle-test", disk]);
});
afterAll(async () => {
  await sandbox?.close();
  if (isRoot) execFileSync("umount", ["-l", disk]);
  await bench?.close();
});

function readFree(): number {
  if (!isRoot)
    return DISK_BYTES - Number(execFileSync("du", ["-sk", disk], { encoding: "utf8" }).split("\t")[0]) * 1024;
  const { bavail, bsize } = statfsSync(disk);
  return bavail * bsize;
}

const openRoom = () => createDiskRoom(disk, { readFree, reserve: RESERVE, lookEveryMs: 20 });

/** Runs code with its outputs on the disk, as the service does: begun when its worst case fits. */
async function runOn(
  room: ReturnType<typeof openRoom>,
  code: string,
  outputBytesMax: number,
): Promise<SandboxResult & { spoolDir: string }> {
  const name = `execution-${++count}`;
  const commitDir = writeFolder(join(bench.root, name, "commit"), { "main.py": code });
  const spoolDir = writeFolder(join(disk, name), {});
  const share = await room.reserve(outputBytesMax);
  try {
    const result = await sandbox.run(
      {
        executionId: name,
        commitDir,
        environmentDir: null,
        entrypoint: "main.py",
        spoolDir,
        inputs: {},
        kinds: {},
        files: [],
        declaredOutputs: null,
        limits: { ...LIMITS, outputBytesMax },
      },
      { disk: share },
    );
    return { ...result, spoolDir };
  } finally {
    share?.release();
  }
}

const FILL = (mib: number) => `
for number in range(${mib}):
    with open("outputs/%d" % (number // 32), "ab") as file: file.write(b"x" * (1 << 20))
`;

test("executions, whose outputs fit the disk one after the other only, all succeed, and the disk is never full", async () => {
  const room = openRoom();
  let least = DISK_BYTES;
  const watching = setInterval(() => (least = Math.min(least, readFree())), 20);
  const runs = [1, 2, 3, 4].map(async () => {
    const ran = await runOn(room, FILL(70), 80 * MIB);
    rmSync(ran.spoolDir, { recursive: true }); // As when storage has them.
    return ran.outcome;
  });
  const outcomes = await Promise.all(runs).finally(() => clearInterval(watching));
  expect(outcomes.map(({ status, message }) => [status, message])).toEqual(Array(4).fill(["success", ""]));
  expect(least).toBeGreaterThanOrEqual(RESERVE);
});

test("an execution that fills a disk it was not to fill is ended, charged, and leaves nothing on it", async () => {
  // Promised little and allowed much: as if something else had taken the room meanwhile.
  const room = openRoom();
  const { outcome, outputs, spoolDir } = await runOn(
    { ...room, reserve: () => room.reserve(1) },
    `${FILL(210)}\nimport time\ntime.sleep(30)\n`,
    1024 * MIB,
  );
  expect(outcome.status).toBe("failed");
  expect(outcome.message).toBe("The outputs filled the disk of the machine, and the execution was stopped.");
  expect(outcome.secondsUsed).toBeGreaterThan(0);
  expect(outputs).toEqual([]);
  expect(existsSync(join(spoolDir, "outputs")) ? readdirSync(join(spoolDir, "outputs")) : []).toEqual([]);
  expect(readFree()).toBeGreaterThan(DISK_BYTES - 16 * MIB);
});

test("an execution that fails because it has filled its disk, before anybody looked, leaves nothing, and its log says why", async () => {
  if (!isRoot) return; // Needs a disk of its own.
  const others = join(disk, "others");
  writeFileSync(others, Buffer.alloc(100 * MIB)); // Of this disk, what a program writes counts as its memory, too.
  const nobodyLooks = { ...openRoom(), reserve: () => Promise.resolve(undefined) };
  const { outcome, outputs, spoolDir } = await runOn(nobodyLooks, FILL(210), 1024 * MIB);
  rmSync(others);
  expect([outcome.status, outcome.message, outputs]).toEqual(["failed", expect.stringContaining("No space left"), []]);
  expect(readFileSync(join(spoolDir, "log.ndjson"), "utf8")).toContain("No output is kept");
  expect(readFree()).toBeGreaterThan(DISK_BYTES - 16 * MIB);
});

const IN_FLIGHT = `
import array, os, socket, time
one, other = socket.socketpair()
for number in range(60):
    file = os.open("outputs/%d" % number, os.O_CREAT | os.O_RDWR)
    os.write(file, b"x" * (4 << 20))
    os.unlink("outputs/%d" % number)
    one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))])
    os.close(file)
    time.sleep(0.01)
time.sleep(30)
`;

test("an execution that fills a disk with files in flight is ended, though nobody can see them", async () => {
  if (!isRoot) return; // Needs a disk of its own.
  const room = openRoom();
  const { outcome } = await runOn({ ...room, reserve: () => room.reserve(1) }, IN_FLIGHT, 1024 * MIB);
  expect([outcome.status, outcome.message]).toEqual([
    "failed",
    "The outputs filled the disk of the machine, and the execution was stopped.",
  ]);
  expect(readFree()).toBeGreaterThan(DISK_BYTES - 16 * MIB);
});
