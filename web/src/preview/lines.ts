import { type ExactJson, parseExactJson, WrittenNumber } from "./exact-json.ts";

/** Cells by row; the columns have these names. */
export interface Rows {
  readonly head: readonly string[];
  readonly body: readonly (readonly string[])[];
}

/** More columns than that are no table that anybody reads. */
const COLUMNS_MAX = 60;
/** The column of values that are no objects. */
const VALUE = "value";

/** Returns a text of one JSON value a line as a table, with a column for each key. Undefined when a line is no JSON. */
export function readJsonLines(text: string): Rows | undefined {
  const values: ExactJson[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const value = parseExactJson(line);
    if (value === undefined) return undefined;
    values.push(value);
  }
  const columns = new Map<string, number>();
  for (const value of values)
    for (const name of isRecord(value) ? Object.keys(value) : [VALUE])
      if (!columns.has(name) && columns.size < COLUMNS_MAX) columns.set(name, columns.size);
  const head = [...columns.keys()];
  const body = values.map((value) => {
    const row = isRecord(value) ? value : { [VALUE]: value };
    return head.map((name) => (Object.hasOwn(row, name) ? toCell(row[name]) : ""));
  });
  return { head, body };
}

function isRecord(value: ExactJson): value is { readonly [name: string]: ExactJson } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof WrittenNumber);
}

function toCell(value: ExactJson | undefined): string {
  if (value === undefined || value === null) return "";
  if (value instanceof WrittenNumber) return value.text;
  return typeof value === "string" ? value : writeJson(value);
}

/** As `JSON.stringify`, with numbers as they were written. */
function writeJson(value: ExactJson): string {
  if (value instanceof WrittenNumber) return value.text;
  if (Array.isArray(value)) return `[${(value as readonly ExactJson[]).map(writeJson).join(",")}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}:${writeJson(each)}`);
  return `{${members.join(",")}}`;
}
