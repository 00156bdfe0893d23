import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { removeTree } from "../../../system/trees/remove-tree.ts";
import { makeDeep } from "../../support/trees.ts";

/** What an ordinary user is to the kernel. */
const NOBODY = 65_534;

let dir: string;
let tree: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "treadle-trees-"));
  tree = join(dir, "tree");
});

afterEach(() => rm(dir, { recursive: true, force: true }));

/** Acts as an ordinary user where the tests are root's: root may enter and write everything. */
async function unprivileged(act: () => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0) return act();
  chmodSync(dir, 0o777);
  process.seteuid?.(NOBODY);
  try {
    await act();
  } finally {
    process.seteuid?.(0);
  }
}

test("removeTree, of a tree far longer than any path may be, removes all of it", async () => {
  makeDeep(tree, 60, "d".repeat(250));
  await removeTree(tree);
  expect(readdirSync(dir)).toEqual([]);
});

test("removeTree, of a tree 1,000 folders deep, removes all of it with few descriptors", async () => {
  makeDeep(tree, 1_000, "d");
  await removeTree(tree);
  expect(readdirSync(dir)).toEqual([]);
});

test("removeTree, of folders that their owner can neither read nor enter, removes them", async () => {
  await unprivileged(async () => {
    mkdirSync(join(tree, "closed/inner/most"), { recursive: true });
    writeFileSync(join(tree, "closed/inner/most/file"), "x");
    for (const folder of ["closed/inner/most", "closed/inner", "closed", ""]) chmodSync(join(tree, folder), 0);
    await removeTree(tree);
    expect(existsSync(tree)).toBe(false);
  });
});

test("removeTree, of a tree with links, removes the links and nothing they lead to", async () => {
  const [kept, file] = [join(dir, "kept"), join(dir, "kept/file")];
  mkdirSync(kept);
  writeFileSync(file, "kept");
  mkdirSync(join(tree, "a/b"), { recursive: true });
  for (const link of ["l1", "a/l2", "a/b/l3"]) symlinkSync(kept, join(tree, link));
  symlinkSync(tree, join(tree, "a/b/around"));
  await removeTree(tree);
  expect(existsSync(tree)).toBe(false);
  expect(readFileSync(file, "utf8")).toBe("kept");
  symlinkSync(kept, tree);
  await removeTree(tree);
  expect(readdirSync(dir)).toEqual(["kept"]);
  expect(readFileSync(file, "utf8")).toBe("kept");
});

test("removeTree, of names that are not UTF-8, pipes and many files, removes all of it", async () => {
  mkdirSync(join(tree, "sub"), { recursive: true });
  for (let count = 0; count < 300; count++) writeFileSync(join(tree, "sub", `file ${count}`), "");
  writeFileSync(Buffer.concat([Buffer.from(`${tree}/sub/`), Buffer.from([0xff, 0xfe, 0x0a])]), "x");
  execFileSync("mkfifo", [join(tree, "sub/pipe")]);
  await removeTree(tree);
  expect(readdirSync(dir)).toEqual([]);
});

test("removeTree, of a file, of a few files and of nothing, leaves nothing", async () => {
  writeFileSync(tree, "x");
  await removeTree(tree);
  mkdirSync(tree);
  writeFileSync(join(tree, "one"), "x");
  await removeTree(tree);
  await removeTree(tree);
  await removeTree(join(dir, "no/such/folder"));
  expect(readdirSync(dir)).toEqual([]);
});

test("removeTree, where one entry cannot be removed, removes the others and rejects with the reason", async () => {
  await unprivileged(async () => {
    mkdirSync(join(tree, "others/deeper"), { recursive: true });
    writeFileSync(join(tree, "others/deeper/file"), "x");
    for (let count = 0; count < 20; count++) writeFileSync(join(tree, `file ${count}`), "x");
    mkdirSync(join(dir, "foreign/inner"), { recursive: true });
    writeFileSync(join(dir, "foreign/inner/file"), "x");
  });
  // A folder of another user is what an ordinary user cannot empty; root can empty everything but a mount.
  if (process.getuid?.() !== 0) return;
  chmodSync(join(dir, "foreign/inner"), 0o755);
  renameSync(join(dir, "foreign"), join(tree, "foreign"));
  execFileSync("chown", ["root:root", join(tree, "foreign/inner")]);
  await unprivileged(async () => {
    await expect(removeTree(tree)).rejects.toMatchObject({ code: "EACCES" });
    expect(readdirSync(tree)).toHaveLength(1);
  });
});
