import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { createSpool } from "../../activities/spool.ts";
import { createExecutionId } from "../../src/ids.ts";
import { giveUpBallast, keepBallast } from "../../src/setup/ballast.ts";
import { describeLargest } from "../../src/setup/folder-sizes.ts";
import { clearFullDisk } from "../../src/setup/full-disk.ts";
import { claimInstance } from "../../src/setup/instance-lock.ts";
import type { RunCommand } from "../../src/setup/servers/command.ts";
import { removeTree } from "../../system/trees/remove-tree.ts";
import { makeDeep } from "../support/trees.ts";
import { aFolder } from "./servers/surroundings.ts";

const MIB = 1024 * 1024;

/** A data folder on a disk of 100 MB: as `du` would see it, without the blocks that a test would have to write. */
async function aDataFolder() {
  const dataDir = aFolder();
  for (const name of ["trash", "lanes", "spool", "storage"]) mkdirSync(join(dataDir, name));
  const spool = createSpool(join(dataDir, "spool"));
  const [large, small, done] = [createExecutionId(), createExecutionId(), createExecutionId()];
  for (const id of [large, small, done]) mkdirSync(join(await spool.open(id), "outputs"));
  writeFileSync(join(dataDir, "spool", large, "outputs/large"), "x");
  writeFileSync(join(dataDir, "spool", small, "outputs/small"), "x");
  await spool.writeResult(done, { outputs: [], logPath: undefined, logBytes: 0 });
  makeDeep(join(dataDir, "lanes/treadle-1-l1"), 10, "d".repeat(250));
  mkdirSync(join(dataDir, "trash/old"));
  writeFileSync(join(dataDir, "ballast"), "x");
  const readFree = async () => (existsSync(join(dataDir, "spool", large, "outputs/large")) ? 1 * MIB : 500 * MIB);
  return { dataDir, spool, large, small, done, readFree };
}

test("clearFullDisk, on a full disk, clears what nobody needs, keeps results, and marks what had filled it", async () => {
  const { dataDir, spool, large, small, done, readFree } = await aDataFolder();
  const lines: string[] = [];
  await clearFullDisk({ dataDir, readFree, report: (line) => lines.push(line) });
  expect(readdirSync(join(dataDir, "lanes"))).toEqual([]);
  expect(readdirSync(join(dataDir, "trash"))).toEqual([]);
  expect(existsSync(join(dataDir, "ballast"))).toBe(false);
  expect([large, small, done].map(spool.hasFilledDisk)).toEqual([true, false, false]);
  expect(readdirSync(join(dataDir, "spool", small))).toEqual([]);
  expect(await spool.readResult(done)).toBeDefined();
  expect(lines).toEqual([
    expect.stringContaining("had 1 MiB left. What executions had left behind was removed: 500 MiB"),
  ]);
  await spool.open(large); // What the next attempt begins with.
  expect(spool.hasFilledDisk(large)).toBe(false);
});

test("clearFullDisk, on a disk with room, changes nothing", async () => {
  const { dataDir, small } = await aDataFolder();
  await clearFullDisk({ dataDir, readFree: async () => 300 * MIB, report: () => expect(true).toBe(false) });
  expect(existsSync(join(dataDir, "spool", small, "outputs/small"))).toBe(true);
  expect(existsSync(join(dataDir, "ballast"))).toBe(true);
});

test("clearFullDisk, of data that another service has, removes nothing of them", async () => {
  const { dataDir, large, readFree } = await aDataFolder();
  const release = await claimInstance(dataDir);
  await clearFullDisk({ dataDir, readFree, report: () => undefined });
  expect(existsSync(join(dataDir, "spool", large, "outputs/large"))).toBe(true);
  expect(readdirSync(join(dataDir, "lanes"))).toHaveLength(1);
  await release();
});

test("clearFullDisk, where that is not enough and something cannot be removed, says what is large and goes on", async () => {
  const { dataDir } = await aDataFolder();
  writeFileSync(join(dataDir, "storage/object"), Buffer.alloc(3 * MIB, "x"));
  const lines: string[] = [];
  const remove = () => Promise.reject(new Error("It is stuck."));
  const run: RunCommand = async () => ({ code: 1, stdout: "", tail: [] });
  await clearFullDisk({ dataDir, readFree: async () => 1 * MIB, remove, run, report: (line) => lines.push(line) });
  expect(lines.filter((line) => line.includes("could not be removed: Error: It is stuck."))).not.toEqual([]);
  expect(lines.at(-1)).toMatch(/Largest in .*: storage 3(?:\.\d+ MB| MiB)/);
});

test("clearFullDisk, of trees that belong to users of sandboxes, removes them as those users' owner", async () => {
  const { dataDir, readFree } = await aDataFolder();
  const lines: string[] = [];
  const asked: string[] = [];
  const run: RunCommand = async (command, args) => {
    asked.push([command, ...args.slice(0, -1)].join(" "));
    await removeTree(args.at(-1) ?? "");
    return { code: 0, stdout: "", tail: [] };
  };
  const remove = () => Promise.reject(new Error("EACCES"));
  await clearFullDisk({ dataDir, readFree, remove, run, report: (line) => lines.push(line) });
  expect(new Set(asked)).toEqual(new Set(["unshare --map-root-user --map-auto -- rm -rf --"]));
  expect(readdirSync(join(dataDir, "lanes"))).toEqual([]);
  expect(lines).toEqual([expect.stringContaining("500 MiB are free now.")]);
});

test("describeLargest, of a folder that is not there, says that it does not know", async () => {
  expect(await describeLargest(join(aFolder(), "gone"))).toBe("unknown");
});

test("a ballast, on a disk with room, is made once, is given up when the disk is full, and is made again", async () => {
  const dataDir = aFolder();
  let free = 8 * 1024 * MIB;
  const changes: string[] = [];
  const ballast = keepBallast({
    dataDir,
    readFree: () => free,
    bytes: 3 * MIB,
    onChange: (state) => changes.push(state),
  });
  try {
    for (const next of [free, free, 31 * MIB, 100 * MIB, free]) {
      free = next;
      await ballast.look();
    }
  } finally {
    await ballast.close();
  }
  expect(changes).toEqual(["made", "given up", "made"]);
  expect(giveUpBallast(dataDir)).toBe(true);
  expect(giveUpBallast(dataDir)).toBe(false);
});
