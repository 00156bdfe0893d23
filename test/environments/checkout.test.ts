import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import type { CommitId, WorkflowId } from "../../domain/ids.ts";
import { type CheckoutsSettings, type CommittedFile, createCheckouts } from "../../environments/checkout.ts";
import { removeTree } from "../../system/trees/remove-tree.ts";

const MINUTE_MS = 60_000;
const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders) await removeTree(folder);
});

const ONE = "wf_0000000000000001" as WorkflowId;
const TWO = "wf_0000000000000002" as WorkflowId;
const COMMIT = "a".repeat(40) as CommitId;

type Text = Record<string, string | { text: string; executable: true }>;

/** Checkouts over commits held in memory; `reads` counts how often one was asked for. */
function someCheckouts(
  commits: Record<string, Text>,
  dir = aFolder(),
  pauseMs = 0,
  isolation: CheckoutsSettings["isolation"] = "bubblewrap",
) {
  const reads: string[] = [];
  async function* readFiles(workflowId: WorkflowId, commitId: CommitId): AsyncIterable<CommittedFile> {
    reads.push(`${workflowId} ${commitId}`);
    for (const [path, file] of Object.entries(commits[workflowId] ?? {})) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      if (file === "FAIL") throw new Error("database down");
      const text = typeof file === "string" ? file : file.text;
      yield { path, content: Buffer.from(text), executable: typeof file !== "string" };
    }
  }
  return { ...createCheckouts({ dir, runAs: undefined, isolation, readFiles }), dir, reads };
}

function aFolder(): string {
  const folder = join(mkdtempSync(join(tmpdir(), "treadle-checkouts-")), "commits");
  folders.push(join(folder, ".."));
  return folder;
}

const modeOf = (path: string) => (lstatSync(path).mode & 0o7777).toString(8);

const TREE: Text = {
  "main.py": "print(1)\n",
  "tools/go.sh": { text: "#!/bin/sh\n", executable: true },
  "tools/deep/empty.txt": "",
  "tööls/…": "x",
};
const PLACES = ["main.py", "tools/go.sh", "tools/deep/empty.txt", "tools", "tools/deep", "."];

test("ensure, a commit with folders, writes its files as git checks them out", async () => {
  const umask = process.umask(0o077);
  try {
    const checkouts = someCheckouts({ [ONE]: TREE });
    const path = await checkouts.ensure(ONE, COMMIT);
    expect(readFileSync(join(path, "main.py"), "utf8")).toBe("print(1)\n");
    expect(readFileSync(join(path, "tööls/…"), "utf8")).toBe("x");
    expect(readdirSync(path, { recursive: true }).length).toBe(7);
    expect(PLACES.map((name) => modeOf(join(path, name)))).toEqual(["644", "755", "644", "755", "755", "755"]);
    expect(PLACES.every((name) => lstatSync(join(path, name)).uid === process.geteuid?.())).toBe(true);
    expect(modeOf(checkouts.dir)).toBe("755");
    expect(readdirSync(join(checkouts.dir, ".writing"))).toEqual([]);
  } finally {
    process.umask(umask);
  }
});

test("ensure, where programs are our own user and no sandbox is around them, writes read-only files of its own", async () => {
  const inSandboxes = someCheckouts({ [ONE]: TREE });
  const bare = someCheckouts({ [ONE]: TREE }, inSandboxes.dir, 0, "none");
  const path = await bare.ensure(ONE, COMMIT);
  expect(PLACES.map((name) => modeOf(join(path, name)))).toEqual(["444", "555", "444", "555", "555", "555"]);
  expect(await inSandboxes.ensure(ONE, COMMIT)).not.toBe(path);
});

test("ensure, called ten times at once and again, reads the commit once", async () => {
  const checkouts = someCheckouts({ [ONE]: { "main.py": "", "config.yaml": "" } }, undefined, 5);
  const paths = await Promise.all(Array.from({ length: 10 }, () => checkouts.ensure(ONE, COMMIT)));
  expect(new Set(paths).size).toBe(1);
  await checkouts.ensure(ONE, COMMIT);
  expect(checkouts.reads.length).toBe(1);
});

test("ensure, two processes at once on one folder, both get whole files", async () => {
  const commits = {
    [ONE]: Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${index}.py`, `# ${index}`])),
  };
  const one = someCheckouts(commits, undefined, 1);
  const two = someCheckouts(commits, one.dir, 1);
  const [path, same] = await Promise.all([one.ensure(ONE, COMMIT), two.ensure(ONE, COMMIT)]);
  expect(same).toBe(path);
  expect(readdirSync(path).length).toBe(20);
  expect(readdirSync(join(one.dir, ".writing"))).toEqual([]);
});

test("ensure, the same commit id in two workflows, keeps their files apart", async () => {
  const checkouts = someCheckouts({ [ONE]: { "main.py": "one" }, [TWO]: { "main.py": "two" } });
  const [one, two] = await Promise.all([checkouts.ensure(ONE, COMMIT), checkouts.ensure(TWO, COMMIT)]);
  expect([readFileSync(join(one, "main.py"), "utf8"), readFileSync(join(two, "main.py"), "utf8")]).toEqual([
    "one",
    "two",
  ]);
  expect(`${one}${two}`).not.toMatch(/wf_|a{40}/);
});

test("ensure, reading fails half-way, leaves nothing and works the next time", async () => {
  const commit: Text = { "main.py": "1", "more.py": "FAIL" };
  const checkouts = someCheckouts({ [ONE]: commit });
  await expect(checkouts.ensure(ONE, COMMIT)).rejects.toThrow("database down");
  expect(readdirSync(checkouts.dir)).toEqual([".writing"]);
  expect(readdirSync(join(checkouts.dir, ".writing"))).toEqual([]);
  commit["more.py"] = "2";
  expect(readdirSync(await checkouts.ensure(ONE, COMMIT)).sort()).toEqual(["main.py", "more.py"]);
});

test.each([
  ["that leads up", "../evil"],
  ["that is absolute", "/treadle-evil"],
  ["that leads up later", "a/../../evil"],
  ["with an empty part", "a//b"],
  ["with a dot first", "./a"],
  ["with a dot last", "a/."],
  ["that is empty", ""],
  ["with a NUL", "a\u0000b"],
  ["with backslashes", "a\\..\\b"],
  ["with a long part", "x".repeat(256)],
  ["that is long", `${"a/".repeat(600)}b`],
])("ensure, a file with a path %s, is refused and nothing is written", async (_what, path) => {
  const checkouts = someCheckouts({ [ONE]: { [path]: "evil" } });
  await expect(checkouts.ensure(ONE, COMMIT)).rejects.toThrow(
    /Commit a{40} of wf_\d+ cannot be written to disk: it has a file with the path/,
  );
  expect(readdirSync(checkouts.dir)).toEqual([".writing"]);
  expect(existsSync(join(checkouts.dir, "../evil")) || existsSync("/treadle-evil")).toBe(false);
});

test.each([
  [
    "the same path twice",
    [
      ["a", "1"],
      ["a", "2"],
    ],
    "EEXIST",
  ],
  [
    "a path that is a file and a folder",
    [
      ["a", "1"],
      ["a/b", "2"],
    ],
    /EEXIST|ENOTDIR/,
  ],
])("ensure, %s, fails and leaves nothing", async (_what, files, message) => {
  const dir = aFolder();
  async function* readFiles(): AsyncIterable<CommittedFile> {
    for (const [path = "", text = ""] of files) yield { path, content: Buffer.from(text), executable: false };
  }
  await expect(
    createCheckouts({ dir, runAs: undefined, isolation: "bubblewrap", readFiles }).ensure(ONE, COMMIT),
  ).rejects.toThrow(message);
  expect(readdirSync(dir)).toEqual([".writing"]);
});

test("ensure, more than a commit can hold, stops", async () => {
  const dir = aFolder();
  async function* readFiles(): AsyncIterable<CommittedFile> {
    for (let index = 0; ; index += 1) yield { path: `${index}`, content: Buffer.alloc(1024 * 1024), executable: false };
  }
  await expect(
    createCheckouts({ dir, runAs: undefined, isolation: "bubblewrap", readFiles }).ensure(ONE, COMMIT),
  ).rejects.toThrow(/larger than a commit/);
  expect(readdirSync(join(dir, ".writing"))).toEqual([]);
});

test("ensure, what a process left that died, is removed at the next start, and what nobody can be writing any more", async () => {
  const first = someCheckouts({ [ONE]: { "main.py": "" } });
  await first.ensure(ONE, COMMIT);
  const [old, young, dead] = [`a.${process.pid}.1`, `b.${process.pid}.2`, "c.4194304.3"];
  for (const [name, minutes] of [
    [old, 11],
    [young, 1],
    [dead, 0],
  ] as const) {
    const path = join(first.dir, ".writing", name);
    mkdirSync(path);
    const at = new Date(Date.now() - minutes * MINUTE_MS);
    utimesSync(path, at, at);
  }
  await someCheckouts({ [TWO]: { "main.py": "" } }, first.dir).ensure(TWO, COMMIT);
  expect(readdirSync(join(first.dir, ".writing"))).toEqual([young]);
});

test("prune, checkouts of different age, removes the least recently used and never one in use", async () => {
  const commits = Object.fromEntries([ONE, TWO].map((id) => [id, { "main.py": "x".repeat(1_000) }]));
  const checkouts = someCheckouts(commits);
  const ids = ["b", "c", "d", "e"].map((digit) => digit.repeat(40) as CommitId);
  const paths = await Promise.all(ids.map((id) => checkouts.ensure(ONE, id)));
  for (const [index, minutes] of [400, 300, 200, 1].entries()) {
    const at = new Date(Date.now() - minutes * MINUTE_MS);
    utimesSync(paths[index]!, at, at);
  }
  const inUse = [{ workflowId: ONE, commitId: ids[0]! }];
  expect(await checkouts.prune({ bytesMax: 3_500, unusedForMs: 1e12, inUse })).toBe(1);
  expect(paths.map((path) => existsSync(path))).toEqual([true, false, true, true]);
  expect(await checkouts.prune({ bytesMax: 1e9, unusedForMs: 100 * MINUTE_MS, inUse: [] })).toBe(2);
  expect(paths.map((path) => existsSync(path))).toEqual([false, false, false, true]);
  expect(await checkouts.ensure(ONE, ids[1]!)).toBe(paths[1]);
});
