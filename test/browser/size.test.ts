import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";
import { FEATURES_OFF } from "../support/browser.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const WEB = join(ROOT, "dist/web");
const FIRST_PAGE_BYTES_MAX = 300_000;
/** Parts that only some pages need, and that are large. */
const HEAVY = /codemirror|lezer|@codemirror/;

interface Part {
  readonly file: string;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
  readonly assets?: readonly string[];
}

/** By its address, the links that the service puts into each page. */
const links = JSON.parse(readFileSync(join(WEB, "links.json"), "utf8")) as Record<string, string>;
const parts = JSON.parse(readFileSync(join(WEB, "parts.json"), "utf8")) as Record<string, Part>;

/** Every file that a browser fetches for these parts: they themselves, what they import, and the styles of all of it. */
function listFiles(names: readonly string[]): string[] {
  const seen = new Set<string>();
  const walk = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    for (const other of parts[name]?.imports ?? []) walk(other);
  };
  for (const name of names) walk(name);
  const found = [...seen].flatMap((name) => [parts[name]?.file ?? "", ...(parts[name]?.css ?? [])]);
  return [...new Set(found)].filter((file) => file !== "");
}

/** As the service sends it to a browser that takes gzip. */
function countBytes(file: string): number {
  const compressed = join(WEB, `${file}.gz`);
  return existsSync(compressed) ? statSync(compressed).size : gzipSync(readFileSync(join(WEB, file))).length;
}

test.each([
  ["the sign-in", "src/sign-in/sign-in-page.tsx"],
  ["the list of workflows", "src/workflows/list-page.tsx"],
  ["the form of a workflow", "src/run/run-tab.tsx"],
])("%s, as the first page that somebody opens, is at most 300 kB compressed", (_, page) => {
  const frame = page.includes("run-tab") ? ["src/workflows/frame.tsx"] : [];
  const files = listFiles(["index.html", ...frame, page]);
  expect(files.length).toBeGreaterThan(3);
  const bytes = files.reduce((sum, file) => sum + countBytes(file), 0);
  expect(bytes).toBeLessThanOrEqual(FIRST_PAGE_BYTES_MAX);
  // A measurement that finds next to nothing has measured something else.
  expect(bytes).toBeGreaterThan(100_000);
});

test("the first page, whatever it is, does without the editor of code", () => {
  const files = listFiles(["index.html", "src/workflows/list-page.tsx"]);
  expect(files.filter((file) => HEAVY.test(readFileSync(join(WEB, file), "utf8").slice(0, 2_000)))).toEqual([]);
  for (const name of Object.keys(parts)) expect(name).not.toMatch(/^https?:/);
});

test("every page that is a part of its own is linked by its address, with files that are there", () => {
  const router = readFileSync(join(ROOT, "web/src/app/router.tsx"), "utf8");
  const loaded = [...router.matchAll(/import\("\.\.\/([^"]+)"\)/g)].map(([, path]) => `src/${path}`);
  expect(loaded.length).toBeGreaterThan(10);
  const pages = JSON.parse(readFileSync(join(ROOT, "web/pages.json"), "utf8")) as Record<string, string[]>;
  expect([...new Set(Object.values(pages).flat())].toSorted()).toEqual(loaded.toSorted());
  expect(Object.keys(links)).toEqual(Object.keys(pages));
  for (const [path, names] of Object.entries(pages)) {
    const linked = [...(links[path] ?? "").matchAll(/href="\/([^"]+)"/g)].map(([, file]) => String(file));
    const wanted = listFiles(names).filter((file) => !listFiles(["index.html"]).includes(file));
    expect([path, linked.toSorted()]).toEqual([path, wanted.toSorted()]);
    expect(linked.every((file) => existsSync(join(WEB, file)))).toBe(true);
  }
});

const MANTINE = join(ROOT, "node_modules/@mantine/core");
/** Of the whole document, and of what another package of the library shows. */
const ALWAYS = ["baseline", "default-css-variables", "global", "Notification"];

/** The names that the pages import from Mantine, and the files that those are in. */
function listUsed(): string[] {
  const texts = readdirSync(join(ROOT, "web/src"), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => readFileSync(join(ROOT, "web/src", path), "utf8"));
  const imported = texts.flatMap((text) => [...text.matchAll(/import \{([^}]*)\} from "@mantine\/core"/g)]);
  const names = new Set(imported.flatMap(([, list = ""]) => list.split(",").map((name) => name.trim())));
  const index = readFileSync(join(MANTINE, "esm/index.mjs"), "utf8");
  return [...index.matchAll(/import \{([^}]*)\} from "([^"]+)"/g)]
    .filter(([, list = ""]) => list.split(",").some((name) => names.has(name.trim())))
    .map(([, , path = ""]) => join(MANTINE, "esm", path));
}

test("the styles, of every component in the pages, are in them, and no others", () => {
  const seen = new Set<string>();
  const walk = (file: string): void => {
    if (seen.has(file) || !existsSync(file)) return;
    seen.add(file);
    for (const [, path = ""] of readFileSync(file, "utf8").matchAll(/from "(\.[^"]+)"/g))
      walk(join(dirname(file), path));
  };
  for (const file of listUsed()) walk(file);
  const components = [...seen].flatMap((file) => /(\w+)\.module\.mjs$/.exec(file)?.[1] ?? []);
  const styled = components.filter((name) => existsSync(join(MANTINE, `styles/${name}.css`)));
  expect(styled.length).toBeGreaterThan(20);
  const sheet = readFileSync(join(ROOT, "web/src/app/mantine.css"), "utf8");
  const loaded = [...sheet.matchAll(/styles\/([\w-]+)\.css/g)].map(([, name]) => String(name));
  expect(loaded.toSorted()).toEqual([...new Set([...styled, ...ALWAYS])].toSorted());
});

test("the browser of these tests, whose list of what is off replaces Playwright's, leaves nothing of that one out", () => {
  const bundle = createRequire(import.meta.url).resolve("playwright-core/lib/coreBundle");
  const [, list = ""] = /\bdisabledFeatures = \[([^\]]*)\]/.exec(readFileSync(bundle, "utf8")) ?? [];
  const names = [...list.matchAll(/^\s*"(\w+)",?$/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name = "") => !FEATURES_OFF.includes(name))).toEqual([]);
});
