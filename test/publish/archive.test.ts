import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { expect, test } from "@jest/globals";
import tar, { type Header } from "tar-stream";
import { ARCHIVE_BYTES_MAX, createArchive, readArchive } from "../../src/publish/archive.ts";
import { FILES_MAX, FOLDER_BYTES_MAX } from "../../src/publish/folder.ts";
import type { CommitFile } from "../../src/publish/git-objects.ts";

async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function anArchive(...entries: (Pick<Header, "name"> & Partial<Header> & { text?: string })[]): Promise<Buffer> {
  const pack = tar.pack();
  for (const { text, ...header } of entries) pack.entry(header, text ?? "");
  pack.finalize();
  return bytesOf(pack as unknown as Readable);
}

/** In pieces that never meet the 512-byte blocks of the format. */
async function* inPieces(bytes: Buffer, size = 700): AsyncIterable<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const file = (path: string, content = "x", executable = false): CommitFile => ({
  path,
  content: Buffer.from(content),
  executable,
});

test("readArchive, on what createArchive wrote, gives the same files", async () => {
  const files = [
    file("config.yaml", "name: x\n"),
    file("bin/run.sh", "#!/bin/sh\n", true),
    file("empty.py", ""),
    file("Ünï ☕.py", "pass"),
    file(`${"long-folder-name/".repeat(12)}file.py`, "deep"),
    file("big.bin", "b".repeat(100_000)),
  ];
  const bytes = await bytesOf(createArchive(files));
  expect(await readArchive(inPieces(bytes))).toEqual({ kind: "files", files });
});

test("readArchive, on what GNU tar wrote, reads it, its folders and ./ aside", async () => {
  const dir = mkdtempSync(join(tmpdir(), "archive-"));
  try {
    const long = `${"n".repeat(150)}.py`;
    writeFileSync(join(dir, "main.py"), "pass\n", { mode: 0o755 });
    writeFileSync(join(dir, long), "long\n");
    const bytes = execFileSync("tar", ["-C", dir, "-cf", "-", "."]);
    const archive = await readArchive(inPieces(bytes));
    if (archive.kind !== "files") throw new Error(archive.kind);
    expect(
      archive.files
        .map((entry) => [entry.path, entry.executable])
        .sort(([one], [other]) => String(one).localeCompare(String(other))),
    ).toEqual([
      ["main.py", true],
      [long, false],
    ]);
    symlinkSync("/etc/passwd", join(dir, "passwd"));
    const linked = await readArchive(inPieces(execFileSync("tar", ["-C", dir, "-cf", "-", "."])));
    expect(linked).toEqual({ kind: "problems", problems: [expect.objectContaining({ file: "passwd" })] });
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("readArchive, on hostile entries, names every one and keeps none", async () => {
  const bytes = await anArchive(
    { name: "config.yaml", text: "name: x" },
    { name: "../../etc/cron.d/x", text: "boom" },
    { name: "/etc/passwd", text: "boom" },
    { name: "a/../../b", text: "boom" },
    { name: ".git/config", text: "boom" },
    { name: "link", type: "symlink", linkname: "/etc/passwd" },
    { name: "hard", type: "link", linkname: "config.yaml" },
    { name: "null", type: "character-device", devmajor: 1, devminor: 3 },
    { name: "disk", type: "block-device" },
    { name: "pipe", type: "fifo" },
    { name: "../up", type: "directory" },
    { name: "nul\u0001l", text: "boom" },
  );
  const archive = await readArchive(inPieces(bytes));
  if (archive.kind !== "problems") throw new Error(archive.kind);
  expect(archive.problems.map((problem) => problem.file)).toEqual([
    "../../etc/cron.d/x",
    "/etc/passwd",
    "a/../../b",
    ".git/config",
    "link",
    "hard",
    "null",
    "disk",
    "pipe",
    "../up",
    "nul\u0001l",
  ]);
});

test("readArchive, on a name of bytes that are not UTF-8, refuses it", async () => {
  const bytes = await anArchive({ name: "aXb.py", text: "x" });
  bytes[1] = 0xff;
  bytes.write(`${sumOf(bytes).toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  expect(await readArchive(inPieces(bytes))).toEqual({
    kind: "problems",
    problems: [expect.objectContaining({ message: expect.stringContaining("not valid UTF-8") })],
  });
});

/** The checksum of a tar header: its bytes, with the checksum's own taken as spaces. */
function sumOf(header: Buffer): number {
  let sum = 8 * 32;
  for (let i = 0; i < 512; i += 1) if (i < 148 || i >= 156) sum += header[i] as number;
  return sum;
}

test("readArchive, on a header that claims 1 TB, refuses before the content comes", async () => {
  const header = (await anArchive({ name: "huge", size: 0 })).subarray(0, 512);
  header.write("77777777777 ", 124, "latin1");
  header.write(`${sumOf(header).toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  let pulled = 0;
  async function* endless(): AsyncIterable<Buffer> {
    yield header;
    for (;;) {
      pulled += 1;
      yield Buffer.alloc(65_536);
    }
  }
  expect(await readArchive(endless())).toEqual({
    kind: "too_large",
    message: expect.stringContaining("20,000,000 bytes"),
  });
  expect(pulled).toBeLessThan(3);
});

test("readArchive, on many files that are too much together, stops there", async () => {
  const half = "x".repeat(FOLDER_BYTES_MAX / 2);
  const archive = await readArchive(createArchive([file("a", half), file("b", half), file("c")]));
  expect(archive.kind).toBe("too_large");
});

test("readArchive, on one file too many, stops there", async () => {
  const many = Array.from({ length: FILES_MAX + 1 }, (_, index) => file(`f${index}`, ""));
  expect((await readArchive(createArchive(many.slice(1)))).kind).toBe("files");
  expect(await readArchive(createArchive(many))).toEqual({
    kind: "too_large",
    message: expect.stringContaining("more than 1,000 files"),
  });
});

test("readArchive, on endless headers without content, ends", async () => {
  const folder = (await anArchive({ name: "d/", type: "directory" })).subarray(0, 512);
  const pax = (await anArchive({ name: "é".repeat(90), text: "" })).subarray(0, 1024);
  for (const block of [folder, pax]) {
    let bytes = 0;
    async function* endless(): AsyncIterable<Buffer> {
      for (;;) {
        bytes += block.length;
        yield block;
      }
    }
    expect((await readArchive(endless())).kind).toBe("too_large");
    expect(bytes).toBeLessThanOrEqual(ARCHIVE_BYTES_MAX + block.length);
  }
});

test.each([
  ["text", Buffer.from("this is not a tar archive at all".repeat(40))],
  ["a gzip", Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0]), Buffer.alloc(2000, 7)])],
])("readArchive, on %s, says it is no tar", async (_what, bytes) => {
  expect(await readArchive(inPieces(bytes))).toEqual({
    kind: "malformed",
    message: expect.stringContaining("not a whole tar"),
  });
});

test("readArchive, on an archive that was cut off, says so", async () => {
  const bytes = await anArchive({ name: "main.py", text: "x".repeat(5000) });
  expect((await readArchive(inPieces(bytes.subarray(0, 3000)))).kind).toBe("malformed");
});

test("readArchive, when its source breaks, throws what broke", async () => {
  async function* broken(): AsyncIterable<Buffer> {
    yield await anArchive({ name: "main.py", text: "x" });
    throw new Error("connection lost");
  }
  await expect(readArchive(broken())).rejects.toThrow("connection lost");
});
