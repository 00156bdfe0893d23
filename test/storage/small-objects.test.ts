import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Db, queryRows } from "../../db/connect.ts";
import { createSmallObjects } from "../../db/executions/small-objects.ts";
import { moveSmallObjects, startMovingSmallObjects } from "../../src/housekeeping/small-objects.ts";
import { createLog } from "../../src/log.ts";
import { createDiskStorage } from "../../storage/disk.ts";
import { moveToStorage, withSmallObjects } from "../../storage/small-objects.ts";
import type { Storage } from "../../storage/storage.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";
import { until } from "../support/until.ts";
import { describeConformance } from "./conformance.ts";
import { aFile, keysOf, read } from "./content.ts";

const KEY = "executions/ex_1/outputs/0";

let database: TestDatabase;
let db: Db;
let root: string;

beforeAll(async () => {
  database = await aDatabase();
  db = database.db;
  root = await mkdtemp(join(tmpdir(), "treadle-small-"));
});

afterAll(async () => {
  await database?.drop();
  await rm(root, { recursive: true, force: true });
});

async function open() {
  const dir = await mkdtemp(join(root, "storage-"));
  const scratch = join(dir, "scratch");
  await mkdir(scratch);
  await queryRows(db, "truncate small_objects");
  const stored = await createDiskStorage({ dir });
  const small = createSmallObjects(db);
  return { stored, small, scratch, storage: withSmallObjects(stored, small) };
}

/** As the statement that ends an execution does. */
async function aSmallObject(content: string, key = KEY, ageSeconds = 0): Promise<void> {
  await queryRows(
    db,
    `insert into small_objects (storage_key, content, created_at)
     values (:key, :content, now() - make_interval(secs => :ageSeconds))`,
    { key, content: Buffer.from(content), ageSeconds },
  );
}

const countSmall = async (): Promise<number> => (await queryRows(db, "select from small_objects")).length;

describeConformance("storage with small objects", open);

test("a small object is read, in parts too, listed and deleted like any other, and storage has nothing of it", async () => {
  const { storage, stored } = await open();
  await aSmallObject("0123456789");
  await stored.put("executions/ex_1/outputs/1", Readable.from([Buffer.from("one")]));
  expect((await read(storage, KEY)).toString()).toBe("0123456789");
  const part = await storage.get(KEY, { start: 3, end: 5 });
  expect(Buffer.concat(await part.toArray()).toString()).toBe("345");
  await expect(storage.get(KEY, { start: 10, end: 12 })).rejects.toThrow(RangeError);
  expect((await keysOf(storage, "executions/ex_1/")).sort()).toEqual([KEY, "executions/ex_1/outputs/1"]);
  expect(await stored.head(KEY)).toBeUndefined();
  await storage.delete(KEY);
  expect([await countSmall(), await keysOf(storage, "executions/ex_1/")]).toEqual([0, ["executions/ex_1/outputs/1"]]);
});

test("a small object, whose key gets another content, or whose file is wanted, is in storage from then on", async () => {
  const { storage, stored, scratch } = await open();
  for (const replace of [
    () => storage.put(KEY, Readable.from([Buffer.from("new")])),
    async () => storage.putFile(KEY, await aFile(scratch, "new")),
  ]) {
    await aSmallObject("old");
    await replace();
    expect([(await read(storage, KEY)).toString(), await countSmall()]).toEqual(["new", 0]);
  }
  await stored.delete(KEY);
  await aSmallObject("as a file");
  expect(await storage.head(KEY)).toMatchObject({ bytes: 9 });
  await aSmallObject("as a file", "executions/ex_1/log.ndjson");
  await storage.localFile("executions/ex_1/log.ndjson", join(scratch, "copy"));
  expect(await countSmall()).toBe(0);
});

test("a small object, that storage does not take, stays and is found all the while", async () => {
  const { storage, stored, small } = await open();
  await aSmallObject("kept");
  const full: Storage = { ...stored, put: async () => Promise.reject(new Error("There is no room.")) };
  await expect(moveToStorage(full, small, KEY)).rejects.toThrow("There is no room.");
  expect((await read(storage, KEY)).toString()).toBe("kept");
  await Promise.all([moveToStorage(stored, small, KEY), moveToStorage(stored, small, KEY), read(storage, KEY)]);
  expect([(await read(stored, KEY)).toString(), await countSmall()]).toEqual(["kept", 0]);
});

test("a small object, that storage does not take, does not keep others from it, and is tried again", async () => {
  const { stored, small } = await open();
  await stored.put("executions/ex_1/outputs/0/in-the-way", Readable.from([Buffer.from("x")]));
  await aSmallObject("waits", "executions/ex_1/outputs/0", 90);
  await aSmallObject("moves", "executions/ex_1/outputs/1", 61);
  const move = () => moveSmallObjects({ small, storage: stored });
  await expect(move()).rejects.toThrow("EISDIR");
  expect([await countSmall(), (await read(stored, "executions/ex_1/outputs/1")).toString()]).toEqual([1, "moves"]);
  await stored.delete("executions/ex_1/outputs/0/in-the-way");
  expect(await move()).toBe(false);
  expect([await countSmall(), (await read(stored, "executions/ex_1/outputs/0")).toString()]).toEqual([0, "waits"]);
});

test("small objects of more than a minute ago are moved to storage by themselves, and younger ones stay", async () => {
  const { stored, small } = await open();
  for (let at = 0; at < 120; at += 1) await aSmallObject(`content ${at}`, `executions/ex_1/outputs/${at}`, 61);
  await aSmallObject("young", "executions/ex_2/outputs/0", 30);
  const moving = startMovingSmallObjects({
    small,
    storage: stored,
    log: createLog({ level: "silent", terminal: false }),
  });
  try {
    await until(async () => (await countSmall()) === 1);
  } finally {
    await moving.close();
  }
  expect(await keysOf(stored, "executions/")).toHaveLength(120);
  expect((await read(stored, "executions/ex_1/outputs/119")).toString()).toBe("content 119");
});
