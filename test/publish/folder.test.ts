import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { findPathProblem } from "../../domain/file-path.ts";
import { checkFolder, FILES_MAX, FOLDER_BYTES_MAX } from "../../src/publish/folder.ts";
import type { CommitFile } from "../../src/publish/git-objects.ts";
import { readLocalFolder } from "../../src/publish/local-folder.ts";

const dirs: string[] = [];
afterAll(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

function aFolder(files: Readonly<Record<string, string>>): string {
  const dir = mkdtempSync(join(tmpdir(), "folder-"));
  dirs.push(dir);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), content);
  }
  return dir;
}

const file = (path: string, content: Buffer = Buffer.from("x")): CommitFile => ({ path, content, executable: false });
const MANIFEST = file("config.yaml");

test.each([
  ["", "no name"],
  ["/etc/passwd", "absolute"],
  ["../up.py", '".." segment'],
  ["a/../../up.py", '".." segment'],
  ["./main.py", '"." segment'],
  ["a//b.py", "empty segment"],
  ["a/", "empty segment"],
  ["a\\b.py", "backslash"],
  ["a\nb.py", "control character"],
  ["a\u0085b.py", "control character"],
  ["a\u0000b.py", "control character"],
  ["bad\ufffdname", "not valid UTF-8"],
  ["lone\ud800surrogate", "not valid UTF-8"],
  [".git/hooks/pre-push", "git's own folder"],
  ["sub/.GIT/config", "git's own folder"],
  ["sub/.g\u200cit/config", "git's own folder"],
  ["git~1/config", "git's own folder"],
  [".git . ", "git's own folder"],
  [".git::$INDEX_ALLOCATION/x", "git's own folder"],
  [`${"n".repeat(256)}.py`, "longer than 255 bytes"],
  [`${"ü".repeat(128)}`, "longer than 255 bytes"],
  [`${"d/".repeat(60)}x`, "folders deep"],
  [`${`${"d".repeat(200)}/`.repeat(6)}x`, "longer than 1024 bytes"],
])("findPathProblem, on %j, says %s", (path, words) => {
  expect(findPathProblem(path)).toContain(words);
});

test.each([
  "main.py",
  "a/b/c.txt",
  ".gitignore",
  ".github/x.yml",
  "git",
  "ünï ☕.py",
  "a b",
  "-rf",
  "...",
  "n".repeat(255),
])("findPathProblem, on the good path %j, says nothing", (path) => {
  expect(findPathProblem(path)).toBeUndefined();
});

test("checkFolder, on several bad files, names every one", () => {
  const { problems } = checkFolder([file("../a"), file("b"), file("b"), file("c"), file("c/d/e"), file(".git/x")]);
  expect(problems.map((problem) => problem.file).sort()).toEqual(["../a", ".git/x", "b", "c", "config.yaml"]);
  expect(problems.every((problem) => problem.line === 1 && problem.column === 1 && problem.message !== "")).toBe(true);
});

test("checkFolder, at its limits of number and size, accepts; one beyond, refuses", () => {
  const many = Array.from({ length: FILES_MAX - 1 }, (_, index) => file(`f${index}`, Buffer.alloc(0)));
  expect(checkFolder([MANIFEST, ...many]).problems).toEqual([]);
  expect(checkFolder([MANIFEST, ...many, file("more")]).problems[0]?.message).toContain("1001 files");
  const rest = FOLDER_BYTES_MAX - MANIFEST.content.length;
  expect(checkFolder([MANIFEST, file("big", Buffer.alloc(rest))]).problems).toEqual([]);
  expect(checkFolder([MANIFEST, file("big", Buffer.alloc(rest + 1))]).problems[0]?.message).toContain(
    "20,000,001 bytes",
  );
});

test("checkFolder, on names that differ only in case, warns and does not refuse", () => {
  const { problems, warnings } = checkFolder([MANIFEST, file("Main.py"), file("main.py")]);
  expect(problems).toEqual([]);
  expect(warnings).toEqual([expect.objectContaining({ file: "main.py", message: expect.stringContaining("Main.py") })]);
});

test("readLocalFolder, on a folder with caches and environments, leaves them out", async () => {
  const dir = aFolder({
    "config.yaml": "name: x",
    "main.py": "",
    "pkg/__init__.py": "",
    "pkg/__pycache__/a.cpython-311.pyc": "",
    "old.pyc": "",
    ".git/HEAD": "",
    ".venv/bin/python": "",
    "venv/x": "",
    "node_modules/x/y": "",
    ".DS_Store": "",
    ".treadle/published.json": "{}",
    ".hidden": "kept",
  });
  const folder = await readLocalFolder(dir);
  expect(folder.ok && folder.files.map((entry) => entry.path)).toEqual([
    ".hidden",
    "config.yaml",
    "main.py",
    "pkg/__init__.py",
  ]);
});

test("readLocalFolder, on links and pipes, refuses and names each", async () => {
  const dir = aFolder({ "config.yaml": "name: x" });
  symlinkSync("/etc/passwd", join(dir, "passwd"));
  symlinkSync("config.yaml", join(dir, "inside"));
  mkdirSync(join(dir, "sub"));
  symlinkSync("/etc", join(dir, "sub/etc"));
  execFileSync("mkfifo", [join(dir, "pipe")]);
  const folder = await readLocalFolder(dir);
  if (folder.ok) throw new Error("accepted");
  expect(
    folder.problems.map(({ file: path, message }) => [path, /symbolic link|not a regular file/.exec(message)?.[0]]),
  ).toEqual([
    ["inside", "symbolic link"],
    ["passwd", "symbolic link"],
    ["pipe", "not a regular file"],
    ["sub/etc", "symbolic link"],
  ]);
});

test("readLocalFolder, on names that are not UTF-8, names the file and why", async () => {
  const dir = aFolder({ "config.yaml": "name: x" });
  writeFileSync(Buffer.concat([Buffer.from(`${dir}/caf`), Buffer.of(0xe9), Buffer.from(".csv")]), "");
  mkdirSync(Buffer.concat([Buffer.from(`${dir}/folder`), Buffer.of(0xff)]));
  expect(await readLocalFolder(dir)).toEqual({
    ok: false,
    problems: ["caf\ufffd.csv", "folder\ufffd"].map((path) => ({
      file: path,
      line: 1,
      column: 1,
      message: "The name is not valid UTF-8. Rename the file.",
    })),
  });
});

test("readLocalFolder, on a file of 10 GB, refuses without reading it", async () => {
  const dir = aFolder({ "config.yaml": "name: x", "huge.bin": "" });
  truncateSync(join(dir, "huge.bin"), 10_000_000_000);
  const folder = await readLocalFolder(dir);
  if (folder.ok) throw new Error("accepted");
  expect(folder.problems).toEqual([
    expect.objectContaining({ file: ".", message: expect.stringContaining("reached at huge.bin") }),
  ]);
});

test("readLocalFolder, on too many files, refuses", async () => {
  const dir = aFolder(Object.fromEntries(Array.from({ length: FILES_MAX + 1 }, (_, index) => [`f${index}`, ""])));
  const folder = await readLocalFolder(dir);
  expect(folder).toEqual({
    ok: false,
    problems: [expect.objectContaining({ message: expect.stringContaining("more than 1,000 files") })],
  });
});

test("readLocalFolder, on the owner's execute bit, keeps it", async () => {
  const dir = aFolder({ "run.sh": "", "plain.sh": "" });
  execFileSync("chmod", ["0744", join(dir, "run.sh")]);
  const folder = await readLocalFolder(dir);
  expect(folder.ok && folder.files.map(({ path, executable }) => [path, executable])).toEqual([
    ["plain.sh", false],
    ["run.sh", true],
  ]);
});

test("readLocalFolder, on a path that is a file, says so", async () => {
  const dir = aFolder({ "config.yaml": "" });
  const folder = await readLocalFolder(join(dir, "config.yaml"));
  expect(folder.ok ? "" : folder.problems[0]?.message).toContain("is not a folder");
});
