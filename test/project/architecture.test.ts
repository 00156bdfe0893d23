import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { TEMPORAL_VERSION } from "../../src/setup/servers/temporal-version.ts";
import { findCircle, findForbiddenImports, ROOMS, type SourceFile } from "./room-rules.ts";

const CHECKOUT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** Without blank lines and comments. Tests name each property of what they build. */
const LINES_MAX = { product: 300, tests: 330 };
/** Far below what there is. A scan that finds nothing to read must not count as one that finds nothing wrong. */
const MODULES_MIN = 200;

const BANNED_NAMES =
  /^(utils?|helpers?|common|lib|misc|shared|types|interfaces|constants|models|services|managers|controllers|repositories)$/;

/** The configuration of jest is plain JavaScript, so nobody has told the compiler what is in it. */
const { TIERS } = (await import(new URL("../../jest.config.js", import.meta.url).href)) as { TIERS: readonly string[] };

const files = readTracked();
const modules = files.filter(({ path }) => /^[a-z]+\/.*\.tsx?$/.test(path) && Object.hasOwn(ROOMS, roomOf(path)));

test("the scan, of this checkout, sees every room and most of the modules there are", () => {
  expect(modules.length).toBeGreaterThanOrEqual(MODULES_MIN);
  for (const room of Object.keys(ROOMS))
    expect([room, modules.some(({ path }) => roomOf(path) === room)]).toEqual([room, true]);
  expect(files.filter(({ path }) => /\.tsx?$/.test(path)).length).toBe(modules.length);
});

test("imports, of every room, are those of the table", () => {
  expect(findForbiddenImports(modules)).toEqual([]);
});

test.each([
  ["workflows/a.ts", 'import { createActivities } from "../activities/index.ts";', "by value"],
  ["workflows/a.ts", 'import { type Activities } from "../activities/index.ts";', "by value"],
  ["workflows/a.ts", 'import type { Db } from "../db/connect.ts";', "db/connect.ts"],
  ["workflows/a.ts", 'import { readFile } from "node:fs/promises";', "node:fs/promises"],
  ["workflows/a.ts", 'import { Client } from "@temporalio/client";', "@temporalio/client"],
  ["src/a.ts", 'export { executeCommit } from "../workflows/index.ts";', "by value"],
  ["src/http/a.ts", 'const run = await import("../../workflows/index.ts");', "by value"],
  ["domain/a.ts", 'import knex from "knex";', "knex"],
  ["domain/manifest/a.ts", 'export * from "../../db/connect.ts";', "db/connect.ts"],
  ["db/a.ts", 'import { x } from "../activities/index.ts";', "activities/index.ts"],
  ["activities/a.ts", 'import { loadSettings } from "../src/config.ts";', "src/config.ts"],
  ["chaos/a.ts", 'import { toCredits } from "../domain/credits.ts";', "domain"],
  [
    "web/src/a.tsx",
    'import { toEnvelope } from "../../src/executions/envelope.ts"; export const a = <p />;',
    "src/executions",
  ],
  ["web/src/a.ts", 'import { readFile } from "node:fs/promises";', "node:fs/promises"],
  ["bench/a.ts", 'import { aService } from "../test/support/service.ts";', "test/support"],
])("imports, of %s saying %s, are refused", (path, text, problem) => {
  expect(findForbiddenImports([{ path, text }])).toEqual([expect.stringContaining(problem)]);
});

test.each([
  ["workflows/a.ts", 'import type { Activities } from "../activities/index.ts";'],
  ["src/http/a.ts", 'import type { executeCommit } from "../../workflows/index.ts";'],
  [
    "web/src/a.tsx",
    'import { parseInputs } from "../../domain/manifest/inputs.ts"; import "react"; export const a = <p />;',
  ],
  ["domain/manifest/a.ts", 'import { parseDocument } from "yaml"; import { ids } from "../ids.ts";'],
])("imports, of %s saying %s, are allowed", (path, text) => {
  expect(findForbiddenImports([{ path, text }])).toEqual([]);
});

test.each(["src", "src/http", "activities"])(
  "rooms, of %s, stand above what they import, and no arrow runs back up",
  (folder) => {
    expect(modules.some(({ path }) => path.startsWith(`${folder}/`))).toBe(true);
    expect(findCircle(modules, folder)).toEqual([]);
  },
);

test("rooms, of which two need each other by way of a third, are a circle", () => {
  const files = [
    { path: "src/a/x.ts", text: 'import type { B } from "../b/y.ts";' },
    { path: "src/b/y.ts", text: 'export { c } from "../c.ts";' },
    { path: "src/c.ts", text: 'import { z } from "./a/z.ts";' },
    { path: "src/d.ts", text: 'import { z } from "./a/z.ts";' },
  ];
  expect(findCircle(files, "src")).toEqual(["a", "b", "c.ts", "d.ts"]);
  expect(findCircle(files.slice(1), "src")).toEqual([]);
});

test("names, of files and folders, say what is inside", () => {
  const banned = files.filter(({ path }) =>
    path.split("/").some((part) => BANNED_NAMES.test(part.split(".")[0] ?? "")),
  );
  expect(pathsOf(banned)).toEqual([]);
});

test("files, of code, have 300 lines at most without blank lines and comments, and tests 330", () => {
  const code = files.filter(({ path }) => /\.(tsx?|mjs|cjs|js|css|py)$/.test(path));
  const long = code.filter(
    ({ path, text }) =>
      text.split("\n").filter((line) => !/^\s*($|\/\/|\/?\*|#)/.test(line)).length >
      LINES_MAX[path.startsWith("test/") ? "tests" : "product"],
  );
  expect(pathsOf(long)).toEqual([]);
});

test("the environment, of the process, is read in src/config.ts and handed on", () => {
  expect(
    pathsOf(
      matching(
        /process\.env\b/,
        (path) => isCode(path) && !/^(src\/config\.ts$|(bin|test|bench|chaos|deploy)\/)/.test(path),
      ),
    ),
  ).toEqual([]);
});

/** Outside src/patches, because their rooms may not look into src. */
const OTHER_PATCHES = ["db/dump/copy.ts", "bin/check-rooms.mjs"];
const isPatch = (path: string): boolean => path.startsWith("src/patches/") || OTHER_PATCHES.includes(path);

test("patches, of what they reach into, are written for the versions that are installed", () => {
  for (const { path, text } of files.filter((file) => isPatch(file.path))) {
    const written = [...text.matchAll(/^\/\/ Written for (\S+(?: CLI)?) ([\d., and]+): /gm)];
    expect([path, written.length]).not.toEqual([path, 0]);
    // On failure: read the patch against the new version, run the tests of its behaviour, then write that version.
    for (const [, name = "", versions = ""] of written)
      expect([path, name, versions.split(/, | and /)]).toEqual([path, name, expect.arrayContaining([versionOf(name)])]);
  }
});

test("code, outside the patches, uses no private field and replaces nothing of a prototype", () => {
  const rooms = /^(domain|db|system|sandbox|storage|environments|activities|workflows|src|web)\//;
  const isOurs = (path: string): boolean => rooms.test(path) && isCode(path) && !isPatch(path);
  expect(pathsOf(matching(/(?<!\bos)\._[a-z]|\.prototype\.\w+ =/i, isOurs))).toEqual([]);
});

/** Returns the version of a package, the major one of Node.js, or that of the Temporal command line that is installed. */
function versionOf(name: string): string | undefined {
  if (name === "Node.js") return process.versions.node.split(".")[0];
  if (name === "Temporal CLI") return TEMPORAL_VERSION;
  return (JSON.parse(readFileSync(join(CHECKOUT, "node_modules", name, "package.json"), "utf8")) as { version: string })
    .version;
}

test("tests, of all tiers, mock no module and leave none out", () => {
  const shortcuts = [
    /\bjest\s*\.\s*(mock|doMock|unstable_mockModule|spyOn|setMock)\b/,
    /\b(test|it|describe)\s*\.\s*(skip|only|todo|failing)\b/,
    /\b(xtest|xit|xdescribe|fit|fdescribe)\s*\(/,
  ];
  for (const shortcut of shortcuts)
    expect(pathsOf(matching(shortcut, (path) => path.startsWith("test/") && isCode(path)))).toEqual([]);
});

test("test files, of every folder, belong to a tier that npm test runs", () => {
  const strays = files.filter(
    ({ path }) => /\.test\.[a-z]+$/.test(path) && !TIERS.some((tier) => path.startsWith(`test/${tier}/`)),
  );
  expect(pathsOf(strays)).toEqual([]);
});

test("tracked files, of any kind, name no package registry", () => {
  const registry =
    /\b(registry\.npmjs\.org|registry\.yarnpkg\.com|npm\.pkg\.github\.com|(?:proxy|sum)\.golang\.org|pypi\.org|files\.pythonhosted\.org|(?:deb|security)\.debian\.org|crates\.io)\b/;
  expect(pathsOf(matching(registry, () => true))).toEqual([]);
});

test("tracked files, of any kind, hold no path of the machine they were written on", () => {
  const above = dirname(CHECKOUT);
  const places = [CHECKOUT, ...(["/", tmpdir(), homedir()].includes(above) ? [] : [above]), process.execPath].filter(
    (place) => !isOrdinary(place),
  );
  const found = files.filter(({ text }) =>
    places.some((place) => text.includes(`${place}/`) || text.includes(`${place}"`)),
  );
  expect(pathsOf(found)).toEqual([]);
});

/** Places that are the same on many machines may well be named. */
function isOrdinary(path: string): boolean {
  return /^\/(usr|bin|opt|srv|nix|app|src|builds?|workspace)(\/|$)/.test(path);
}

function matching(pattern: RegExp, isMeant: (path: string) => boolean): SourceFile[] {
  return files.filter(({ path, text }) => isMeant(path) && pattern.test(text));
}

function isCode(path: string): boolean {
  return /\.(tsx?|mjs|cjs|js)$/.test(path);
}

function pathsOf(found: readonly SourceFile[]): string[] {
  return found.map(({ path }) => path);
}

function roomOf(path: string): string {
  return path.split("/")[0] ?? "";
}

/** Every file that is, or is about to be, in the repository; what is no text, or gone again, is left out. */
function readTracked(): SourceFile[] {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: CHECKOUT,
    encoding: "utf8",
  });
  return listed.split("\0").flatMap((path) => {
    if (path === "") return [];
    try {
      const text = readFileSync(join(CHECKOUT, path), "utf8");
      return text.includes("\0") ? [] : [{ path, text }];
    } catch (error) {
      if (["ENOENT", "EISDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
      throw error;
    }
  });
}
