import { createHash } from "node:crypto";
import { z } from "zod";
import type { FileProblem } from "../../domain/errors.ts";
import type { AccountId } from "../../domain/ids.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import type { Python } from "../../environments/lock.ts";
import { toText } from "../../sandbox/control.ts";
import { minorVersionOf } from "../../sandbox/interpreter.ts";
import { problemOf } from "./folder.ts";
import type { CommitFile } from "./git-objects.ts";
import { CHECK_PROGRAM } from "./python-programs.ts";
import type { ReadSource } from "./source-reader.ts";

/** What was found out of files, by their content: a draft that is saved once a second has one new file. */
const KNOWN_FILES_MAX = 20_000;
const PROBLEMS_MAX = 100;
const MESSAGE_CHARACTERS_MAX = 500;
const NAMES_SHOWN_MAX = 20;

const Place = z.number().int().min(1).max(1_000_000_000).catch(1);
const Name = z.string().max(1_000);
const Main = z.object({
  line: Place,
  column: Place,
  required: z.array(Name),
  names: z.array(Name),
  takesAll: z.boolean(),
});
const FileReport = z.object({
  problem: z.object({ line: Place, column: Place, message: z.string() }).nullable(),
  /** Of the entrypoint, where it has exactly one plain `main`. */
  main: Main.nullable(),
});
type FileReport = z.infer<typeof FileReport>;

/** What is wrong with the code of a commit, and what is only to be known. */
export interface CodeProblems {
  readonly problems: readonly FileProblem[];
  readonly warnings: readonly FileProblem[];
}

/** Returns what keeps files from being a commit because of their Python. */
export type CheckPython = (code: {
  readonly files: readonly CommitFile[];
  readonly manifest: Pick<Manifest, "entrypoint" | "inputs" | "arguments">;
  readonly python: Python;
  readonly owner: AccountId;
}) => Promise<CodeProblems>;

/**
 * Compiles every `.py` file with the commit's own Python, in a sandbox, and runs none. A file that does not compile is a problem at its
 * line and column. So is a `main` with a parameter that no declared input fills, because every execution would fail by that.
 */
export function createPythonCheck(read: ReadSource): CheckPython {
  const known = new Map<string, FileReport>();

  return async ({ files, manifest, python, owner }) => {
    const version = minorVersionOf(python);
    const sources = files
      .filter(({ path }) => path.endsWith(".py") || path === manifest.entrypoint)
      .map(({ path, content }) => {
        const isEntry = path === manifest.entrypoint;
        const key = createHash("sha256").update(`${version} ${isEntry}\n`).update(content).digest("base64");
        return { path, content, isEntry, key };
      });
    const unknown = sources.filter(({ key }) => !known.has(key));
    if (unknown.length > 0) {
      const reading = await read({ program: CHECK_PROGRAM, source: pack(unknown), python, owner });
      const reports = reading.ok ? z.array(FileReport).length(unknown.length).safeParse(reading.answer) : undefined;
      if (reports?.success !== true) return { problems: [toWholeProblem(unknown, reading)], warnings: [] };
      for (const [index, { key }] of unknown.entries()) known.set(key, reports.data[index] as FileReport);
    }
    const found = { problems: [] as FileProblem[], warnings: [] as FileProblem[] };
    for (const { path, key } of sources) addReport(found, { path, version, manifest }, known.get(key) as FileReport);
    for (const key of known.keys()) if (known.size > KNOWN_FILES_MAX) known.delete(key);
    return { problems: found.problems.slice(0, PROBLEMS_MAX), warnings: found.warnings };
  };
}

/** One file for the sandbox: a line of JSON with the size of each file, then their contents. */
function pack(sources: readonly { readonly content: Buffer; readonly isEntry: boolean }[]): Buffer {
  const sizes = JSON.stringify(sources.map(({ content, isEntry }) => [content.length, isEntry]));
  return Buffer.concat([Buffer.from(`${sizes}\n`), ...sources.map(({ content }) => content)]);
}

/** The check itself came to no end; which file kept it is not known. */
function toWholeProblem(sources: readonly { readonly path: string; readonly content: Buffer }[], reading: object) {
  const largest = sources.reduce((most, each) => (each.content.length > most.content.length ? each : most));
  const reason = "message" in reading ? ` (${toText(reading.message, MESSAGE_CHARACTERS_MAX)})` : "";
  return problemOf(
    largest.path,
    `Checking the Python files came to no end${reason}. This is the largest of them: make it smaller, or publish again when the service has less to do.`,
  );
}

function addReport(
  found: { readonly problems: FileProblem[]; readonly warnings: FileProblem[] },
  { path, version, manifest }: { path: string; version: string; manifest: Pick<Manifest, "inputs" | "arguments"> },
  { problem, main }: FileReport,
): void {
  if (problem !== null) {
    const said = toText(problem.message, MESSAGE_CHARACTERS_MAX);
    const { line, column } = problem;
    found.problems.push({ file: path, line, column, message: `This is not Python ${version}: ${said}.` });
  }
  if (main === null || manifest.arguments !== undefined) return; // the second: a script, whose main nobody calls
  const { line, column, names, required, takesAll } = main;
  const declared = manifest.inputs.map(({ name }) => name);
  const missing = required.filter((name) => !declared.includes(name));
  const ignored = takesAll ? [] : declared.filter((name) => !names.includes(name));
  if (missing.length > 0)
    found.problems.push({
      file: path,
      line,
      column,
      message: `main() needs ${show(missing)}, and config.yaml declares no such input (declared: ${show(declared)}). Declare it, give the parameter a default, or take it away.`,
    });
  if (ignored.length > 0)
    found.warnings.push({
      file: path,
      line,
      column,
      message: `main() has no parameter for the declared input${ignored.length > 1 ? "s" : ""} ${show(ignored)}; it is not passed on.`,
    });
}

function show(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const more = names.length > NAMES_SHOWN_MAX ? ` and ${names.length - NAMES_SHOWN_MAX} more` : "";
  return `${toText(names.slice(0, NAMES_SHOWN_MAX).join(", "), MESSAGE_CHARACTERS_MAX)}${more}`;
}
