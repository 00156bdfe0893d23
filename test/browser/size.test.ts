import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";

const WEB = fileURLToPath(new URL("../../dist/web/", import.meta.url));
const FIRST_PAGE_BYTES_MAX = 300_000;
/** Parts that only some pages need, and that are large. */
const HEAVY = /codemirror|lezer|@codemirror/;

interface Part {
  readonly file: string;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
  readonly assets?: readonly string[];
}

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
