import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { transformFileSync } from "@swc/core";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const IMPORTED = /(from\s*"|import\s*\(?")(\.[^"]+)\.ts"/g;

/**
 * Writes modules of the project, and all that they import from it, as plain JavaScript below `folder`. Everybody can read
 * them there, which may not hold for the checkout. Packages are not written.
 */
export function writePlainModules(folder: string, paths: readonly string[]): void {
  const written = new Set<string>();
  const write = (path: string): void => {
    if (written.has(path)) return;
    written.add(path);
    const { code } = transformFileSync(join(PROJECT, path), {
      jsc: { target: "es2022", parser: { syntax: "typescript" } },
      module: { type: "es6" },
    });
    writeForAll(join(folder, path.replace(/ts$/, "js")), code.replaceAll(IMPORTED, '$1$2.js"'));
    for (const [, , imported = ""] of code.matchAll(IMPORTED)) write(normalize(join(dirname(path), `${imported}.ts`)));
  };
  for (const path of paths) write(path);
  writeForAll(join(folder, "package.json"), '{ "type": "module" }');
}

/** Writes a file that everybody can read, below a folder of the tests. */
export function writeForAll(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o644);
  for (let parent = dirname(path); parent.includes("treadle-"); parent = dirname(parent)) chmodSync(parent, 0o755);
}
