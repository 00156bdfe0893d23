export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [key: string]: JsonValue };

/** Deepest nesting of a JSON value anybody may send: design limit, the same for bodies, parts and `config.yaml`. */
export const JSON_DEPTH_MAX = 64;

/** NUL and halves of surrogate pairs: PostgreSQL can store neither in text nor in jsonb. */
const NOT_STORABLE = /[\0\p{Surrogate}]/u;

/** True for an object made of keys and values: not null, not an array. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True when every character of the text can be stored and sent on. */
export function isStorable(text: string): boolean {
  return !NOT_STORABLE.test(text);
}

/** How many characters (Unicode code points, as Python counts them) a text has. */
export function countCharacters(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length - 1; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0xd800 || unit > 0xdbff) continue;
    const next = text.charCodeAt(at + 1);
    if (next >= 0xdc00 && next <= 0xdfff) {
      count -= 1;
      at += 1;
    }
  }
  return count;
}

/** "a string", "a list", "null": what a value is, for messages that must not repeat the value itself. */
export function describeKind(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return `a ${typeof value}`;
}

/** A text in double quotes for a message, shortened to 60 characters, without control characters. */
export function quote(text: string): string {
  const short = text.length > 60 ? `${text.slice(0, 57)}…` : text;
  return JSON.stringify(short);
}

/** Why a value cannot be kept as JSON, or undefined. Checks depth before it goes deeper, so hostile nesting is harmless. */
export function findJsonProblem(value: unknown, depth = 1): string | undefined {
  if (value === null || typeof value === "boolean") return undefined;
  if (typeof value === "string") {
    return isStorable(value) ? undefined : "holds a NUL character or half of a surrogate pair, which cannot be stored";
  }
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "holds a number that is not finite";
  if (typeof value !== "object") return `holds ${describeKind(value)}, which is not JSON`;
  if (depth > JSON_DEPTH_MAX) return `is nested deeper than ${JSON_DEPTH_MAX} levels`;
  if (Array.isArray(value)) {
    for (const part of value as unknown[]) {
      const problem = findJsonProblem(part, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  for (const key of Object.keys(value)) {
    const problem =
      findJsonProblem(key, depth + 1) ?? findJsonProblem((value as Record<string, unknown>)[key], depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** JSON with sorted keys, to compare values of which one comes out of a database, which keeps its own order. */
export function toStableJson(value: unknown): string {
  const text = JSON.stringify(value, (_key, part: unknown) => {
    if (!isJsonObject(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
  return text ?? "undefined";
}
