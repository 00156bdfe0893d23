import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { expect, test } from "@jest/globals";
import { ERROR_TEXT, type ErrorCode } from "../../domain/errors.ts";
import { parseManifest } from "../../domain/manifest/parse.ts";
import { TICK_OUTCOMES } from "../../domain/schedules/ticks.ts";
import { OUTCOME_WORDS } from "../../src/cli/tick-words.ts";
import { loadSettings, SETTINGS, type Settings } from "../../src/config.ts";
import { createApp } from "../../src/http/app.ts";
import { STATUS } from "../../src/http/errors.ts";

const CHECKOUT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const SETTING_NAMES = Object.keys(SETTINGS.shape) as (keyof Settings)[];
const DEFAULTS = loadSettings({});

function read(path: string): string {
  return readFileSync(join(CHECKOUT, path), "utf8");
}

/** The cells of each row of the table that begins with the heading given. */
function readTable(path: string, firstHeading: string): string[][] {
  const lines = read(path).split("\n");
  const start = lines.findIndex((line) => line.startsWith(`| ${firstHeading} |`));
  const rows = lines.slice(start + 2);
  const end = rows.findIndex((line) => !line.startsWith("|"));
  return rows.slice(0, end).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** What stands between backticks. */
function readCode(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}

/** A default as the table writes it: in backticks, or as a size. Undefined where it is told in words. */
function readDefault(cell: string): string | undefined {
  const [, count, unit] = /^(\d+) (MiB|GiB)$/.exec(cell) ?? [];
  if (count !== undefined) return String(Number(count) * 1024 ** (unit === "GiB" ? 3 : 2));
  return readCode(cell)[0];
}

test("docs/operating.md, in its table of settings, has those of src/config.ts, each once", () => {
  const documented = readTable("docs/operating.md", "Variable").flatMap(([names = ""]) => readCode(names));
  expect(documented.sort()).toEqual([...SETTING_NAMES].sort());
});

test("docs/operating.md, for every setting with a default, has that default", () => {
  const rows = readTable("docs/operating.md", "Variable");
  const documented = rows.flatMap(([names = "", value = ""]) =>
    readCode(names).map((name) => [name, readDefault(value)]),
  );
  const withDefault = documented.filter(([name]) => DEFAULTS[name as keyof Settings] !== undefined);
  expect(withDefault.length).toBeGreaterThan(10);
  expect(withDefault).toEqual(withDefault.map(([name]) => [name, String(DEFAULTS[name as keyof Settings])]));
});

test(".env.example, line by line, has the settings of src/config.ts in their order with their defaults, commented out", () => {
  const lines = read(".env.example")
    .split("\n")
    .filter((line) => /[A-Z_]{4,}=/.test(line));
  expect(lines).toEqual(SETTING_NAMES.map((name) => `# ${name}=${DEFAULTS[name] ?? ""}`));
});

test(".env.example, with every line in force and read as --env-file is, changes nothing", () => {
  const given = parseEnv(read(".env.example").replaceAll(/^# (?=[A-Z_]+=)/gm, ""));
  expect(new Set(Object.keys(given))).toEqual(new Set(SETTING_NAMES));
  expect(loadSettings(given as Record<string, string>)).toEqual(DEFAULTS);
});

function byName(rows: readonly (readonly unknown[])[]): readonly unknown[][] {
  return rows.map((row) => [...row]).sort(([one], [other]) => String(one).localeCompare(String(other)));
}

test("docs/errors.md, in its table, has every code of domain/errors.ts with its status and text, and no other", () => {
  const documented = readTable("docs/errors.md", "Code").map(([code = "", status, text = ""]) => [
    readCode(code)[0],
    Number(status),
    readCode(text)[0],
  ]);
  const codes = Object.keys(ERROR_TEXT) as ErrorCode[];
  expect(byName(documented)).toEqual(byName(codes.map((code) => [code, STATUS[code], ERROR_TEXT[code]])));
});

test("docs/errors.md, below its table, explains every code under its name, beginning with its status", () => {
  const explained = [...read("docs/errors.md").matchAll(/^## (\w+)\n\n\*\*(\d+)\.\*\*/gm)].map(([, code, status]) => [
    code,
    Number(status),
  ]);
  expect(byName(explained)).toEqual(byName(Object.entries(STATUS)));
});

test("docs/schedules.md, in its table of outcomes, has every outcome of a tick with the word that people are shown", () => {
  const documented = readTable("docs/schedules.md", "Outcome").map(([code = "", word]) => [readCode(code)[0], word]);
  expect(documented).toEqual(TICK_OUTCOMES.map((outcome) => [outcome, OUTCOME_WORDS[outcome]]));
});

interface Layer {
  readonly route?: { readonly path: string; readonly methods: Readonly<Record<string, boolean>> };
  readonly handle: { readonly stack?: readonly Layer[] };
  match(path: string): boolean;
}

/** Routes below some layers as `GET /path/{parameter}`. A router is mounted at `/api` or at the root: it says only whether a path is its. */
function listRoutes(layers: readonly Layer[], prefix = ""): string[] {
  return layers.flatMap((layer) => {
    if (layer.route === undefined) {
      const isAtRoot = prefix !== "" || layer.match("/elsewhere");
      return listRoutes(layer.handle.stack ?? [], isAtRoot ? prefix : "/api");
    }
    const path = layer.route.path.replaceAll(/:(\w+)/g, "{$1}");
    const methods = Object.keys(layer.route.methods).filter((method) => method !== "_all");
    return methods.map((method) => `${method.toUpperCase()} ${prefix}${path}`);
  });
}

/** Routes of a cell such as `POST`, `GET /a`, `/b`: several methods of one path, or several paths of one method. */
function readRoutes(cell: string): string[] {
  let methods: string[] = [];
  let isComplete = true;
  return readCode(cell).flatMap((code) => {
    const [, method, path] = /^([A-Z]+)? ?(\/\S*)?$/.exec(code) ?? [];
    if (method !== undefined) methods = isComplete ? [method] : [...methods, method];
    isComplete = path !== undefined;
    return path === undefined ? [] : methods.map((each) => `${each} ${path}`);
  });
}

test("docs/api.md, in its table of routes, has those that the application answers, and no other", () => {
  // Nothing is called: only what is mounted counts.
  const app = createApp({ metrics: async () => "" } as unknown as Parameters<typeof createApp>[0]);
  const mounted = listRoutes((app as unknown as { router: { stack: readonly Layer[] } }).router.stack);
  const documented = readTable("docs/api.md", "Route").flatMap(([routes = ""]) => readRoutes(routes));
  // Every address that answers GET answers HEAD.
  expect(documented.filter((route) => !route.startsWith("HEAD ")).sort()).toEqual(mounted.sort());
});

test.each([
  ["`POST /a`", ["POST /a"]],
  ["`POST`, `GET /a`", ["POST /a", "GET /a"]],
  ["`GET /a`, `/b`", ["GET /a", "GET /b"]],
])("the reader of routes, given %s, finds each method of each path", (cell, routes) => {
  expect(readRoutes(cell)).toEqual(routes);
});

test.each(["README.md", "docs/first-workflow.md"])(
  "%s, in its examples of config.yaml, has manifests that can be published",
  (path) => {
    const examples = [...read(path).matchAll(/```yaml\n(name: [\s\S]*?)```/g)].map(([, text = ""]) => text);
    expect(examples.length).toBeGreaterThan(0);
    expect(examples.map((text) => parseManifest(text)).filter(({ ok }) => !ok)).toEqual([]);
  },
);

const documents = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"], {
  cwd: CHECKOUT,
  encoding: "utf8",
})
  .split("\n")
  .filter((path) => path !== "" && existsSync(join(CHECKOUT, path)));

/** The anchors that headings of a document have. */
function listAnchors(path: string): string[] {
  return [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test("documents, where they link to one another, link to what is there", () => {
  const broken = documents.flatMap((document) =>
    [...read(document).matchAll(/\]\((?!https?:)([^)\s]*)\)/g)].flatMap(([, link = ""]) => {
      const [file = "", anchor] = link.split("#");
      const target = file === "" ? document : join(dirname(document), file);
      const isThere =
        existsSync(join(CHECKOUT, target)) && (anchor === undefined || listAnchors(target).includes(anchor));
      return isThere ? [] : [`${document}: ${link}`];
    }),
  );
  expect(documents).toContain("README.md");
  expect(broken).toEqual([]);
});

test("ARCHITECTURE.md, in its table of rooms, has every folder of src/ and no other", () => {
  const documented = readTable("ARCHITECTURE.md", "Folder").flatMap(([name = ""]) => readCode(name).slice(0, 1));
  const folders = readdirSync(join(CHECKOUT, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(documented.sort()).toEqual(folders.map(({ name }) => `src/${name}/`).sort());
});

test("documents, where they name a file or folder of this repository, name one that is there", () => {
  const place =
    /^(activities|bench|bin|chaos|db|deploy|docs|domain|environments|examples|runner|sandbox|src|storage|system|test|workflows)\/[\w./-]*$/;
  const missing = documents.flatMap((document) =>
    readCode(read(document))
      .filter((code) => place.test(code) && !existsSync(join(CHECKOUT, code)))
      .map((code) => `${document}: ${code}`),
  );
  expect(missing).toEqual([]);
});
