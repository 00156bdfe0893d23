import type { JsonValue } from "./json-values.ts";

/** `${{ tick.date }}`, without braces of its own. */
const REFERENCE = /\$\{\{[ \t]*([^{}\r\n]*?)[ \t]*\}\}/g;
const OPENING = "${{";
/** Of Unicode's private use. A text that has them already keeps its braces. */
const [OPEN, CLOSE] = ["\uE000\uE001", "\uE002\uE003"];
const HIDDEN = /[\uE000-\uE003]/;

/** A reference in a value, by the path from there. `name` is null where the braces are not closed. */
export interface Reference {
  readonly path: readonly (string | number)[];
  readonly name: string | null;
  /** The text is this reference and nothing else. */
  readonly isWhole: boolean;
}

/** Lists the references in the texts of a value, keys of maps included. */
export function listReferences(value: unknown, path: Reference["path"] = []): Reference[] {
  if (typeof value === "string") return listInText(value, path);
  if (Array.isArray(value)) return value.flatMap((item, index) => listReferences(item, [...path, index]));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [
    ...listInText(key, [...path, key]),
    ...listReferences(item, [...path, key]),
  ]);
}

function listInText(text: string, path: Reference["path"]): Reference[] {
  const found = [...text.matchAll(REFERENCE)].map(([all, name = ""]) => ({ path, name, isWhole: all === text.trim() }));
  const isOpen = text.replaceAll(REFERENCE, "").includes(OPENING);
  return isOpen ? [...found, { path, name: null, isWhole: false }] : found;
}

/** Returns a text with references replaced. Those that `values` does not have stay as they are. */
export function replaceInText(text: string, values: ReadonlyMap<string, string>): string {
  return text.includes(OPENING) ? text.replaceAll(REFERENCE, (all, name: string) => values.get(name) ?? all) : text;
}

/** Returns a value with the references in its texts replaced, keys of maps included. */
export function replaceReferences<Value extends JsonValue>(value: Value, values: ReadonlyMap<string, string>): Value {
  const replace = (part: JsonValue): JsonValue => {
    if (typeof part === "string") return replaceInText(part, values);
    if (Array.isArray(part)) return part.map(replace);
    if (typeof part !== "object" || part === null) return part;
    // fromEntries defines properties and so is safe for any name.
    return Object.fromEntries(Object.entries(part).map(([key, item]) => [replaceInText(key, values), replace(item)]));
  };
  return replace(value) as Value;
}

/**
 * Returns a YAML text whose references have letters for braces: in `{ day: ${{ tick.date }} }` braces would end the value. All
 * places stay where they are. `showBraces` undoes it in what was read.
 */
export function hideBraces(source: string): string {
  if (HIDDEN.test(source)) return source;
  return source.replaceAll(REFERENCE, (all) => `$${OPEN}${all.slice(3, -2)}${CLOSE}`);
}

/** Returns a text with the braces that `hideBraces` took away. */
export function showBraces(text: string): string {
  return text.replaceAll(`$${OPEN}`, OPENING).replaceAll(CLOSE, "}}");
}
