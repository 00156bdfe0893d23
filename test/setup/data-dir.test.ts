import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate as immediate } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { DATA_VERSION, type DataDirOptions, prepareDataDir } from "../../src/setup/data-dir.ts";
import { handOver, handOverNew, layOutDataDir } from "../../src/setup/data-folders.ts";
import { canReach } from "../../src/setup/servers/reachability.ts";
import { removeTree } from "../../system/trees/remove-tree.ts";
import { makeDeep } from "../support/trees.ts";
import { aFolder, IS_ROOT, RUN_AS } from "./servers/surroundings.ts";

const US = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const reports: string[] = [];

function prepare(wanted: string, options: Partial<DataDirOptions> = {}): Promise<string> {
  return prepareDataDir({
    wanted,
    traveller: RUN_AS,
    owner: US,
    report: (line) => reports.push(line),
    outsideFolder: join(aFolder(), "outside"),
    ...options,
  });
}

const mode = (path: string) => statSync(path).mode & 0o7777;

/** A data folder as a first start leaves it. */
async function aDataDir(): Promise<string> {
  const dir = await prepare(join(aFolder(), "data"));
  await layOutDataDir(dir, US);
  return dir;
}

test("prepareDataDir, at the first start, makes a folder that others can pass through only where somebody else must", async () => {
  const wanted = join(aFolder(), "deep/data");
  expect(await prepare(wanted)).toBe(wanted);
  expect(mode(wanted)).toBe(IS_ROOT ? 0o711 : 0o700);
  expect(readdirSync(wanted)).toEqual([]);
});

test("prepareDataDir, when the service becomes its owner, closes the folder to everybody else", async () => {
  const wanted = join(aFolder(), "data");
  const owner = RUN_AS ?? US;
  await prepare(wanted, { owner });
  expect(mode(wanted)).toBe(0o700);
  expect(statSync(wanted).uid).toBe(owner.uid);
});

test("prepareDataDir, under a folder closed to the unprivileged user, keeps the data outside and links there, also at the next start", async () => {
  if (!IS_ROOT) return expect(RUN_AS).toBeUndefined();
  const home = aFolder();
  chmodSync(home, 0o700);
  const outsideFolder = join(aFolder(), "outside");
  const wanted = join(home, ".treadle");
  reports.length = 0;
  const dir = await prepare(wanted, { outsideFolder });
  expect(dir).toMatch(/outside\/treadle-[0-9a-f]{8}$/);
  expect(readlinkSync(wanted)).toBe(dir);
  expect(await canReach(dir, "x", RUN_AS)).toBe(true);
  expect(reports.join()).toContain(`the data are kept in ${dir}, and ${wanted} is a link to it`);

  await layOutDataDir(dir, US);
  expect(await prepare(wanted, { outsideFolder })).toBe(dir);
  expect(mode(home)).toBe(0o700);
});

test("prepareDataDir, when its link was deleted, starts empty and names the data left behind", async () => {
  if (!IS_ROOT) return expect(RUN_AS).toBeUndefined();
  const home = aFolder();
  chmodSync(home, 0o700);
  const outsideFolder = join(aFolder(), "outside");
  const wanted = join(home, ".treadle");
  const first = await prepare(wanted, { outsideFolder });
  rmSync(wanted);
  reports.length = 0;
  expect(await prepare(wanted, { outsideFolder })).toBe(`${first}-2`);
  expect(reports.join()).toContain(`${first} holds data of an earlier`);
});

test("prepareDataDir, when data are in a folder that the unprivileged user cannot enter, refuses and leaves them alone", async () => {
  if (!IS_ROOT) return expect(RUN_AS).toBeUndefined();
  const dir = await aDataDir();
  chmodSync(join(dir, ".."), 0o700);
  chmodSync(dir, 0o750);
  await expect(prepare(dir)).rejects.toThrow(/cannot enter .*TREADLE_DATA_DIR/);
  expect(lstatSync(dir).isDirectory()).toBe(true);
  expect(mode(dir)).toBe(0o750);
});

test("prepareDataDir, when the link leads nowhere, refuses instead of starting empty", async () => {
  const wanted = join(aFolder(), "data");
  symlinkSync("/nowhere/data-1", wanted);
  await expect(prepare(wanted)).rejects.toThrow("is a link to a folder that is gone");
});

test("prepareDataDir, on data of a newer version, refuses and changes nothing", async () => {
  const dir = await aDataDir();
  writeFileSync(join(dir, "data-version"), `${DATA_VERSION + 1}\n`);
  chmodSync(dir, 0o755);
  await expect(prepare(dir)).rejects.toThrow(
    `data version is ${DATA_VERSION + 1}, and this version reads up to ${DATA_VERSION}`,
  );
  expect(mode(dir)).toBe(0o755);
});

test("prepareDataDir, on a folder with files of somebody else, refuses to mix with them", async () => {
  const folder = aFolder();
  writeFileSync(join(folder, "thesis.txt"), "");
  await expect(prepare(folder)).rejects.toThrow("holds no data of Treadle");
});

test("prepareDataDir, on a folder in which a restore was killed, refuses it and says how to go on", async () => {
  const folder = join(aFolder(), "data");
  mkdirSync(join(folder, "keys"), { recursive: true });
  writeFileSync(join(folder, "restore-unfinished"), "/backups/today\n");
  await expect(prepare(folder)).rejects.toThrow(`bin/treadle restore /backups/today --data-dir ${folder}`);
  expect(readdirSync(folder).sort()).toEqual(["keys", "restore-unfinished"]);
});

test("prepareDataDir, on an empty disk or after a start that was cut off, goes on", async () => {
  const folder = aFolder();
  mkdirSync(join(folder, "lost+found"));
  writeFileSync(join(folder, "instance.lock"), "");
  expect(await prepare(folder)).toBe(folder);
});

test("prepareDataDir, on data of another user, says whose they are", async () => {
  if (!IS_ROOT) return expect(RUN_AS).toBeUndefined();
  const dir = await aDataDir();
  chownSync(dir, 54321, 54321);
  await expect(prepare(dir)).rejects.toThrow(
    `The data in ${dir} belong to user 54321, and Treadle was started by user 0`,
  );
});

test("prepareDataDir, for new data with less than 200 MiB free, refuses with both figures", async () => {
  const wanted = join(aFolder(), "data");
  await expect(prepare(wanted, { freeBytes: async () => 150 * 1024 * 1024 })).rejects.toThrow(
    "has 150 MiB left; Treadle starts with 200 MiB or more",
  );
});

test("prepareDataDir, of data that are there, on a disk with less than 200 MiB free, gives up the ballast and goes on", async () => {
  const dir = await aDataDir();
  writeFileSync(join(dir, "ballast"), "x");
  expect(await prepare(dir, { freeBytes: async () => 1024 * 1024 })).toBe(dir);
  expect(existsSync(join(dir, "ballast"))).toBe(false);
});

test("prepareDataDir, when writing meets a full disk, says so", async () => {
  const wanted = join(aFolder(), "data");
  const freeBytes = async () =>
    Promise.reject(Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" }));
  await expect(prepare(wanted, { freeBytes })).rejects.toThrow(`The disk that holds ${wanted} is full`);
});

test("prepareDataDir, on a real file system that cannot be written, says what to do", async () => {
  await expect(prepare("/sys/kernel/treadle-data")).rejects.toThrow(/cannot be written.*TREADLE_DATA_DIR/);
});

test("layOutDataDir, for root with an unprivileged user, closes secrets and files to that user and lets it pass elsewhere", async () => {
  const dir = await aDataDir();
  expect(readFileSync(join(dir, "data-version"), "utf8")).toBe(`${DATA_VERSION}\n`);
  const open = ["spool", "commits", "environments", "runtime", "tls"];
  for (const name of ["keys", "storage", "logs"]) expect(mode(join(dir, name))).toBe(0o700);
  if (!IS_ROOT) return;
  for (const name of open)
    expect({ name, open: await canReach(join(dir, name), "x", RUN_AS) }).toEqual({ name, open: true });
  for (const name of ["keys", "storage", "logs"])
    expect({ name, open: await canReach(join(dir, name), "x", RUN_AS) }).toEqual({ name, open: false });
  expect(await canReach(dir, "r", RUN_AS)).toBe(false);
});

test("layOutDataDir, when the service becomes another user than last time, hands everything of its own over and back", async () => {
  if (!IS_ROOT || RUN_AS === undefined) return expect(RUN_AS).toBeUndefined();
  const dir = await aDataDir();
  mkdirSync(join(dir, "keys/old"), { recursive: true });
  writeFileSync(join(dir, "keys/old/master"), "", { mode: 0o600 });
  symlinkSync("/etc/passwd", join(dir, "keys/link"));
  mkdirSync(join(dir, "postgres/data"), { recursive: true });
  chownSync(join(dir, "postgres/data"), RUN_AS.uid, RUN_AS.gid);
  writeFileSync(join(dir, "postgres/treadle.lock"), "");
  writeFileSync(join(dir, "host-id"), "x");
  const owners = () =>
    ["keys/old/master", "keys/link", "postgres", "postgres/data", "postgres/treadle.lock", "host-id"].map(
      (path) => lstatSync(join(dir, path)).uid,
    );
  const { uid } = RUN_AS;

  await layOutDataDir(dir, RUN_AS);
  expect(owners()).toEqual([uid, uid, uid, uid, uid, uid]);
  expect(statSync("/etc/passwd").uid).toBe(0);

  await layOutDataDir(dir, US);
  expect(owners()).toEqual([0, 0, 0, uid, 0, 0]);
});

test("layOutDataDir, as root, takes over what programs of a killed service left, of any user and depth", async () => {
  if (!IS_ROOT || RUN_AS === undefined) return expect(RUN_AS).toBeUndefined();
  const dir = await aDataDir();
  await layOutDataDir(dir, RUN_AS);
  const left = join(dir, "lanes/treadle-1-l1.0");
  makeDeep(left, 40, "d".repeat(250));
  execFileSync("chown", ["-hR", `${0x7000_0000}:${0x7000_0000}`, left]);
  await layOutDataDir(dir, RUN_AS);
  expect(execFileSync("find", [dir, "-uid", String(0x7000_0000)], { encoding: "utf8" })).toBe("");
  await removeTree(left); // rmSync of the others cannot.
});

test("handOver, on a link, changes the link and not what it points to", async () => {
  if (!IS_ROOT || RUN_AS === undefined) return expect(RUN_AS).toBeUndefined();
  const folder = aFolder();
  writeFileSync(join(folder, "target"), "");
  mkdirSync(join(folder, "given"));
  symlinkSync(join(folder, "target"), join(folder, "given/link"));
  await handOver(join(folder, "given"), RUN_AS);
  expect(statSync(join(folder, "target")).uid).toBe(0);
  expect(lstatSync(join(folder, "given/link")).uid).toBe(RUN_AS.uid);
});

test("handOverNew, gives what root has made in a folder, and passes by what has its owner", async () => {
  if (!IS_ROOT || RUN_AS === undefined) return expect(RUN_AS).toBeUndefined();
  const folder = aFolder();
  for (const name of ["old", "new"]) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "inside"), "");
  }
  chownSync(join(folder, "old"), RUN_AS.uid, RUN_AS.gid);
  await handOverNew(folder, RUN_AS);
  const owners = ["old/inside", "new/inside", "new"].map((path) => statSync(join(folder, path)).uid);
  expect(owners).toEqual([0, RUN_AS.uid, RUN_AS.uid]);
});

test("handOver, under way, has given the folder itself to nobody", async () => {
  if (!IS_ROOT || RUN_AS === undefined) return expect(RUN_AS).toBeUndefined();
  const folder = join(aFolder(), "given");
  mkdirSync(folder);
  const files = Array.from({ length: 300 }, (_, number) => join(folder, String(number)));
  for (const file of files) writeFileSync(file, "");
  const handingOver = handOver(folder, RUN_AS);
  while (files.every((file) => statSync(file).uid === 0)) await immediate();
  expect(statSync(folder).uid).toBe(0);
  await handingOver;
  expect(statSync(folder).uid).toBe(RUN_AS.uid);
});

test("handOver, of what a killed program left, takes names that are no text, and removes what is deeper than any path of ours", async () => {
  if (!IS_ROOT || RUN_AS === undefined) return expect(RUN_AS).toBeUndefined();
  const folder = aFolder();
  const noText = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0xfe])]);
  writeFileSync(noText, "");
  const name = "d".repeat(50);
  let deepest = makeDeep(join(folder, "deep"), 1_000, name);
  await handOver(folder, RUN_AS);
  expect(lstatSync(noText).uid).toBe(RUN_AS.uid);
  while (existsSync(join(deepest, name))) deepest = join(deepest, name);
  expect(deepest.length).toBeLessThan(4_096);
  expect(statSync(deepest).uid).toBe(RUN_AS.uid);
});
