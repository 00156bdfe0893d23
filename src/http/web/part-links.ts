import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Written by `bin/build-web.mjs`: links to the parts of each page, by its address, in which `*` stands for one segment. */
const LINKS_FILE = "links.json";

/**
 * Returns links to the parts of the page at `path`, for its head. A browser then fetches the parts together with the
 * first ones, and not after those have run. Empty where there is nothing to add. Read each time, as a new build may
 * have been made meanwhile.
 */
export async function readPartLinks(folder: string, path: string): Promise<string> {
  const text = await readFile(join(folder, LINKS_FILE), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
    return "{}";
  });
  const links = JSON.parse(text) as Readonly<Record<string, string>>;
  const found = Object.entries(links).find(([pattern]) => matches(pattern, path));
  return found?.[1] ?? "";
}

function matches(pattern: string, path: string): boolean {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  return wanted.length === given.length && wanted.every((part, at) => part === "*" || part === given[at]);
}
