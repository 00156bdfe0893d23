import type { FileProblem } from "../domain/errors.ts";
import { parseVersionDemand } from "./python-versions.ts";
import { type PythonDemand, parseRequirement, type Requirement } from "./requirement.ts";
import type { KeyPlace, Place } from "./toml.ts";

const DEPENDENCIES_MAX = 500;

/** Puts a problem at a place of the file that is being read. */
export type Report = (place: Place, message: string) => void;

/** Reads a TOML list of requirements. What is wrong is reported, each at its entry; `name` is what the list is called. */
export function readDependencyList(value: unknown, name: string, place: KeyPlace, report: Report): Requirement[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.some((entry) => typeof entry !== "string")) {
    report(place, `${name} must be a list of texts, such as ["requests==2.32.3"].`);
    return [];
  }
  if (value.length > DEPENDENCIES_MAX) {
    report(place, `${name} has ${value.length.toLocaleString("en")} entries; at most ${DEPENDENCIES_MAX} are read.`);
    return [];
  }
  const isLocated = place.texts.length === value.length;
  return (value as string[]).flatMap((text, index): Requirement[] => {
    const at: Place = (isLocated ? place.texts[index] : undefined) ?? place;
    const parsed = /[\r\n]/.test(text)
      ? { column: 1, message: "A requirement is one line. Remove the line break." }
      : (parseRequirement(text) ?? {
          column: 1,
          message: "A requirement begins with the name of a package, such as requests==2.32.3.",
        });
    const column = isLocated ? at.column + parsed.column : at.column; // behind the quotation mark
    if (!("message" in parsed)) return [{ name: parsed.name, text: parsed.text, line: at.line, column }];
    report({ line: at.line, column }, parsed.message);
    return [];
  });
}

/** Reads a `requires-python`. One that is not understood is reported. */
export function readPythonDemand(value: unknown, file: string, place: KeyPlace, report: Report): PythonDemand | null {
  if (value === undefined) return null;
  const { line, column } = place.texts[0] ?? place;
  if (typeof value === "string" && parseVersionDemand(value) !== undefined) return { file, line, column, text: value };
  report({ line, column }, 'requires-python must be a text such as ">=3.11" or ">=3.10,<3.14".');
  return null;
}

/** A reporter that collects problems of a file, in the order they are found. */
export function createReport(file: string): { readonly problems: FileProblem[]; readonly report: Report } {
  const problems: FileProblem[] = [];
  return { problems, report: ({ line, column }, message) => void problems.push({ file, line, column, message }) };
}
