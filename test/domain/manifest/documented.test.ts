import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { INPUT_KINDS } from "../../../domain/manifest/declared-kinds.ts";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import { manifestJsonSchema } from "../../../domain/manifest/schema.ts";

const page = readFileSync(new URL("../../../docs/manifest.md", import.meta.url), "utf8");
const headings = [...page.matchAll(/^### `(.+)`$/gm)].map((match) => match[1] as string);

interface Schema {
  readonly description?: string;
  readonly properties?: Record<string, Schema>;
  readonly additionalProperties?: Schema | boolean;
  readonly oneOf?: readonly Schema[];
}

/** Every key of the schema by its path, with what is said of it; `<name>` stands for the keys people choose. */
function listKeys(schema: Schema, prefix = ""): Map<string, Schema> {
  const keys = new Map<string, Schema>();
  for (const part of [schema, ...(schema.oneOf ?? [])]) {
    for (const [key, member] of Object.entries(part.properties ?? {})) {
      keys.set(prefix + key, member);
      for (const [path, inner] of listKeys(member, `${prefix}${key}.`)) keys.set(path, inner);
    }
    if (typeof part.additionalProperties === "object") {
      for (const [path, inner] of listKeys(part.additionalProperties, `${prefix}<name>.`)) keys.set(path, inner);
    }
  }
  return keys;
}

const schema = manifestJsonSchema() as Schema;
/** Schedules with names have the keys of `triggers.schedule`, and are described there. */
const keys = new Map([...listKeys(schema)].filter(([path]) => !path.startsWith("triggers.schedules.<name>.")));

test("docs/manifest.md, its headings, are exactly the keys of the schema", () => {
  expect(headings.toSorted()).toEqual([...keys.keys()].toSorted());
  expect(headings).toContain("inputs.<name>.max_files");
  expect(headings).toContain("triggers.schedule.payload");
});

test("docs/manifest.md, the types of inputs, are those of the code", () => {
  const section = page.slice(page.indexOf("### `inputs.<name>.type`"), page.indexOf("### `inputs.<name>.label`"));
  expect([...section.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1])).toEqual([...INPUT_KINDS]);
});

test.each(headings)("docs/manifest.md, the section on %s, has an example that is accepted", (heading) => {
  const start = page.indexOf(`### \`${heading}\``);
  const end = page.indexOf("\n### ", start + 1);
  const example = /```yaml\n([^]*?)```/.exec(page.slice(start, end < 0 ? undefined : end))?.[1] ?? "no example";
  const result = parseManifest(example);
  expect(result.ok ? [] : result.problems).toEqual([]);
  expect(example).toContain(`${heading.split(".").at(-1)}:`);
});

test("manifestJsonSchema, a schedule with a name, has the keys of triggers.schedule", () => {
  const { schedule, schedules } = schema.properties?.["triggers"]?.properties ?? {};
  expect(schedule?.properties).toHaveProperty("cron");
  expect(schedules?.additionalProperties).toMatchObject({ properties: schedule?.properties });
});

test("manifestJsonSchema, every key, is described for the editor that shows it", () => {
  expect([...keys].filter(([, schema]) => (schema.description ?? "") === "").map(([path]) => path)).toEqual([]);
});

test("manifestJsonSchema, for editors, is draft 7 without bounds nobody set", () => {
  const text = JSON.stringify(manifestJsonSchema());
  expect(text).toContain("http://json-schema.org/draft-07/schema#");
  expect(text).not.toContain("9007199254740991");
  expect(manifestJsonSchema()).toMatchObject({ type: "object", additionalProperties: false });
});
