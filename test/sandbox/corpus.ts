// The programs of the differential test: what there is in `programs/`, what each is given, and what of it is random.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Program } from "../runner/harness.ts";
import { GIVEN, type Given } from "./given.ts";

const FOLDER = fileURLToPath(new URL("programs", import.meta.url));

export interface CorpusProgram {
  /** `folder/name`. */
  readonly name: string;
  readonly program: Program;
  readonly given: Given;
}

/** Every program: a file `group/name.py`, or a folder `group/name/` with the files of a commit. */
export function listPrograms(environmentOf: (name: string) => string | undefined): CorpusProgram[] {
  const names = readdirSync(FOLDER).flatMap((group) =>
    readdirSync(join(FOLDER, group)).map((name) => join(group, name)),
  );
  const known = new Set(names.map((path) => path.replace(/\.py$/, "")));
  const stray = Object.keys(GIVEN).filter((name) => !known.has(name));
  if (stray.length > 0) throw new Error(`There are inputs for programs that do not exist: ${stray.join(", ")}.`);
  return names.toSorted().map((path) => {
    const name = path.replace(/\.py$/, "");
    const given = GIVEN[name] ?? {};
    const { normalize: _, unfit: __, asksOutside: ___, ...plain } = given;
    const files = readCommit(join(FOLDER, path));
    const entrypoint = given.entrypoint ?? "main.py";
    const { [entrypoint]: code, ...commit } = files;
    if (code === undefined) throw new Error(`The program ${name} has no ${entrypoint}.`);
    const environmentDir = environmentOf(name);
    return { name, given, program: { ...plain, code, commit, ...(environmentDir && { environmentDir }) } };
  });
}

/** Text by path. A single file is the `main.py` of its commit. */
function readCommit(path: string): Record<string, string> {
  if (statSync(path).isFile()) return { "main.py": readFileSync(path, "utf8") };
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map((entry) => {
      const file = join(entry.parentPath, entry.name);
      return [relative(path, file), readFileSync(file, "utf8")];
    }),
  );
}
