import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { removeTree } from "../../../system/trees/remove-tree.ts";
import { createTrash, type Trash } from "../../../system/trees/trash.ts";

let root: string;
let dir: string;
let broken: boolean;
let faults: string[];
const opened: Trash[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "treadle-trash-"));
  dir = join(root, "trash");
  mkdirSync(dir);
  broken = true;
  faults = [];
});

afterEach(async () => {
  for (const trash of opened.splice(0)) trash.close();
  await rm(root, { recursive: true, force: true });
});

function open(settings: { dir?: string; againMs?: number } = {}): Trash {
  const trash = createTrash({
    dir,
    remove: (path) =>
      broken && path.includes("stuck") ? fail() : broken && path.startsWith(dir) ? fail() : removeTree(path),
    onError: (path) => faults.push(path),
    ...settings,
  });
  opened.push(trash);
  return trash;
}

const fail = () => Promise.reject(new Error("It is stuck."));

function plant(name: string): string {
  const path = join(root, name);
  mkdirSync(join(path, "inner"), { recursive: true });
  writeFileSync(join(path, "inner/file"), "x");
  return path;
}

test("discard, of a tree that can be removed, leaves nothing and reports nothing", async () => {
  await open().discard(plant("fine"));
  expect(readdirSync(root)).toEqual(["trash"]);
  expect([readdirSync(dir), faults]).toEqual([[], []]);
});

test("discard, of a tree that cannot be removed, moves it aside, reports it once and removes it when that works again", async () => {
  const trash = open();
  const path = plant("stuck");
  await trash.discard(path);
  expect(readdirSync(root)).toEqual(["trash"]);
  expect([trash.waiting(), faults]).toEqual([1, [path]]);
  await trash.empty();
  expect([trash.waiting(), faults]).toEqual([1, [path]]);
  broken = false;
  await trash.empty();
  expect([trash.waiting(), readdirSync(dir)]).toEqual([0, []]);
});

test("a trash, opened after the process that filled it, removes what that one could not", async () => {
  await open().discard(plant("stuck"));
  broken = false;
  const next = open({ againMs: 10 });
  for (let waited = 0; waited < 5_000 && readdirSync(dir).length > 0; waited += 10)
    await new Promise((resolve) => setTimeout(resolve, 10));
  expect(readdirSync(dir)).toEqual([]);
  expect(next.waiting()).toBe(0);
});

test("discard, where nothing can be moved aside, keeps the tree in mind where it is", async () => {
  const trash = open({ dir: join(root, "no-such-folder") });
  const path = plant("stuck");
  await trash.discard(path);
  expect(trash.waiting()).toBe(1);
  broken = false;
  await trash.empty();
  expect(trash.waiting()).toBe(0);
  expect(readdirSync(root)).toEqual(["trash"]);
});
