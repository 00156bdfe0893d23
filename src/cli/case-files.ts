import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { z } from "zod";
import { EXECUTION_ENDS } from "../../domain/execution.ts";
import { readConfigDocument } from "../../domain/manifest/document.ts";
import type { JsonTexts } from "../../domain/manifest/json-text.ts";
import { isJsonObject } from "../../domain/manifest/json-values.ts";
import { suggest } from "../../domain/manifest/nearest.ts";
import type { Path, Places } from "../../domain/manifest/positions.ts";
import { type Detail, Refusal } from "./refusal.ts";

/** Where the cases of a workflow's folder are. */
const FOLDER = "tests";
/** Far above what people write by hand; data belong in files of their own. */
const FILE_BYTES_MAX = 256 * 1024;

const ExpectedOutput = z.custom<string | { readonly contains: string } | { readonly json: unknown }>(isExpectedOutput, {
  error: "must be a text, { contains: text } or { json: value }. Put a number in quotes to mean its text.",
});
const Cost = z.strictObject(
  { atMost: z.number({ error: "must be a number of credits." }).min(0, { error: "must be at least 0." }) },
  { error: "must hold keys and values, such as { atMost: 0.5 }." },
);
const Expectation = z.strictObject(
  {
    status: z.enum(EXECUTION_ENDS, { error: `must be one of ${EXECUTION_ENDS.join(", ")}.` }).default("success"),
    outputs: z.record(z.string(), ExpectedOutput, { error: "must hold the names of outputs." }).default({}),
    cost: Cost.optional(),
  },
  { error: "must hold keys and values, such as { status: failed }." },
);
const FilePaths = z.union([z.string(), z.array(z.string())], { error: "must be a path, or a list of paths." });
const Case = z.strictObject(
  {
    name: z.string({ error: "must be a text." }).min(1, { error: "must not be empty." }).optional(),
    inputs: z.record(z.string(), z.unknown(), { error: "must hold the inputs by their names." }).default({}),
    files: z.record(z.string(), FilePaths, { error: "must hold paths by the names of inputs." }).default({}),
    expect: Expectation.prefault({}),
  },
  { error: "A case must hold keys and values." },
);
/** The keys that may stand in a map, by the map's own key. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  expect: Object.keys(Expectation.shape),
  cost: Object.keys(Cost.shape),
};

export type Expected = z.infer<typeof Expectation>;

/** A run that is to be made, and what it should come to. */
export interface TestCase {
  readonly name: string;
  /** Its file, from the folder of the workflow, and where in it the case begins. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly inputs: { readonly values: Readonly<Record<string, unknown>>; readonly texts: JsonTexts };
  readonly files: readonly { readonly name: string; readonly value: string }[];
  readonly expect: Expected;
}

/**
 * Reads the cases of `tests/*.yaml` in a folder, in the order of the files' names. Throws a Refusal with every problem of all of
 * them, each with its file, line and column.
 */
export async function readCases(folder: string): Promise<readonly TestCase[]> {
  const names = await readdir(join(folder, FOLDER)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
    throw new Refusal("Not allowed", `${join(folder, FOLDER)} cannot be read (${error.code}).`, { cause: error });
  });
  const problems: Detail[] = [];
  const cases: TestCase[] = [];
  for (const name of names.filter((each) => /^[^.].*\.ya?ml$/.test(each)).sort())
    cases.push(...(await readCaseFile(folder, `${FOLDER}/${name}`, problems)));
  if (problems.length > 0) throw new Refusal("Invalid request", "The cases cannot be read.", { details: problems });
  if (cases.length > 0) return cases;
  throw new Refusal("No cases", `There are no cases in ${join(folder, FOLDER)}. Each *.yaml there may have some.`);
}

async function readCaseFile(folder: string, file: string, problems: Detail[]): Promise<TestCase[]> {
  const text = await readFile(join(folder, file), "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new Refusal("Not allowed", `${join(folder, file)} cannot be read (${error.code}).`, { cause: error });
  });
  const { value, places, ...document } = readConfigDocument(text, FILE_BYTES_MAX);
  problems.push(...document.problems.map(({ line, column, message }) => ({ file, line, column, message })));
  if (!document.readable || value === null) return [];
  const isList = Array.isArray(value);
  const cases: TestCase[] = [];
  for (const [index, data] of (isList ? value : [value]).entries()) {
    const path = isList ? [index] : [];
    const report = createReport(file, path, places, problems);
    const parsed = Case.safeParse(data);
    if (!parsed.success) reportIssues(parsed.error.issues, report);
    else {
      const { inputs, files, expect, name } = parsed.data;
      const texts = Object.keys(inputs).map((key) => [key, places.textOf([...path, "inputs", key]) ?? "null"]);
      cases.push({
        name: name ?? `${basename(file)}${isList ? ` ${index + 1}` : ""}`,
        file,
        ...places.ofValue(path),
        inputs: { values: inputs, texts: Object.fromEntries(texts) as JsonTexts },
        files: await findFiles(dirname(resolve(folder, file)), files, report),
        expect,
      });
    }
  }
  return cases;
}

interface Report {
  atKey(path: Path, message: string): void;
  atValue(path: Path, message: string): void;
}

/** Paths begin in the case; its own path in the file is `start`. */
function createReport(file: string, start: Path, places: Places, problems: Detail[]): Report {
  const write = (path: Path, message: string): string =>
    path.length === 0 ? message : `${path.join(".")}: ${message}`;
  return {
    atKey: (path, message) =>
      problems.push({ file, ...places.ofKey([...start, ...path]), message: write(path, message) }),
    atValue: (path, message) =>
      problems.push({ file, ...places.ofValue([...start, ...path]), message: write(path, message) }),
  };
}

function reportIssues(issues: readonly z.core.$ZodIssue[], report: Report): void {
  for (const issue of issues) {
    const path = issue.path.filter((step) => typeof step !== "symbol");
    if (issue.code !== "unrecognized_keys") report.atValue(path, issue.message);
    else {
      const known = KEYS[String(path.at(-1))] ?? Object.keys(Case.shape);
      for (const key of issue.keys)
        report.atKey([...path, key], `Unknown key.${suggest(key, known)} There are ${known.join(", ")}.`);
    }
  }
}

/** The files of a case, each of which has to be there before anything is run. */
async function findFiles(
  folder: string,
  files: z.infer<typeof Case>["files"],
  report: Report,
): Promise<TestCase["files"]> {
  const found: { name: string; value: string }[] = [];
  for (const [name, paths] of Object.entries(files)) {
    for (const [index, path] of [paths].flat().entries()) {
      const place = typeof paths === "string" ? ["files", name] : ["files", name, index];
      const isFile = await stat(resolve(folder, path)).then(
        (one) => one.isFile(),
        () => false,
      );
      if (!isFile) report.atValue(place, `There is no file ${path} beside the case.`);
      found.push({ name, value: resolve(folder, path) });
    }
  }
  return found;
}

function isExpectedOutput(value: unknown): boolean {
  if (typeof value === "string") return true;
  if (!isJsonObject(value) || Object.keys(value).length !== 1) return false;
  return typeof value["contains"] === "string" || Object.hasOwn(value, "json");
}
