import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chown, link, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createDiskStorage } from "../../storage/disk.ts";
import { NODE_ARGUMENTS } from "../setup/servers/surroundings.ts";
import { describeConformance, describePutAll } from "./conformance.ts";
import { aFile, endlessContent, keysOf, read, sha256 } from "./content.ts";
import { describeParts } from "./parts.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
/** A bare node that runs the program beside this file. */
const PROGRAM = [process.execPath, ...NODE_ARGUMENTS, fileURLToPath(new URL("disk-program.ts", import.meta.url))];

let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "treadle-disk-test-"));
});

afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

async function openFolder() {
  const dir = join(root, randomBytes(6).toString("hex"));
  const scratch = `${dir}-scratch`;
  await mkdir(scratch);
  return { storage: await createDiskStorage({ dir }), dir, scratch };
}

describeConformance("storage on disk", openFolder);
describePutAll("storage on disk", openFolder);
describeParts("storage on disk", openFolder);

describe("storage on disk", () => {
  test("all that puts, under a strict umask, still make objects and folders that a sandbox's user can read", async () => {
    const { storage, dir, scratch } = await openFolder();
    const before = process.umask(0o077);
    try {
      await storage.put("a/b/c", Readable.from([Buffer.from("x")]));
      await storage.putFile("a/b/d", await aFile(scratch, "x"));
      await storage.putAll([{ key: "a/e/f", content: Buffer.from("x") }]);
    } finally {
      process.umask(before);
    }
    for (const folder of ["", "/a", "/a/b", "/a/e"]) expect(await modeOf(join(dir, `objects${folder}`))).toBe(0o755);
    for (const object of ["a/b/c", "a/b/d", "a/e/f"]) expect(await modeOf(join(dir, "objects", object))).toBe(0o644);
    expect(await modeOf(join(dir, "incoming"))).toBe(0o700);
  });

  test("putFile, of a file with a second name, stores a copy that the second name cannot change", async () => {
    const { storage, scratch } = await openFolder();
    const path = await aFile(scratch, "as it was checked");
    await link(path, join(scratch, "second"));
    await storage.putFile("a", path);
    await writeFile(join(scratch, "second"), "changed afterwards");
    expect((await read(storage, "a")).toString()).toBe("as it was checked");
    expect(await readdir(scratch)).toEqual(["second"]);
  });

  test("putFile, of a file that is writable and another user's, makes it read-only for others and our own", async () => {
    const { storage, scratch } = await openFolder();
    const path = await aFile(scratch, "x");
    if (process.getuid?.() === 0) await chown(path, 65_534, 65_534);
    await storage.putFile("a", path);
    const info = await stat(await storage.localFile("a", "unused"));
    expect([info.mode & 0o7777, info.uid]).toEqual([0o644, process.getuid?.()]);
  });

  test("put, that is too large, aborted or cut short, leaves no written bytes behind", async () => {
    const { storage, dir } = await openFolder();
    const abort = AbortSignal.timeout(30);
    const cut = endlessContent((sent) => {
      if (sent > 1_000_000) cut.destroy();
    });
    const puts = [
      storage.put("a", endlessContent(), { bytesMax: 1_000_000 }),
      storage.put("b", endlessContent(), { signal: abort }),
      storage.put("c", cut),
    ];
    const outcomes = await Promise.allSettled(puts);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(await readdir(join(dir, "incoming"))).toEqual([]);
  });

  test("put and putAll, when their folder is emptied and removed again and again by deletes, always find one", async () => {
    const { storage } = await openFolder();
    const content = Buffer.from("x");
    const rounds = Array.from({ length: 4 }, async (_, worker) => {
      for (let round = 0; round < 100; round += 1) {
        const key = `a/b/c/${worker}`;
        if (worker > 0) await storage.put(key, Readable.from([content]));
        else expect(await storage.putAll([{ key, content }])).toEqual([undefined]);
        await storage.delete(`a/b/c/${worker}`);
      }
    });
    await Promise.all(rounds);
    expect(await keysOf(storage, "")).toEqual([]);
  });

  test("putAll, of an object whose place is taken by a folder, says so, keeps the others and leaves nothing else", async () => {
    const { storage, dir } = await openFolder();
    await storage.put("a/b", Readable.from([Buffer.from("x")]));
    const objects = ["a", "c", "a/b/d"].map((key) => ({ key, content: Buffer.from("new") }));
    const problems = await storage.putAll(objects);
    expect(problems).toEqual([expect.stringContaining("EISDIR"), undefined, expect.stringContaining("EEXIST")]);
    expect((await keysOf(storage, "")).sort()).toEqual(["a/b", "c"]);
    expect(await readdir(join(dir, "incoming"))).toEqual([]);
  });

  test("delete, of the last object in nested folders, leaves no folder", async () => {
    const { storage, dir } = await openFolder();
    await storage.put("a/b/c/d", Readable.from([Buffer.from("x")]));
    await storage.put("a/e", Readable.from([Buffer.from("x")]));
    await storage.delete("a/b/c/d");
    expect(await readdir(join(dir, "objects", "a"))).toEqual(["e"]);
    await storage.delete("a/e");
    expect(await readdir(join(dir, "objects"))).toEqual([]);
  });

  test.each(["sweep", "the next start"])(
    "what a killed process left, when it is a day old, is removed by %s; younger files stay",
    async (how) => {
      const { storage, dir } = await openFolder();
      const [old, young] = [join(dir, "incoming", "old"), join(dir, "incoming", "young")];
      for (const path of [old, young]) await writeFile(path, "half of it");
      await utimes(old, new Date(), new Date(Date.now() - DAY_MS - 60_000));
      await utimes(young, new Date(), new Date(Date.now() - DAY_MS + 60_000));
      await (how === "sweep" ? storage.sweep() : createDiskStorage({ dir }));
      expect(await readdir(join(dir, "incoming"))).toEqual(["young"]);
    },
  );
});

describe("storage on disk, in a process of its own", () => {
  test("put, when the process is killed in the middle, leaves no object, and the next put of the key succeeds", async () => {
    const dir = join(root, randomBytes(6).toString("hex"));
    const child = spawn("env", [...PROGRAM, "put-endless", dir], { stdio: ["ignore", "pipe", "inherit"] });
    await said(child, "5000000");
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("exit", resolve));

    const storage = await createDiskStorage({ dir });
    expect(await keysOf(storage, "")).toEqual([]);
    expect((await readdir(join(dir, "incoming"))).length).toBe(1);
    await storage.put("a", Readable.from([Buffer.from("x")]));
    expect(await keysOf(storage, "")).toEqual(["a"]);
  });

  test("put, on a disk that is full, throws StorageFullError, leaves nothing, and works again when there is room", async () => {
    expect(await onSmallDisk("fill")).toEqual({
      refused: "StorageFullError",
      message: expect.stringContaining("no room left for files under "),
      cause: "ENOSPC",
      keys: ["kept"],
      incoming: [],
      after: 3,
    });
  });

  test("putFile, from another filesystem, copies the file and removes it", async () => {
    const path = await aFile(root, "from elsewhere");
    expect(await onSmallDisk("put-file", path)).toEqual({ bytes: 14, sha256: sha256(Buffer.from("from elsewhere")) });
    await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
  });

  /** Runs a command of the program where `full` is a filesystem of 4 MB of its own. */
  async function onSmallDisk(command: string, ...args: string[]): Promise<unknown> {
    const dir = join(root, "full");
    await mkdir(dir, { recursive: true });
    const sandbox = ["--dev-bind", "/", "/", "--size", String(4 * 1024 * 1024), "--tmpfs", dir];
    const ran = spawnSync("bwrap", [...sandbox, ...PROGRAM, command, dir, ...args], { encoding: "utf8" });
    if (ran.error) throw ran.error;
    if (ran.status !== 0) throw new Error(`The program in its own filesystem failed:\n${ran.stderr}`);
    return JSON.parse(ran.stdout);
  }
});

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o7777;
}

/** Resolves when the child has printed the text. */
async function said(child: ChildProcess, text: string): Promise<void> {
  let heard = "";
  for await (const chunk of child.stdout ?? []) {
    heard += String(chunk);
    if (heard.includes(text)) return;
  }
  throw new Error(`The child ended and had not said ${text}.`);
}
