import { readFileSync } from "node:fs";

/** Beside `src/` in the sources, one folder further up in what is built of them. */
const PLACES = ["../package.json", "../../package.json"];

/** The version of this program; `unknown` where its package.json was left out. */
export function findVersion(): string {
  for (const place of PLACES) {
    try {
      const { version } = JSON.parse(readFileSync(new URL(place, import.meta.url), "utf8")) as { version?: unknown };
      if (typeof version === "string") return version;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  return "unknown";
}
