import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createBackupDraft } from "../../../src/backup/folder.ts";

let base: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "treadle-backup-folder-"));
});

afterEach(() => rm(base, { recursive: true }));

const hash = (content: string | Buffer): string => createHash("sha256").update(content).digest("hex");

async function* chunks(text: string): AsyncGenerator<Buffer> {
  for (const part of text.match(/.{1,3}/gs) ?? []) yield Buffer.from(part);
}

test("a backup's folder, with many files written at once, lists each with its sum, and the list's own sum is right", async () => {
  const target = join(base, "all");
  const draft = await createBackupDraft(target);
  const paths = Array.from({ length: 300 }, (_, index) => `storage/executions/ex_${index % 7}/${index}`);
  const written = await Promise.all(paths.map((path) => draft.add(path, chunks(`content of ${path}`))));
  await draft.finish((sums) => ({ sums }));
  expect(written).toEqual(paths.map((path) => ({ bytes: path.length + 11, sha256: hash(`content of ${path}`) })));
  const list = await readFile(join(target, "SHA256SUMS"), "utf8");
  expect(list.trimEnd().split("\n").sort()).toEqual(
    paths.map((path) => `${hash(`content of ${path}`)}  ${path}`).sort(),
  );
  expect(JSON.parse(await readFile(join(target, "backup.json"), "utf8"))).toEqual({ sums: hash(list) });
});

test("a backup's folder, of which one file cannot be written, is not finished", async () => {
  const target = join(base, "all");
  const draft = await createBackupDraft(target);
  const failing = (async function* (): AsyncGenerator<Buffer> {
    yield Buffer.from("the beginning");
    throw new Error("the disk is gone");
  })();
  await expect(draft.add("data/a", failing)).rejects.toThrow("the disk is gone");
  await draft.abandon();
  await expect(readFile(join(target, "backup.json"))).rejects.toThrow("ENOENT");
});
