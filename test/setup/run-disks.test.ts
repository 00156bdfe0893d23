import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { loadSettings } from "../../src/config.ts";
import { outputsCheck } from "../../src/metrics/readiness.ts";
import { findRunDiskProblem, prepareRunDisks, runDisksSizeOf } from "../../src/setup/run-disks.ts";
import { runCommand } from "../../src/setup/servers/command.ts";
import { SYSTEM_PATH } from "../../src/setup/user.ts";
import { aFolder, afterwards, aProgram, IS_ROOT, NODE_ARGUMENTS, RUN_AS, until } from "./servers/surroundings.ts";

const MIB = 1024 * 1024;
/** 128 MB more than the outputs may have: from the documentation, not from the code. */
const SIZE = { cold: 2, lanes: 1, outputBytesMax: 16 * MIB, outputFilesMax: 50 };
const DISK_BYTES_MAX = 144 * MIB;
const KEEPER = fileURLToPath(new URL("keep-disks-here.ts", import.meta.url));
const owner = RUN_AS ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

/** What is mounted below a folder. */
function mountsBelow(folder: string): string[] {
  const paths = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "");
  return paths.filter((path) => path.startsWith(`${folder}/`));
}

async function prepare(dataDir: string, path?: string) {
  const { ready } = await prepareRunDisks({
    dataDir,
    owner,
    size: SIZE,
    run: runCommand,
    ...(path === undefined ? {} : { path }),
  });
  const disks = await ready;
  afterwards(() => disks.close());
  return disks;
}

/** Writes until it may not, as the user of programs; prints why, and how much was kept at the end. */
const WAYS = {
  "deep folders": `
while True:
    os.mkdir("d"); os.chdir("d"); keep("f")`,
  "files without a name": `
while True:
    held.append(keep("f")); os.unlink("f")`,
  "files without a name that are mapped": `
while True:
    fd = keep("f"); held.append(mmap.mmap(fd, MIB)); os.close(fd); os.unlink("f")`,
  "files in flight between sockets": `
while True:
    ours, theirs = socket.socketpair(); held.extend([ours, theirs])
    fd = keep("f"); socket.send_fds(ours, [b"x"], [fd]); os.close(fd); os.unlink("f")`,
  "small files": `
for n in range(20_000): open(str(n), "w").close()`,
  folders: `
for n in range(20_000): os.mkdir(str(n))`,
} as const;

const COMMON = `
import errno, mmap, os, resource, socket, sys
MIB = 1 << 20
held = []
written = 0
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
os.chdir(sys.argv[1])
def keep(name):
    global written
    fd = os.open(name, os.O_RDWR | os.O_CREAT)
    written += os.write(fd, b"x" * MIB)
    return fd
try:
    exec(sys.argv[2])
    print("nothing stopped it")
except OSError as error:
    usage = os.statvfs(sys.argv[1])
    print(errno.errorcode[error.errno], written, usage.f_files - usage.f_ffree)
`;

function write(dir: string, way: string): string {
  const folder = join(dir, "outputs");
  mkdirSync(folder);
  execFileSync("chown", [`${owner.uid}:${owner.gid}`, folder]);
  return execFileSync("python3", ["-c", COMMON, folder, way], { encoding: "utf8", cwd: "/", ...RUN_AS }).trim();
}

test("disks are all alike: empty folders of their owner that others may pass, also while another process copies its mounts", async () => {
  const copying = spawn("/bin/sh", ["-c", "while :; do unshare --mount sleep 0.2 & sleep 0.02; done"], {
    stdio: "ignore",
    detached: true,
  });
  afterwards(() => process.kill(-(copying.pid ?? 0), "SIGKILL"));
  const disks = await prepare(aFolder());
  if (!IS_ROOT) return expect(disks.problem).toBe("the service is not started as root");
  if (disks.problem !== undefined) throw new Error(disks.problem);
  for (const dir of [...disks.cold, ...disks.lanes]) {
    const { uid, gid, mode } = statSync(dir);
    expect([dir, uid, gid, (mode & 0o7777).toString(8), readdirSync(dir)]).toEqual([
      dir,
      owner.uid,
      owner.gid,
      "711",
      [],
    ]);
  }
});

test.each(Object.entries(WAYS))(
  "disks, filled with %s by another user, end at their own limit, and the next is untouched",
  async (name, way) => {
    const dataDir = aFolder();
    const disks = await prepare(dataDir);
    if (!IS_ROOT) return expect(disks.problem).toBe("the service is not started as root");
    if (disks.problem !== undefined) throw new Error(disks.problem);
    const [first = "", second = ""] = disks.cold;
    const [code, written, inodes] = write(first, way).split(" ");
    expect(code).toBe("ENOSPC");
    expect(Number(written)).toBeLessThanOrEqual(DISK_BYTES_MAX);
    expect(Number(inodes)).toBeLessThan(2_000);
    if (!/^(small|folders)/.test(name)) expect(Number(written)).toBeGreaterThan(SIZE.outputBytesMax);
    const { blocks, bfree, files, ffree } = statfsSync(second);
    expect({ blocks: blocks - bfree < 100, files: files - ffree < 20 }).toEqual({ blocks: true, files: true });
  },
);

test("disks, where the disk below takes it, are written without a second copy in memory, also when made anew", async () => {
  const dataDir = aFolder();
  const disks = await prepare(dataDir);
  if (!IS_ROOT) return expect(disks.problem).toBeDefined();
  if (disks.problem !== undefined) throw new Error(disks.problem);
  const [dir = ""] = disks.cold;
  await disks.renew(dir);
  const expected = takesDirectWrites(dataDir) ? "1" : "0";
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const devices = [...disks.cold, ...disks.lanes].map((disk) => {
    const fields = mounts.find((line) => line.split(" ")[4] === disk)?.split(" ") ?? [];
    return basename(fields[fields.indexOf("-") + 2] ?? "");
  });
  const seen = devices.map((device) => readFileSync(`/sys/block/${device}/loop/dio`, "utf8").trim());
  expect(seen).toEqual(devices.map(() => expected));
});

function takesDirectWrites(folder: string): boolean {
  try {
    closeSync(openSync(join(folder, "direct"), constants.O_CREAT | constants.O_WRONLY | constants.O_DIRECT));
    return true;
  } catch {
    return false;
  }
}

test("disks, one renewed whatever is on it, is empty, gives its room back, and belongs to the service", async () => {
  const dataDir = aFolder();
  const disks = await prepare(dataDir);
  if (!IS_ROOT) return expect(disks.problem).toBeDefined();
  if (disks.problem !== undefined) throw new Error(disks.problem);
  const [dir = ""] = disks.lanes;
  write(dir, WAYS["deep folders"]);
  await disks.renew(dir);
  expect(readdirSync(dir)).toEqual([]);
  expect(execFileSync("stat", ["-c", "%u:%g %a", dir], { encoding: "utf8" }).trim()).toBe(
    `${owner.uid}:${owner.gid} 711`,
  );
  const kilobytes = Number(
    execFileSync("du", ["-sk", "--one-file-system", dataDir], { encoding: "utf8" }).split("\t")[0],
  );
  expect(kilobytes).toBeLessThan(10_000);
});

test("disks, closed, leave no mount, no file and no folder", async () => {
  const dataDir = aFolder();
  const disks = await prepare(dataDir);
  expect(mountsBelow(dataDir).length).toBe(IS_ROOT ? 3 : 0);
  await disks.close();
  expect(mountsBelow(dataDir)).toEqual([]);
  expect(readdirSync(join(dataDir, "disks"))).toEqual([]);
});

test("disks, of a service that is killed, are taken away within a moment", async () => {
  if (!IS_ROOT) return expect(RUN_AS).toBeUndefined();
  const dataDir = aFolder();
  const service = spawn(process.execPath, [...NODE_ARGUMENTS, KEEPER, dataDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(service.stdout, "data");
  expect(mountsBelow(dataDir).length).toBe(4);
  const scratch = mountsBelow(dataDir).find((path) => basename(path) === "s0") ?? "";
  execFileSync("sh", ["-c", `mkdir -p '${scratch}/a/b' && echo left > '${scratch}/a/b/file'`]);
  service.kill("SIGKILL");
  await until("nothing is mounted any more", () => mountsBelow(dataDir).length === 0);
  await until("no image is left", () => readdirSync(join(dataDir, "disks")).length === 0);
});

test("disks, left by a service that was killed with their keeper, are taken away by the next start", async () => {
  if (!IS_ROOT) return expect(RUN_AS).toBeUndefined();
  const dataDir = aFolder();
  const left = join(dataDir, "disks", "1-left", "0");
  mkdirSync(left, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "tmpfs", left]);
  writeFileSync(`${left}.img`, "image");
  const disks = await prepare(dataDir);
  expect(disks.problem).toBeUndefined();
  expect(existsSync(join(dataDir, "disks", "1-left"))).toBe(false);
  expect(mountsBelow(dataDir).every((path) => !path.includes("1-left"))).toBe(true);
});

test("disks, whose folder is a link that somebody laid, are not made, and nothing behind it is touched", async () => {
  const dataDir = aFolder();
  const elsewhere = aFolder();
  mkdirSync(join(elsewhere, "precious"));
  symlinkSync(elsewhere, join(dataDir, "disks"));
  const disks = await prepare(dataDir);
  expect(disks.problem).toMatch(IS_ROOT ? /is not a folder of root's/ : /not started as root/);
  expect(readdirSync(elsewhere)).toEqual(["precious"]);
});

/** The system's programs, but one of them as given. */
function withProgram(name: string, body: string): string {
  const folder = aFolder();
  aProgram(join(folder, name), body);
  return `${folder}:${SYSTEM_PATH}`;
}

test.each([
  [
    "a kernel without loop devices",
    "mount",
    "echo 'mount: failed to setup loop device' >&2; exit 1",
    /failed to setup loop device/,
  ],
  [
    "a file system that cannot be made",
    "mkfs.ext4",
    "echo 'mkfs.ext4: no such feature' >&2; exit 1",
    /no such feature/,
  ],
  ["a program that fails without a word", "truncate", "exit 1", /no reason given/],
])("disks, on %s, are left out with the reason, and nothing stays", async (_name, program, body, reason) => {
  const dataDir = aFolder();
  const disks = await prepare(dataDir, withProgram(program, body));
  expect(disks.problem).toMatch(IS_ROOT ? reason : /not started as root/);
  expect(mountsBelow(dataDir)).toEqual([]);
  if (IS_ROOT) expect(readdirSync(join(dataDir, "disks"))).toEqual([]);
});

test("disks, without the programs that make them, are left out and say which is missing", async () => {
  expect(await findRunDiskProblem(aFolder())).toBe(
    IS_ROOT ? "there is no mkfs.ext4" : "the service is not started as root",
  );
});

test("disks, for a service that runs no programs or none in sandboxes, are not made", () => {
  const count = (env: Record<string, string>) => {
    const { cold, lanes } = runDisksSizeOf(loadSettings(env));
    return cold + lanes;
  };
  expect(count({ TREADLE_ROLE: "api" })).toBe(0);
  expect(count({ TREADLE_ISOLATION: "none" })).toBe(0);
  expect(count({ TREADLE_SANDBOX_SLOTS: "3", TREADLE_LANES_MAX: "0" })).toBe(5);
  expect(count({ TREADLE_SANDBOX_SLOTS: "3", TREADLE_LANES_MAX: "4" })).toBe(11);
});

test("readiness, on either rung, is given, and says which it is", () => {
  expect(outputsCheck(undefined)).toEqual({ ok: true, message: expect.stringContaining("the kernel bounds") });
  expect(outputsCheck("there are no loop devices")).toEqual({
    ok: true,
    message:
      "What programs write is measured ten times a second, and bounded by nothing else: there are no disks for programs, because there are no loop devices. They need a service that is started as root, e2fsprogs and loop devices. Scratch folders cannot be on disk: no workflow may have more in limits.scratch than in limits.memory.",
  });
});
