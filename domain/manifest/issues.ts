import type * as z from "zod";
import { DECLARED_KINDS, INPUT_KINDS } from "./declared-kinds.ts";
import type { PlacedProblem } from "./document.ts";
import { describeKind, isJsonObject, quote } from "./json-values.ts";
import type { InputKind } from "./manifest.ts";
import { findNearest, suggest } from "./nearest.ts";
import type { Path, Places } from "./positions.ts";
import { ConfigSchema } from "./schema.ts";

/** Collects problems of the manifest at the places of their nodes. The path leads the message, so that it stands alone. */
export interface Problems {
  /** At the value of a path, or at its parent where it has none. */
  readonly addAtValue: (path: Path, message: string) => void;
  /** At the key that ends a path. */
  readonly addAtKey: (path: Path, message: string) => void;
  /** How many there are so far. */
  readonly count: () => number;
}

/** A `Problems` that puts its issues into `list`. */
export function createProblems(places: Places, list: PlacedProblem[]): Problems {
  const write = (path: Path, message: string): string =>
    path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`;
  return {
    addAtValue: (path, message) => list.push({ ...places.ofValue(path), message: write(path, message) }),
    addAtKey: (path, message) => list.push({ ...places.ofKey(path), message: write(path, message) }),
    count: () => list.length,
  };
}

/** Turns what zod found wrong with `data` into problems in our words. */
export function reportIssues(issues: readonly z.core.$ZodIssue[], data: unknown, problems: Problems): void {
  for (const issue of issues) {
    const path = issue.path.filter((step) => typeof step !== "symbol");
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys) problems.addAtKey([...path, key], explainUnknownKey(key, path, data));
      continue;
    }
    const value = valueAt(data, path);
    if (value === undefined) problems.addAtValue(path, explainMissing(path));
    else if (issue.code === "invalid_union" && path.at(-1) === "type") problems.addAtValue(path, explainKind(value));
    else if (issue.code === "invalid_value") problems.addAtValue(path, explainChoice(value, issue.values));
    else if (issue.code === "invalid_type" && issue.expected === "object")
      problems.addAtValue(path, explainMap(path, value));
    else problems.addAtValue(path, issue.message);
  }
}

function explainMissing(path: Path): string {
  if (path.at(-1) === "type") return `is missing. Say which kind it is: ${INPUT_KINDS.join(", ")}.`;
  if (path.at(-1) === "options") return "is missing. List what can be chosen, such as [small, large].";
  if (path.at(-1) === "enabled") return "is missing. Write true or false.";
  return "is missing.";
}

function explainKind(value: unknown): string {
  const shown = typeof value === "string" ? quote(value) : describeKind(value);
  const meant =
    typeof value === "string" ? (findAlias(value.toLowerCase()) ?? findNearest(value, INPUT_KINDS)) : undefined;
  const hint = meant ? ` Did you mean "${meant}"?` : "";
  return `${shown} is not a type of input.${hint} There are ${INPUT_KINDS.join(", ")}.`;
}

function findAlias(name: string): InputKind | undefined {
  return INPUT_KINDS.find((kind) => DECLARED_KINDS[kind].aliases.includes(name));
}

function explainChoice(value: unknown, choices: readonly unknown[]): string {
  const names = choices.map(String);
  const shown = typeof value === "string" ? quote(value) : describeKind(value);
  const hint = typeof value === "string" ? suggest(value, names) : "";
  return `${shown} is not possible here.${hint} Write ${names.join(", ")}.`;
}

function explainMap(path: Path, value: unknown): string {
  if (path.length === 0) return `config.yaml must hold keys and values, not ${describeKind(value)}.`;
  if (path[0] === "inputs") return "must be a declaration, such as { type: string }.";
  return `must hold keys and values, not ${describeKind(value)}.`;
}

function explainUnknownKey(key: string, path: Path, data: unknown): string {
  const parent = valueAt(data, path);
  const kind = path[0] === "inputs" && path.length === 2 && isJsonObject(parent) ? String(parent["type"]) : undefined;
  if (kind !== undefined) {
    const refusal = key === "default" && isKind(kind) ? DECLARED_KINDS[kind].defaultRefusal : null;
    if (refusal !== null) return refusal;
    const others = INPUT_KINDS.filter((other) => Object.hasOwn(DECLARED_KINDS[other].schema.shape, key));
    if (others.length > 0) return `does not apply to inputs of type ${kind}, only to ${others.join(", ")}.`;
  }
  return `Unknown key.${suggest(key, listKeys(path, kind))}`;
}

function isKind(name: string): name is InputKind {
  return Object.hasOwn(DECLARED_KINDS, name);
}

/** The keys that may stand in the map at a path. */
function listKeys(path: Path, kind: string | undefined): string[] {
  if (kind !== undefined) return isKind(kind) ? Object.keys(DECLARED_KINDS[kind].schema.shape) : [];
  let schema: unknown = ConfigSchema;
  for (const step of path) schema = findMember(unwrap(schema), step);
  const shape = (unwrap(schema) as { shape?: object } | undefined)?.shape;
  return shape ? Object.keys(shape) : [];
}

function findMember(schema: unknown, step: string | number): unknown {
  const { shape, valueType } = (schema ?? {}) as { shape?: Record<string, unknown>; valueType?: unknown };
  return shape ? shape[String(step)] : valueType;
}

function unwrap(schema: unknown): unknown {
  let inner = schema;
  while (typeof (inner as { unwrap?: unknown } | undefined)?.unwrap === "function")
    inner = (inner as z.ZodOptional).unwrap();
  return inner;
}

function valueAt(data: unknown, path: Path): unknown {
  let value = data;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}
