import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import type { AccountId } from "../../domain/ids.ts";
import { openRuff } from "../../src/patches/ruff-wasm.ts";
import { createPythonWarnings } from "../../src/publish/python-warnings.ts";
import { ThreadsBusyError } from "../../system/threads/threads.ts";
import { A_PYTHON } from "../support/python.ts";
import { TEST_THREADS } from "../support/threads.ts";

const KIB = 1024;
/** So that a busy machine is no hostile file. */
const PATIENT = { taskMs: 120_000, requestMs: 120_000 };
const find = createPythonWarnings(TEST_THREADS, PATIENT);

async function warningsOf(files: Readonly<Record<string, string | Buffer>>, search = find): Promise<string[]> {
  const found = await search({
    files: Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text), executable: false })),
    python: A_PYTHON,
    owner: "acct_test" as AccountId,
  });
  return found.map(({ file, line, column, message }) => `${file}:${line}:${column} ${message}`);
}

test("warnings, of unknown names and unused imports, have their place as the editor counts, and the rule", async () => {
  const main =
    'import json, treadle\nfrom os import (path,\n  sep)\n\ndef main(n):\n    treadle.progress(0.5, __file__)\n    return "😀", pritn(n), sep\n';
  expect(
    await warningsOf({ "main.py": main, "notes.txt": "pritn", "lib/fine.py": "import re\nre.compile('x')\n" }),
  ).toEqual([
    "main.py:1:8 `json` imported but unused (Ruff F401).",
    "main.py:2:17 `os.path` imported but unused (Ruff F401).",
    "main.py:7:18 Undefined name `pritn` (Ruff F821).",
  ]);
});

test("warnings, that Ruff can end, say by which replacements; one that would need thousands of characters has none", async () => {
  const names = Array.from({ length: 200 }, (_, at) => `a_name_of_a_module_${at}`);
  const found = await find({
    files: Object.entries({
      "main.py": "import os, json\nprint(json)\n",
      "many.py": `from many import unused, ${names.join(", ")}\nprint(${names.join(", ")})\n`,
    }).map(([path, text]) => ({ path, content: Buffer.from(text), executable: false })),
    python: A_PYTHON,
    owner: "acct_test" as AccountId,
  });
  const edit = { line: 1, column: 1, endLine: 1, endColumn: 16, text: "import json" };
  expect(found).toMatchObject([
    { file: "main.py", fix: { title: "Remove unused import: `os`", edits: [edit] } },
    { file: "many.py", message: "`many.unused` imported but unused (Ruff F401)." },
  ]);
  expect(found[1]).not.toHaveProperty("fix");
});

test("warnings, of what another file, Python or the author answers for, are none", async () => {
  const files = {
    "lib/__init__.py": "from .parts import one, two\n",
    "star.py": "from math import *\nprint(sin(1))\n",
    "wanted.py": "import sqlite3  # noqa: F401\n",
    "broken.py": "import os\ndef main(:\n",
    "latin.py": Buffer.from("# coding: latin-1\nname = 'Jos\xe9'\n", "latin1"),
    "bom.py": "\ufeffprint(1)\n",
    // Ruff's own files are data like any other.
    "ruff.toml": "lint.select = ['ALL']\n",
    "pyproject.toml": "[tool.ruff]\nextend = '/etc/passwd'\n",
  };
  expect(await warningsOf(files)).toEqual([
    expect.stringMatching(/^star\.py:1:1 `from math import \*` used; unable to detect undefined names \(Ruff F403\)/),
  ]);
});

test("warnings, where files are hostile to the checker, say so of each and are there of the others", async () => {
  const unread = (file: string, reason: string): string =>
    `${file}:1:1 This file was not searched for unknown names and unused imports: ${reason}.`;
  const deep = "it takes too long, or nests too deeply";
  const found = await warningsOf({
    "a.py": `x = ${"(".repeat(60 * KIB)}${")".repeat(60 * KIB)}\n`,
    "b.py": `x = a${".b".repeat(60 * KIB)}\n`,
    "c.py": "pritn\n",
    "e.py": `x = ${"[".repeat(512 * KIB)}${"]".repeat(512 * KIB)}\n`,
    "f.py": "print(later)\n",
  });
  expect(found).toEqual([
    unread("a.py", deep),
    unread("b.py", deep),
    "c.py:1:1 Undefined name `pritn` (Ruff F821).",
    unread("e.py", "it has more than 128 KiB"),
    "f.py:1:7 Undefined name `later` (Ruff F821).",
  ]);
});

test("warnings, of a thousand files with more than can be shown, are the first hundred and their number", async () => {
  const files = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`f${at}.py`, `name_${at}\n`]));
  const found = await warningsOf(files);
  expect(found).toHaveLength(101);
  expect(found.at(-1)).toBe("f100.py:1:1 There are 900 warnings more from here on.");
  const many = await warningsOf({ "main.py": "unknown\n".repeat(2_000) });
  expect(many).toHaveLength(50);
});

test("warnings, of files that were searched before, come without another search", async () => {
  let searches = 0;
  const search = createPythonWarnings(
    {
      run: (...given) => {
        searches += 1;
        return TEST_THREADS.run(...given);
      },
    },
    PATIENT,
  );
  expect(await warningsOf({ "a.py": "one\n", "b.py": "two\n" }, search)).toHaveLength(2);
  expect(await warningsOf({ "a.py": "one\n", "c.py": "two\n" }, search)).toHaveLength(2);
  expect(searches).toBe(1);
});

test("warnings, of files that take too long, say so, and are there for the next request", async () => {
  const hasty = createPythonWarnings(TEST_THREADS, { ...PATIENT, taskMs: 1 });
  expect(await warningsOf({ "a.py": "one\n".repeat(20_000) }, hasty)).toEqual([
    expect.stringContaining("takes too long"),
  ]);
  expect(await warningsOf({ "a.py": "two\n" })).toHaveLength(1);
});

test("Ruff, with a file that needs more memory than it may have, throws, and the next instance does not", () => {
  const open = openRuff(12 * KIB * KIB);
  const check = (text: string): unknown[] => {
    const { Workspace, PositionEncoding } = open();
    return new Workspace({}, PositionEncoding.Utf16).check(text) as unknown[];
  };
  expect(() => check(`x = [${"1,".repeat(512 * KIB)}]\n`)).toThrow("unreachable");
  expect(check("import os\n")).toHaveLength(1);
});

test("warnings, where no thread is to be had, are no reason to refuse anything", async () => {
  const busy = createPythonWarnings({ run: () => Promise.reject(new ThreadsBusyError()) });
  expect(await warningsOf({ "a.py": "one\n" }, busy)).toEqual([expect.stringContaining("has too much to do")]);
});

test("Ruff, that was used once, takes nothing of the processors after that", async () => {
  const { Workspace, PositionEncoding } = openRuff(128 * KIB * KIB)();
  // Only what is used often would be compiled anew.
  new Workspace({ lint: { select: ["F"] } }, PositionEncoding.Utf16).check(
    "import os\ndef f(a):\n    return b\n".repeat(50),
  );
  const before = process.cpuUsage();
  await sleep(3_000);
  const { user, system } = process.cpuUsage(before);
  // It would be five, as far as other tests leave it the processors. Half a second is what a test's process does by itself.
  expect((user + system) / 1e6).toBeLessThan(1.5);
});
