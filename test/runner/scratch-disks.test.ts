import { readdirSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type PreparedRunDisks, prepareRunDisks } from "../../src/setup/run-disks.ts";
import { runCommand } from "../../src/setup/servers/command.ts";
import { makeFolder } from "./folders.ts";
import { type Bench, IN_GVISOR, openBench, openWarmBench, type Program, LIMITS as USUAL } from "./harness.ts";

const MIB = 1024 * 1024;
const SCRATCH_BYTES = 64 * MIB;
/** From the documentation, not from the code. */
const SCRATCH_BYTES_MAX = SCRATCH_BYTES + 64 * MIB;
const IS_ROOT = process.getuid?.() === 0;
/** Programs have less memory than scratch, so that nothing of it can be in memory. */
const LIMITS = { memoryBytes: 48 * MIB, scratchBytes: SCRATCH_BYTES };

const CEILINGS = { ...USUAL, scratchBytes: SCRATCH_BYTES };

let dataDir: string;
let prepared: PreparedRunDisks;
let bench: Bench;
let folder = "";

beforeAll(async () => {
  dataDir = makeFolder("scratch-disks");
  const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const size = { cold: 2, lanes: 2, outputBytesMax: 32 * MIB, outputFilesMax: 50 };
  prepared = await (await prepareRunDisks({ dataDir, owner, size, run: runCommand })).ready;
  bench = await openWarmBench({ disks: prepared.problem === undefined ? prepared : undefined, limits: CEILINGS });
  folder = join(dataDir, "disks", readdirSync(join(dataDir, "disks"))[0] ?? "");
});
afterAll(async () => {
  await bench.close();
  await prepared.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const run = (code: string, more: Partial<Program> = {}) =>
  bench.run({ code: COMMON + code, isScratchOnDisk: true, limits: LIMITS, ...more });

const COMMON = `
import ctypes, errno, glob, mmap, os, shutil, stat, subprocess, sys
MIB = 1 << 20
def keep(name):
    fd = os.open(name, os.O_RDWR | os.O_CREAT)
    os.write(fd, b"x" * MIB)
    return fd
def attempt(what):
    try: return what()
    except OSError as error: return errno.errorcode[error.errno]
`;

/** Which disks there are, by the folders that they are mounted at. */
const listLeft = () => readdirSync(folder).filter((name) => name.startsWith("s"));
const countMounts = () => readFileSync("/proc/self/mountinfo", "utf8").split(`${folder}/s`).length - 1;

async function expectNoDisk(): Promise<void> {
  expect([listLeft(), countMounts()]).toEqual([[], 0]);
}

test("scratch on disk, larger than the memory, holds its bytes in both folders together, and not one file system more", async () => {
  if (!IS_ROOT) return expect(prepared.problem).toBe("the service is not started as root");
  const ran = await run(`
written = 0
def fill():
    global written
    for n in range(200):
        with open(("/tmp/%d" if n % 2 else "/app/%d") % n, "wb", 0) as file: written += file.write(b"x" * MIB)
print(attempt(fill), written // MIB)
shutil.rmtree("/tmp/1", ignore_errors=True); os.remove("/tmp/1"); print(attempt(lambda: open("/tmp/again", "wb").write(b"x")))
print(attempt(lambda: os.mkdir("/scratch")), attempt(lambda: os.mkdir("/x")), os.path.ismount("/dev/shm"))
open("outputs/kept.txt", "w").write("kept")
`);
  expect([ran.outcome.status, ran.outcome.message, ran.path]).toEqual(["success", "", "cold"]);
  const [full = "", ...rest] = ran.stdout.split("\n");
  expect(rest).toEqual(["1", "EROFS EROFS True"]);
  expect(full).toMatch(/^ENOSPC \d+$/);
  const mebibytes = Number(full.split(" ")[1]);
  expect(mebibytes).toBeGreaterThanOrEqual(64);
  expect(mebibytes * MIB).toBeLessThan(SCRATCH_BYTES_MAX);
  expect(ran.texts).toEqual({ kept: "kept" });
  await expectNoDisk();
});

/** Each goes on after the first error, for as long as it may: what it holds without a name counts, too. */
const WAYS = {
  "deep folders": `
def fill():
    os.chdir("/tmp")
    while True: os.makedirs("d", exist_ok=True); os.chdir("d"); os.close(keep("f"))`,
  "files without a name": `
held = []
def fill():
    while True: held.append(keep("/tmp/f")); os.unlink("/tmp/f")`,
  "files without a name that are mapped": `
held = []
def fill():
    while True:
        fd = keep("/tmp/f"); os.unlink("/tmp/f"); held.append(mmap.mmap(fd, MIB)); os.close(fd)`,
  "hard links of what is deleted": `
def fill():
    n = 0
    while True: os.close(keep("/tmp/f")); os.link("/tmp/f", "/tmp/l%d" % n); os.unlink("/tmp/f"); n += 1`,
} as const;

test.each(Object.entries(WAYS))(
  "scratch on disk, filled in a loop with %s, ends at the kernel's limit",
  async (_name, way) => {
    if (!IS_ROOT) return expect(prepared.problem).toBeDefined();
    let most = 0;
    const looking = setInterval(() => {
      for (const each of listLeft()) most = Math.max(most, usedBytes(join(folder, each)));
    }, 20);
    const code = `${way}\nprint(attempt(fill), attempt(fill), attempt(fill))`;
    const ran = await run(code).finally(() => clearInterval(looking));
    expect([ran.stdout, ran.outcome.message]).toEqual(["ENOSPC ENOSPC ENOSPC", ""]);
    expect(most).toBeLessThanOrEqual(SCRATCH_BYTES_MAX);
    expect(most).toBeGreaterThan(SCRATCH_BYTES / 2);
    await expectNoDisk();
  },
);

test("scratch on disk, with a sparse file of a tebibyte that is mapped and written, ends the program, and nothing else", async () => {
  if (!IS_ROOT) return expect(prepared.problem).toBeDefined();
  const ran = await run(`
fd = os.open("/tmp/sparse", os.O_RDWR | os.O_CREAT)
print(attempt(lambda: os.truncate(fd, 1 << 40)), attempt(lambda: os.truncate(fd, 60 * MIB)), attempt(lambda: os.posix_fallocate(fd, 0, 1 << 27)), flush=True)
other = os.open("/app/other", os.O_RDWR | os.O_CREAT); os.truncate(other, 60 * MIB)
for each in (fd, other):
    mapped = mmap.mmap(each, 60 * MIB)
    for at in range(0, 60 * MIB, 4096): mapped[at] = 1
    mapped.flush()
`);
  expect(ran.stdout).toMatch(/^E\w+ None E\w+$/);
  expect(ran.outcome).toMatchObject({ status: "failed", message: expect.stringMatching(/SIGBUS/) });
  await expectNoDisk();
});

test("scratch on disk, has no devices, no set-user-id, no mounts, and no way to another disk", async () => {
  if (!IS_ROOT) return expect(prepared.problem).toBeDefined();
  const ran = await run(`
for path in ("/tmp", "/app"):
    flags = os.statvfs(path).f_flag
    print(bool(flags & os.ST_NOSUID), bool(flags & os.ST_NODEV))
print(attempt(lambda: os.mknod("/tmp/disk", stat.S_IFBLK | 0o666, os.makedev(7, 0))))
print(attempt(lambda: os.open("/dev/loop-control", os.O_RDWR)), attempt(lambda: os.mkdir("/app/../x")))
shutil.copy("/usr/bin/id", "/tmp/id"); os.chmod("/tmp/id", 0o6755)
print(subprocess.run(["/tmp/id", "-u"], capture_output=True, text=True).stdout.strip())
libc = ctypes.CDLL(None, use_errno=True)
print(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None), libc.umount2(b"/tmp", 2))
print(attempt(lambda: os.link("/app/main.py", "/tmp/linked")))
print(sorted(os.listdir("/")), os.listdir("/tmp") == ["id"])
`);
  expect(ran.stdout.split("\n")).toEqual([
    "True True",
    "True True",
    "EPERM",
    "ENOENT EROFS",
    "10001",
    "-1 -1",
    "EXDEV",
    expect.stringMatching(/^\['app', .*'tmp', 'usr'\] True$/),
  ]);
  await expectNoDisk();
});

test("scratch on disk, after a run that left all that it could, is empty for the next, also for one that reads it raw", async () => {
  if (!IS_ROOT) return expect(prepared.problem).toBeDefined();
  const leave = `
for folder in ("/tmp", "/app"):
    for name in ("plain", ".hidden", "..both", "-rf", "*", "\\n"): open(os.path.join(folder, name), "w").write("SECRET" * 1000)
    os.makedirs(folder + "/closed/below"); os.chmod(folder + "/closed", 0)
    os.symlink("/", folder + "/link")
if os.fork() == 0:
    os.setsid(); held = open("/tmp/held", "w")
    while True: held.write("x" * 4096)
`;
  expect((await run(leave)).outcome.status).toBe("success");
  await expectNoDisk();
  const looks = await Promise.all(
    Array.from({ length: 4 }, () =>
      run(`
print(sorted(os.listdir("/tmp")), sorted(os.listdir("/app")))
fd = os.open("/tmp/raw", os.O_RDWR | os.O_CREAT); os.posix_fallocate(fd, 0, 32 * MIB)
print(b"SECRET" in os.pread(fd, 32 * MIB, 0))
open("/tmp/mine", "w"); print(90_000 < os.statvfs("/tmp").f_ffree < 110_000) # More of them take memory that nobody counts.
`),
    ),
  );
  for (const { stdout } of looks)
    expect(stdout.split("\n")).toEqual(["[] ['inputs', 'inputs.json', 'main.py', 'outputs']", "False", "True"]);
  await expectNoDisk();
});

test("scratch on disk, of a commit that could be warm, starts cold and says why; other commits have their lanes", async () => {
  const commit = bench.commit({ code: "print(1)", isScratchOnDisk: true, limits: LIMITS });
  expect(await commit.warm()).toEqual({ warm: false, reason: expect.stringContaining("limits.scratch") });
  expect(await bench.commit({ code: "print(1)" }).warm()).toEqual({ warm: true });
});

test("scratch on disk, cancelled while it writes, leaves no disk", async () => {
  if (!IS_ROOT) return expect(prepared.problem).toBeDefined();
  const cancelling = new AbortController();
  const ran = await run("print(1, flush=True)\nwhile True: keep('/tmp/f')", {
    signal: cancelling.signal,
    onLine: () => cancelling.abort(),
    limits: { ...LIMITS, openFiles: 64 },
  });
  expect(["cancelled", "failed"]).toContain(ran.outcome.status);
  await expectNoDisk();
});

test("scratch on disk, where the host has no disks or they cannot be made, does not begin", async () => {
  if (IN_GVISOR !== undefined) return;
  const bare = await openBench({ limits: CEILINGS });
  const program = { code: "print(1)", isScratchOnDisk: true, limits: LIMITS };
  await expect(bare.run(program)).rejects.toThrow("no disks for scratch folders");
  await bare.close();
});

function usedBytes(dir: string): number {
  try {
    const { blocks, bfree, bsize } = statfsSync(dir);
    return bsize === 4096 && blocks * bsize < 2 * SCRATCH_BYTES ? (blocks - bfree) * bsize : 0;
  } catch {
    return 0; // It has just gone.
  }
}
