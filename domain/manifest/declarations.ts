import { CHARACTERS, type ManifestBounds } from "./bounds.ts";
import type { InputDeclaration } from "./input-schema.ts";
import type { Problems } from "./issues.ts";
import { isChangedNumber } from "./json-text.ts";
import { type JsonValue, quote } from "./json-values.ts";
import type { Input } from "./manifest.ts";
import { checkPattern, PATTERN_VALUE_CHARACTERS_MAX } from "./patterns.ts";
import type { Places } from "./positions.ts";
import { formatSize } from "./sizes.ts";
import { checkValue, describeTime, findDigitsProblem, isFileInput, parseTime } from "./values.ts";

type Of<Kind extends InputDeclaration["type"]> = Extract<InputDeclaration, { type: Kind }>;

/** Where the problems of one declaration go: at the value of one of its keys. */
type Report = (key: string, message: string) => void;

/**
 * The input a declaration means, or undefined when its constraints contradict each other or its default breaks them;
 * the reasons are added to `problems`.
 */
export function toInput(
  name: string,
  declaration: InputDeclaration,
  bounds: ManifestBounds,
  { problems, textOf }: { problems: Problems; textOf: Places["textOf"] },
): Input | undefined {
  const before = problems.count();
  const report: Report = (key, message) => problems.addAtValue(["inputs", name, key], message);
  const input = readDeclaration(name, declaration, bounds, report);
  if (problems.count() === before && !isFileInput(input) && input.kind !== "secret" && input.default !== null) {
    const text = textOf(["inputs", name, "default"]);
    const digits = findDigitsProblem(input, text);
    for (const message of digits === undefined ? checkValue(input, input.default) : [digits])
      report("default", message);
    const keepsText = input.kind === "json" || (input.kind === "number" && isChangedNumber(text ?? ""));
    if (problems.count() === before && keepsText && text !== undefined) return { ...input, defaultText: text };
  }
  return problems.count() === before ? input : undefined;
}

function readDeclaration(name: string, declaration: InputDeclaration, bounds: ManifestBounds, report: Report): Input {
  const hasDefault = "default" in declaration && declaration.default !== undefined;
  const declared = {
    name,
    label: declaration.label ?? name,
    description: declaration.description ?? "",
    required: !hasDefault && (declaration.required ?? true),
  };
  switch (declaration.type) {
    case "string":
      return {
        kind: "string",
        ...declared,
        ...readPatterned(declaration, report),
        default: declaration.default ?? null,
      };
    case "text":
      return { kind: "text", ...declared, ...readLengths(declaration, report), default: declaration.default ?? null };
    case "secret":
      return { kind: "secret", ...declared, ...readPatterned(declaration, report) };
    case "number":
    case "integer":
      return {
        kind: declaration.type,
        ...declared,
        ...readNumbers(declaration, report),
        default: declaration.default ?? null,
      };
    case "boolean":
      return { kind: "boolean", ...declared, default: declaration.default ?? null };
    case "select":
      return {
        kind: "select",
        ...declared,
        options: readOptions(declaration, report),
        default: declaration.default ?? null,
      };
    case "multi_select":
      return {
        kind: "multi_select",
        ...declared,
        options: readOptions(declaration, report),
        default: declaration.default ?? null,
      };
    case "date":
    case "datetime":
      return {
        kind: declaration.type,
        ...declared,
        ...readTimes(declaration, report),
        default: declaration.default ?? null,
      };
    case "json":
      return { kind: "json", ...declared, default: (declaration.default ?? null) as JsonValue };
    case "file":
      return { kind: "file", ...declared, ...readFiles(declaration, bounds, report) };
    case "file_list":
      return {
        kind: "file_list",
        ...declared,
        ...readFiles(declaration, bounds, report),
        filesMax: readCount(declaration, bounds, report),
      };
  }
}

function readLengths(declaration: Of<"string" | "text" | "secret">, report: Report) {
  const charactersMin = declaration.min_length ?? 0;
  const charactersMax = declaration.max_length ?? CHARACTERS[declaration.type];
  if (charactersMin > charactersMax) {
    const most =
      declaration.max_length === undefined
        ? `the ${charactersMax} characters allowed without max_length`
        : `max_length, ${charactersMax}`;
    report("min_length", `is ${charactersMin}, more than ${most}. Lower it, or raise max_length.`);
  }
  return { charactersMin, charactersMax };
}

function readPatterned(declaration: Of<"string" | "secret">, report: Report) {
  return { ...readLengths(declaration, report), pattern: readPattern(declaration, report) };
}

function readPattern(declaration: Of<"string" | "secret">, report: Report): string | null {
  const { pattern, max_length: charactersMax } = declaration;
  if (pattern === undefined) return null;
  const check = checkPattern(pattern);
  if (!check.ok) report("pattern", check.message);
  if (charactersMax !== undefined && charactersMax > PATTERN_VALUE_CHARACTERS_MAX) {
    report("max_length", `must be at most ${PATTERN_VALUE_CHARACTERS_MAX} together with a pattern.`);
  }
  return pattern;
}

function readNumbers(declaration: Of<"number" | "integer">, report: Report) {
  const { min = null, max = null, step = null } = declaration;
  if (min !== null && max !== null && min > max)
    report("min", `is ${min}, more than max, ${max}. No number could be given.`);
  return { min, max, step };
}

function readOptions(declaration: Of<"select" | "multi_select">, report: Report): readonly string[] {
  const repeated = declaration.options.find((option, index) => declaration.options.indexOf(option) !== index);
  if (repeated !== undefined) report("options", `holds ${quote(repeated)} more than once.`);
  return declaration.options;
}

function readTimes(declaration: Of<"date" | "datetime">, report: Report) {
  const { type, min = null, max = null } = declaration;
  const earliest = min === null ? undefined : parseTime(type, min);
  const latest = max === null ? undefined : parseTime(type, max);
  if (min !== null && earliest === undefined) report("min", `must be ${describeTime(type)}.`);
  if (max !== null && latest === undefined) report("max", `must be ${describeTime(type)}.`);
  if (earliest !== undefined && latest !== undefined && earliest > latest)
    report("min", `is ${min}, after max, ${max}. No value could be given.`);
  return { min, max };
}

function readFiles(declaration: Of<"file" | "file_list">, bounds: ManifestBounds, report: Report) {
  const bytesMax = declaration.max_size ?? bounds.fileBytesMax;
  if (bytesMax > bounds.fileBytesMax) report("max_size", `must be at most ${formatSize(bounds.fileBytesMax)}.`);
  const accept = [...new Set((declaration.accept ?? []).map((entry) => entry.toLowerCase()))];
  return { accept, bytesMax };
}

function readCount(declaration: Of<"file_list">, bounds: ManifestBounds, report: Report): number {
  const filesMax = declaration.max_files ?? bounds.filesMax;
  if (filesMax > bounds.filesMax) report("max_files", `must be at most ${bounds.filesMax}.`);
  return filesMax;
}
