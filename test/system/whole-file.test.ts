import { existsSync } from "node:fs";
import { type FileHandle, mkdir, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { writeWhole } from "../../system/whole-file.ts";

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle-whole-file-"));
  path = join(folder, "secret");
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

test("a whole file, while it is written, is on the disk before it has its name, and its name before it is done", async () => {
  const handle = await open(folder, "r");
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const { sync } = prototype;
  const synced: string[] = [];
  prototype.sync = async function (this: FileHandle) {
    const info = await this.stat();
    synced.push(info.isDirectory() ? "folder" : `${info.size} bytes`, existsSync(path) ? "named" : "unnamed");
    await sync.call(this);
  };
  try {
    await writeWhole(path, "word\n");
  } finally {
    prototype.sync = sync;
  }
  expect(synced).toEqual(["5 bytes", "unnamed", "folder", "named"]);
});

test("a whole file, with a mode, has exactly that, also where a killed process left a draft", async () => {
  await writeFile(`${path}.tmp`, "half of a longer one", { mode: 0o666 });
  await writeWhole(path, "word\n", 0o600);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readFile(path, "utf8")).toBe("word\n");
});

test("a whole file, that cannot have its name, leaves nothing behind and throws", async () => {
  await mkdir(join(path, "kept"), { recursive: true });
  await expect(writeWhole(path, "word\n")).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
  expect(await readdir(folder)).toEqual(["secret"]);
});
