import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Makes a folder in a folder, `depth` of them, each with a file, and answers its path. It is made from below, as no path
 * reaches the last of them.
 */
export function makeDeep(path: string, depth: number, name: string): string {
  const [inner, outer] = [`${path}.inner`, `${path}.outer`];
  mkdirSync(inner);
  for (let made = 1; made < depth; made++) {
    mkdirSync(outer);
    writeFileSync(join(outer, "file"), "x");
    renameSync(inner, join(outer, name));
    renameSync(outer, inner);
  }
  renameSync(inner, path);
  return path;
}
