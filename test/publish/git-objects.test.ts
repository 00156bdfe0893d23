import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { deflateSync } from "node:zlib";
import { afterAll, expect, test } from "@jest/globals";
import type { GitObject } from "../../db/commits/git-objects.ts";
import {
  type CommitFile,
  createCommit,
  createGitObject,
  createTree,
  parseTree,
} from "../../src/publish/git-objects.ts";

const dirs: string[] = [];
afterAll(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

/** A repository of its own, blind to the configuration of whoever runs the tests. */
function aRepository(): { dir: string; git: (args: string[], input?: Buffer | string) => string } {
  const dir = mkdtempSync(join(tmpdir(), "git-objects-"));
  dirs.push(dir);
  const env = {
    PATH: process.env["PATH"],
    HOME: dir,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "Treadle",
    GIT_AUTHOR_EMAIL: "treadle@localhost",
    GIT_COMMITTER_NAME: "Treadle",
    GIT_COMMITTER_EMAIL: "treadle@localhost",
    GIT_AUTHOR_DATE: "1763690000 +0000",
    GIT_COMMITTER_DATE: "1763690000 +0000",
  };
  const git = (args: string[], input: Buffer | string = ""): string =>
    execFileSync("git", args, { cwd: dir, env, input, encoding: "utf8", stdio: ["pipe", "pipe", "pipe"] }).trim();
  git(["init", "-q"]);
  return { dir, git };
}

function writeLoose(dir: string, object: GitObject): void {
  const path = join(dir, ".git/objects", object.id.slice(0, 2), object.id.slice(2));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(
    path,
    deflateSync(Buffer.concat([Buffer.from(`${object.kind} ${object.content.length}\0`), object.content])),
  );
}

const file = (path: string, content: string | Buffer, executable = false): CommitFile => ({
  path,
  content: Buffer.from(content as string),
  executable,
});

/** Names whose order differs between bytes, UTF-16 and folders-as-plain-names; every mode; empty, binary and equal files. */
const AWKWARD: CommitFile[] = [
  file("main.py", "print('hello')\n"),
  file("config.yaml", "name: Awkward\n"),
  file("a.txt", "beside a folder called a\n"),
  file("a/inner.py", ""),
  file("a/b/deep.py", "x = 1\n"),
  file("a-b", "sorts before a/\n"),
  file("a0", "sorts after a/\n"),
  file("bin/run.sh", "#!/bin/sh\n", true),
  file("data.bin", Buffer.from([0, 255, 10, 13, 0])),
  file("copy.py", "print('hello')\n"),
  file("Ünïcode/naïve ☕.py", "pass\n"),
  file("\u{ffee}.txt", "high in UTF-16\n"),
  file("\u{1f600}.txt", "astral: after U+FFEE in bytes, before it in UTF-16\n"),
];

test("createGitObject, on blobs of several kinds, gives the id of git hash-object", () => {
  const { git } = aRepository();
  for (const content of [
    Buffer.alloc(0),
    Buffer.from("hello\n"),
    Buffer.from([0, 1, 2, 255]),
    Buffer.alloc(100_000, 65),
  ]) {
    expect(createGitObject("blob", content).id).toBe(git(["hash-object", "--stdin"], content));
  }
});

test("createTree, on awkward names and modes, gives the id of git write-tree", () => {
  const { dir, git } = aRepository();
  for (const { path, content, executable } of AWKWARD) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), content, { mode: executable ? 0o755 : 0o644 });
  }
  git(["add", "--all"]);
  expect(createTree(AWKWARD).treeId).toBe(git(["write-tree"]));
});

test("createTree, on files in another order, gives the same id", () => {
  expect(createTree([...AWKWARD].reverse()).treeId).toBe(createTree(AWKWARD).treeId);
});

test("createTree, on a folder of nothing, gives git's empty tree", () => {
  const { git } = aRepository();
  expect(createTree([]).treeId).toBe(git(["mktree"]));
});

test("createCommit, with and without a parent, gives the id of git commit-tree", () => {
  const { dir, git } = aRepository();
  const { treeId, objects } = createTree(AWKWARD);
  for (const object of objects) writeLoose(dir, object);
  const committedAt = new Date(1_763_690_000_900);
  const first = createCommit({ treeId, parentId: null, message: "First\n\nWith a body, ünïcode", committedAt });
  expect(first.id).toBe(git(["commit-tree", treeId, "-m", "First\n\nWith a body, ünïcode"]));
  const second = createCommit({ treeId, parentId: first.id, message: "Second\n\n", committedAt });
  expect(second.id).toBe(git(["commit-tree", treeId, "-p", first.id], "Second\n"));
});

test.each([
  ["ada@example.com", "ada@example.com", "ada@example.com"],
  ["operator", "operator", "operator@localhost"],
  ["a>b<\n@example.com", "ab@example.com", "ab@example.com"],
])("createCommit, by %j, is git's commit of that author", (author, name, email) => {
  const { dir, git } = aRepository();
  const { treeId, objects } = createTree([file("main.py", "")]);
  const commit = createCommit({ treeId, parentId: null, author, message: "By somebody", committedAt: new Date() });
  for (const object of [...objects, commit]) writeLoose(dir, object);
  git(["update-ref", "refs/heads/main", commit.id]);
  expect(git(["fsck", "--strict", "--full"])).toBe("");
  expect(git(["log", "--format=%an|%ae|%cn|%ce", "main"])).toBe(`${name}|${email}|Treadle|treadle@localhost`);
});

test("objects of a commit, written into a repository, pass git fsck --strict and check out as they were", () => {
  const { dir, git } = aRepository();
  const { treeId, objects } = createTree(AWKWARD);
  const commit = createCommit({ treeId, parentId: null, message: "All of it", committedAt: new Date() });
  for (const object of [...objects, commit]) writeLoose(dir, object);
  git(["update-ref", "refs/heads/main", commit.id]);
  expect(git(["fsck", "--strict", "--full"])).toBe("");
  const listed = git([
    "-c",
    "core.quotePath=false",
    "ls-tree",
    "-r",
    "--format=%(objectmode) %(path)",
    commit.id,
  ]).split("\n");
  expect(listed.sort()).toEqual(
    AWKWARD.map(({ path, executable }) => `${executable ? "100755" : "100644"} ${path}`).sort(),
  );
});

test("createTree, when the same content is there twice, has its object once", () => {
  const ids = createTree(AWKWARD).objects.map((object) => object.id);
  expect(new Set(ids).size).toBe(ids.length);
});

test("parseTree, on what createTree wrote, gives names, modes and ids back", () => {
  const blob = createGitObject("blob", Buffer.from("x"));
  const { treeId, objects } = createTree([file("run", "x", true), file("sub/ü.txt", "x")]);
  const tree = objects.find((object) => object.id === treeId) as GitObject;
  expect(parseTree(tree.content)).toEqual([
    { name: "run", kind: "file", executable: true, id: blob.id },
    { name: "sub", kind: "folder", executable: false, id: expect.stringMatching(/^[0-9a-f]{40}$/) },
  ]);
});

test("createTree, on a path that is a file and a folder, throws", () => {
  expect(() => createTree([file("a", ""), file("a/b", "")])).toThrow("a/b lies in a file");
});
