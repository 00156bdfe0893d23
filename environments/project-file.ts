import type { FileProblem } from "../domain/errors.ts";
import { createReport, type Report, readDependencyList, readPythonDemand } from "./dependency-list.ts";
import type { Declaration } from "./requirement.ts";
import { decodeText } from "./text-files.ts";
import { readToml, type TomlReading, type TomlTable, tableOf } from "./toml.ts";

export const PROJECT_FILE = "pyproject.toml";
/** Larger than that of a `requirements.txt`, because the settings of other tools are in it too. */
const FILE_BYTES_MAX = 256 * 1024;

type Toml = Extract<TomlReading, { ok: true }>;

/** Settings of uv that say where packages come from, or which versions: left out silently, they would give others than at home. */
const UV_SOURCES = [
  "sources",
  "index",
  "index-url",
  "extra-index-url",
  "find-links",
  "no-index",
  "constraint-dependencies",
  "override-dependencies",
];
const NOT_INSTALLED = [["project", "optional-dependencies"], ["dependency-groups"], ["tool", "uv", "dev-dependencies"]];

/**
 * Reads what a `pyproject.toml` says about packages: `dependencies` and `requires-python` of `[project]`. The folder
 * itself is never built or installed, so nothing of `[build-system]` is used and no code runs. All problems at once.
 */
export function parseProjectFile(file: string, content: Buffer): Declaration {
  const decoded = decodeText(content, FILE_BYTES_MAX);
  if (!decoded.ok) return { ok: false, problems: [{ file, line: 1, column: 1, message: decoded.message }] };
  const toml = readToml(decoded.text);
  if (!toml.ok) return { ok: false, problems: [{ file, line: toml.line, column: toml.column, message: toml.message }] };
  const { problems, report } = createReport(file);
  if (toml.table.project !== undefined && tableOf(toml.table, "project") === undefined) {
    report(toml.findPlace("project"), "project must be a table.");
  }
  const project = tableOf(toml.table, "project");
  refuseDynamic(toml, project?.dynamic, report);
  const place = toml.findPlace("project", "dependencies");
  const list = readDependencyList(project?.dependencies, "dependencies", place, report);
  const python = readPythonDemand(
    project?.["requires-python"],
    file,
    toml.findPlace("project", "requires-python"),
    report,
  );
  if (project?.dependencies === undefined) refusePoetry(toml, report);
  if (list.length > 0) refuseToolSources(toml, report);
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, list, python, notes: noteLeftOut(file, toml) };
}

/** Settings of `[tool.uv]` that would lead to other packages than the list says. Also used for scripts, which may have them too. */
export function refuseToolSources({ table, findPlace }: Toml, report: Report): void {
  const uv = tableOf(tableOf(table, "tool"), "uv");
  for (const key of UV_SOURCES) {
    if (uv?.[key] === undefined) continue;
    report(
      findPlace("tool", "uv", key),
      `tool.uv.${key} is not read, so other packages than you mean could be installed. Remove it: where packages come from is a setting of the machine, and versions are said in dependencies.`,
    );
  }
}

function refuseDynamic({ findPlace }: Toml, dynamic: unknown, report: Report): void {
  for (const name of ["dependencies", "requires-python"]) {
    if (!Array.isArray(dynamic) || !dynamic.includes(name)) continue;
    const place = findPlace("project", "dynamic");
    report(
      place.texts[dynamic.indexOf(name)] ?? place,
      `${name} cannot be dynamic: it would take code of a build tool to find out, and none is run. Write it into [project].`,
    );
  }
}

function refusePoetry({ table, findPlace }: Toml, report: Report): void {
  const packages: TomlTable = tableOf(tableOf(tableOf(table, "tool"), "poetry"), "dependencies") ?? {};
  if (Object.keys(packages).every((name) => name === "python")) return;
  report(
    findPlace("tool", "poetry", "dependencies"),
    "tool.poetry.dependencies is not read. List the packages in dependencies of [project], which Poetry reads too.",
  );
}

function noteLeftOut(file: string, { table, findPlace }: Toml): FileProblem[] {
  return NOT_INSTALLED.flatMap((path) => {
    const parent = path.slice(0, -1).reduce<TomlTable | undefined>(tableOf, table);
    if (parent?.[path.at(-1) ?? ""] === undefined) return [];
    const { line, column } = findPlace(...path);
    return [{ file, line, column, message: `${path.join(".")} is not installed; only dependencies of [project] are.` }];
  });
}
