import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { FEATURES_OFF } from "../support/browser.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const WEB = join(ROOT, "dist/web");
const FIRST_PAGE_BYTES_MAX = 200_000;
/** Pages that show more than a form or a list: the editor of code, and a run with its log and its outputs. */
const LARGER_BYTES_MAX: Readonly<Record<string, number>> = { "/workflows/*/code": 450_000, "/executions/*": 215_000 };
/** Every page is written in it. The font of code is fetched after that, where there is code. */
const TEXT_FONT = /\/assets\/(geist-latin-wght-normal-[\w-]+\.woff2)/;
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

/** As the service sends it to browsers, which take Brotli. */
function countBytes(file: string): number {
  const path = join(WEB, file);
  return statSync(existsSync(`${path}.br`) ? `${path}.br` : path).size;
}

const PAGES = JSON.parse(readFileSync(join(ROOT, "web/pages.json"), "utf8")) as Record<string, string[]>;

test.each(Object.entries(PAGES))(
  "%s, as the first page that somebody opens, is at most 200 kB compressed with its font, or what it has a reason for",
  (address, names) => {
    const files = listFiles(["index.html", ...names]);
    expect(files.length).toBeGreaterThan(2);
    const [, font = ""] = TEXT_FONT.exec(readFileSync(join(WEB, "index.html"), "utf8")) ?? [];
    const bytes = [...files, `assets/${font}`].reduce((sum, file) => sum + countBytes(file), 0);
    expect(bytes).toBeLessThanOrEqual(LARGER_BYTES_MAX[address] ?? FIRST_PAGE_BYTES_MAX);
    // A measurement that finds next to nothing has measured something else.
    expect(bytes).toBeGreaterThan(100_000);
  },
);

test("the fonts come with their licence", () => {
  const licence = readFileSync(join(WEB, "fonts-licence.txt"), "utf8");
  expect(licence.match(/SIL OPEN FONT LICENSE Version 1\.1/g)?.length).toBe(2);
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
  expect([...new Set(Object.values(PAGES).flat())].toSorted()).toEqual(loaded.toSorted());
  expect(Object.keys(links)).toEqual(Object.keys(PAGES));
  for (const [path, names] of Object.entries(PAGES)) {
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
