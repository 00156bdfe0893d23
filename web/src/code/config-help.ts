import { parseCron } from "../../../domain/cron/cron.ts";
import { describeSchedule } from "../../../domain/cron/description.ts";
import { isJsonObject } from "../../../domain/manifest/json-values.ts";
import type { Path } from "../../../domain/manifest/positions.ts";
import { manifestJsonSchema } from "../../../domain/manifest/schema.ts";
import { findConfigNode, findConfigPlace } from "./config-place.ts";

type Schema = Readonly<Record<string, unknown>>;

/** One thing that can be written at a place. */
export interface Suggestion {
  readonly label: string;
  /** What is put in. `$` is where the cursor goes then; at its end without one. */
  readonly insert: string;
  /** A short word beside it, such as the type. */
  readonly detail: string;
  /** A sentence about it. */
  readonly info: string;
  readonly kind: "key" | "value";
  /** Required keys come first. */
  readonly required: boolean;
}

export interface Completion {
  readonly from: number;
  readonly to: number;
  readonly suggestions: readonly Suggestion[];
}

let known: Schema | undefined;

function rootSchema(): Schema {
  known ??= manifestJsonSchema();
  return known;
}

/** What can be written at the cursor of a `config.yaml`, from the schema that the service reads it with. */
export function completeConfig(text: string, cursor: number): Completion | undefined {
  const place = findConfigPlace(text, cursor);
  if (place === undefined) return undefined;
  const { from, to, path, data } = place;
  const schemas = findSchemas(rootSchema(), path, data);
  const suggestions =
    place.kind === "key" ? suggestKeys(schemas, valueAt(data, path), place) : suggestValues(schemas, path);
  return suggestions.length === 0 ? undefined : { from, to, suggestions };
}

export interface Hover {
  readonly from: number;
  readonly to: number;
  /** The path of the key, as messages write it. */
  readonly title: string;
  readonly paragraphs: readonly string[];
}

/** What is known about the key or value at a place of a `config.yaml`. */
export function describeConfig(text: string, offset: number): Hover | undefined {
  const node = findConfigNode(text, offset);
  if (node === undefined) return undefined;
  const schemas = findSchemas(rootSchema(), node.path, node.data);
  const paragraphs = [...new Set(schemas.map(descriptionOf).filter((part) => part !== ""))].slice(0, 1);
  const isTyped = schemas.length > 0 && node.path.length > 0;
  if (isTyped) paragraphs.push(...describeAllowed(schemas));
  const words = describeCron(node.path, node.data);
  if (words !== undefined) paragraphs.push(words);
  if (paragraphs.length === 0) return undefined;
  return { from: node.from, to: node.to, title: node.path.join("."), paragraphs };
}

function describeAllowed(schemas: readonly Schema[]): string[] {
  const values = listValues(schemas).map(({ label }) => label);
  if (values.length > 1) return [`One of ${values.join(", ")}.`];
  const kinds = [...new Set(schemas.flatMap(typesOf))].filter((kind) => kind !== "object");
  return kinds.length === 0 ? [] : [`Type: ${kinds.join(" or ")}.`];
}

function describeCron(path: Path, data: unknown): string | undefined {
  if (!isOfSchedule(path, "cron")) return undefined;
  const parsed = parseCron(String(valueAt(data, path)));
  const zone = valueAt(data, [...path.slice(0, -1), "timezone"]);
  if (!parsed.ok) return undefined;
  return `It is due ${describeSchedule(parsed.cron, typeof zone === "string" ? zone : "UTC")}.`;
}

/** Whether a path is that of a key of `triggers.schedule`, or of one of `triggers.schedules`. */
function isOfSchedule(path: Path, key: string): boolean {
  return /^triggers\.(schedule|schedules\.[^.]+)$/.test(path.slice(0, -1).join(".")) && path.at(-1) === key;
}

/** The schemas that apply to a path; where the data says which of several it is, that one. */
function findSchemas(root: Schema, path: Path, data: unknown): Schema[] {
  let schemas = narrow([root], data);
  let value = data;
  for (const step of path) {
    value = isJsonObject(value) || Array.isArray(value) ? (value as Record<string, unknown>)[step] : undefined;
    schemas = narrow(
      schemas.flatMap((schema) => childOf(schema, step)),
      value,
    );
  }
  return schemas;
}

function childOf(schema: Schema, step: string | number): Schema[] {
  if (typeof step === "number") return isJsonObject(schema["items"]) ? [schema["items"]] : [];
  const properties = schema["properties"];
  if (isJsonObject(properties) && isJsonObject(properties[step])) return [properties[step]];
  const rest = schema["additionalProperties"];
  return isJsonObject(rest) ? [rest] : [];
}

/** Writes alternatives out, and keeps those whose fixed keys (an input's `type`) are what the data has. */
function narrow(schemas: readonly Schema[], value: unknown): Schema[] {
  const all = schemas.flatMap((schema) => {
    const alternatives = schema["oneOf"] ?? schema["anyOf"];
    return Array.isArray(alternatives)
      ? (alternatives as Schema[]).map((one) => ({ description: schema["description"], ...one }))
      : [schema];
  });
  if (!isJsonObject(value)) return all;
  const fitting = all.filter(({ properties }) => !isJsonObject(properties) || agrees(properties, value));
  return fitting.length === 0 ? all : fitting;
}

function agrees(properties: Record<string, unknown>, value: Record<string, unknown>): boolean {
  return Object.entries(properties).every(([name, property]) => {
    const fixed = isJsonObject(property) ? property["const"] : undefined;
    return fixed === undefined || value[name] === undefined || value[name] === fixed;
  });
}

function suggestKeys(schemas: readonly Schema[], there: unknown, at: { flow: boolean; indent: number }): Suggestion[] {
  const suggestions = new Map<string, Suggestion>();
  for (const schema of schemas) {
    const properties = schema["properties"];
    if (!isJsonObject(properties)) continue;
    const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
    for (const [name, property] of Object.entries(properties)) {
      if (!isJsonObject(property) || suggestions.has(name) || (isJsonObject(there) && Object.hasOwn(there, name)))
        continue;
      suggestions.set(name, {
        label: name,
        insert: `${name}:${insertAfterKey(property, at)}`,
        detail: required.includes(name) ? "required" : "",
        info: schemas.length > 1 && name === "type" ? "What kind of value it is." : descriptionOf(property),
        kind: "key",
        required: required.includes(name),
      });
    }
  }
  return [...suggestions.values()];
}

function insertAfterKey(property: Schema, { flow, indent }: { flow: boolean; indent: number }): string {
  const isList = property["type"] === "array";
  const isMapping = property["type"] === "object" && !flow;
  if (isList) return " [$]";
  return isMapping ? `\n${" ".repeat(indent + 2)}$` : " $";
}

function suggestValues(schemas: readonly Schema[], path: Path): Suggestion[] {
  if (isOfSchedule(path, "timezone"))
    return ["UTC", ...Intl.supportedValuesOf("timeZone")].map((zone) => toValue(zone, ""));
  return listValues(schemas);
}

function listValues(schemas: readonly Schema[]): Suggestion[] {
  const values = new Map<string, Suggestion>();
  for (const schema of schemas) {
    const fixed = schema["const"] === undefined ? [] : [schema["const"]];
    const several = Array.isArray(schema["enum"]) ? (schema["enum"] as unknown[]) : [];
    const flags = schema["type"] === "boolean" ? [true, false] : [];
    for (const value of [...fixed, ...several, ...flags]) {
      const info = fixed.length > 0 ? descriptionOf(schema) : "";
      values.set(String(value), toValue(String(value), info));
    }
  }
  return [...values.values()];
}

function toValue(label: string, info: string): Suggestion {
  return { label, insert: label, detail: "", info, kind: "value", required: false };
}

function descriptionOf(schema: Schema): string {
  return typeof schema["description"] === "string" ? schema["description"] : "";
}

function typesOf(schema: Schema): string[] {
  const { type } = schema;
  return typeof type === "string" ? [type] : Array.isArray(type) ? (type as string[]) : [];
}

function valueAt(data: unknown, path: Path): unknown {
  let value = data;
  for (const step of path) {
    if (!isJsonObject(value) && !Array.isArray(value)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}
