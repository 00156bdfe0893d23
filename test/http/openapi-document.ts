import { expect } from "@jest/globals";
import { compileErrors, dereference, validate } from "@readme/openapi-parser";
import { Ajv2020 } from "ajv/dist/2020.js";

/** As much of an OpenAPI document as the tests look at. */
export interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: Readonly<Record<string, { readonly in?: string }>>;
  };
}

export type Schema = Record<string, unknown>;

export interface Operation {
  readonly operationId: string;
  readonly security: readonly object[];
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema: Schema;
    readonly example?: unknown;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, Response>>;
}

interface Response {
  readonly headers: Readonly<Record<string, { readonly required?: boolean; readonly $ref?: string }>>;
  readonly content?: Readonly<Record<string, Content>>;
}

interface Content {
  readonly schema: Schema;
  readonly example?: unknown;
  readonly encoding?: Readonly<Record<string, { readonly contentType: string }>>;
}

/** An independent validator takes the document. */
export async function expectValid(document: Document): Promise<void> {
  const result = await validate(structuredClone(document) as never);
  expect(result.valid ? "" : compileErrors(result)).toBe("");
}

export function operationsOf(document: Document): Operation[] {
  return Object.values(document.paths).flatMap((operations) => Object.values(operations));
}

export function operationOf(document: Document, operationId: string): Operation {
  const found = operationsOf(document).find((operation) => operation.operationId === operationId);
  if (found === undefined) throw new Error(`The document has no operation ${operationId}.`);
  return found;
}

/** The schema of a content, followed to the component that it refers to. */
export function schemaOf(document: Document, content: Content | undefined): Schema {
  const name = /^#\/components\/schemas\/(.+)$/.exec(String(content?.schema["$ref"]))?.[1];
  const found = name === undefined ? content?.schema : document.components.schemas[name];
  if (found === undefined) throw new Error(`The document has no schema ${name}.`);
  return found;
}

/**
 * What generators of clients cannot use, each found with one of them: a constant that may be left out or has no type
 * (openapi-python-client), or is no text, options of a list that are no component and a default of a value of any type (openapi-generator for Java),
 * a bound on a list of files and a default of options of which null is one (openapi-generator for Go), content of any type that is no bytes (openapi-generator), objects that say nothing of their fields
 * (openapi-typescript), two schemas for the bodies of one operation where one would do (openapi-generator for Java), a field of
 * alternatives whose name is a word of the language and a key in the query beside one in a header (openapi-generator for TypeScript), and components that nothing refers to. And
 * what Schemathesis then sends: ids of any length.
 */
export function findUnusable(document: Document): string[] {
  const found: string[] = [];
  walk(document.paths, "paths", found);
  walk(document.components, "components", found);
  const text = JSON.stringify(document);
  for (const name of Object.keys(document.components.schemas))
    if (!text.includes(`"#/components/schemas/${name}"`)) found.push(`${name}: nothing refers to it`);
  for (const [name, scheme] of Object.entries(document.components.securitySchemes))
    if (scheme.in === "query") found.push(`${name}: a key in the query`);
  for (const { operationId, parameters, requestBody } of operationsOf(document)) {
    const schemas = Object.values(requestBody?.content ?? {}).map(({ schema }) => schema);
    for (const { name, schema } of parameters)
      if (name.endsWith("Id") && schemaOf(document, { schema })["maxLength"] === undefined)
        found.push(`${operationId} ${name}: an id without an upper length`);
    if (schemas.length > 1 && schemas.some((schema) => schema["$ref"] === undefined))
      found.push(`${operationId}: several bodies that are not components`);
  }
  return found;
}

function walk(value: unknown, place: string, found: string[]): void {
  if (typeof value !== "object" || value === null) return;
  const { properties, required = [], type } = value as Partial<Schema> & { properties?: object; required?: string[] };
  if (isIdOfAnyLength(value as Schema)) found.push(`${place}: an id without an upper length`);
  if ("const" in value && type !== "string") found.push(`${place}: a constant that is no text, or has no type`);
  const { items } = value as { items?: Schema };
  if (isPropertyOf(place) && "default" in value && ["type", "$ref", "anyOf"].every((word) => !(word in value)))
    found.push(`${place}: a default of a value of any type`);
  if (items?.["format"] === "binary" && ("minItems" in value || "maxItems" in value))
    found.push(`${place}: a bound on a list of files`);
  if ("default" in value && (value as { enum?: unknown[] }).enum?.includes(null))
    found.push(`${place}: a default of options of which null is one`);
  if (items?.["enum"] !== undefined) found.push(`${place}: options of a list that are no component`);
  if (type === "object" && properties === undefined && !("additionalProperties" in value))
    found.push(`${place}: an object of nothing`);
  for (const [name, property] of Object.entries(properties ?? {}))
    if ("const" in (property as object) && !required.includes(name))
      found.push(`${place}.${name}: an optional constant`);
  for (const [mediaType, content] of Object.entries((value as { content?: object }).content ?? {}))
    if (!mediaType.includes("json") && Object.keys((content as Content).schema ?? {}).length === 0)
      found.push(`${place} ${mediaType}: of no type`);
  if (place.endsWith(".example") || place.includes(".examples")) return;
  for (const [name, part] of Object.entries(value)) walk(part, `${place}.${name}`, found);
}

const isPropertyOf = (place: string): boolean => /\.properties\.[^.]+$/.test(place);

function isIdOfAnyLength({ pattern, maxLength }: Schema): boolean {
  return typeof pattern === "string" && /^\^\(?([a-z]+_|\[0-9a-f\])/.test(pattern) && maxLength === undefined;
}

/** Every example with what is wrong with it by its own schema; how many there are, too: none wrong of none is no proof. */
export async function checkExamples(document: Document): Promise<{ count: number; problems: string[] }> {
  const whole = (await dereference(structuredClone(document) as never)) as unknown as Document;
  const ajv = new Ajv2020({ strict: true, strictTypes: false, validateFormats: false, allowUnionTypes: true });
  const problems: string[] = [];
  let count = 0;
  const check = (where: string, { schema, example }: { schema: Schema; example?: unknown }): void => {
    const isValid = ajv.compile(schema);
    if (example === undefined) return;
    count += 1;
    if (!isValid(example)) problems.push(`${where}: ${ajv.errorsText(isValid.errors)}`);
  };
  for (const operation of operationsOf(whole)) {
    const name = operation.operationId;
    for (const parameter of operation.parameters) check(`${name} ${parameter.name}`, parameter);
    const bodies = [
      operation.requestBody?.content,
      ...Object.values(operation.responses).map(({ content }) => content),
    ];
    for (const body of bodies)
      for (const [mediaType, content] of Object.entries(body ?? {})) check(`${name} ${mediaType}`, content);
  }
  return { count, problems };
}
