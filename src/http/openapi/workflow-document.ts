import type { CommitId, WorkflowId } from "../../../domain/ids.ts";
import { findExampleValues } from "../../../domain/manifest/example-inputs.ts";
import type { JsonValue } from "../../../domain/manifest/json-values.ts";
import type { Input, Manifest, Output } from "../../../domain/manifest/manifest.ts";
import { describeForm, describeJsonBody, type JsonSchema } from "../../../domain/manifest/value-schema.ts";
import { isFileInput } from "../../../domain/manifest/values.ts";
import type { Contents, Route } from "../routes/route.ts";
import { refer, SCHEMAS } from "../routes/schemas.ts";
import { ROUTES, type RouteName } from "../routes/table.ts";
import { createDocument, type OpenApiDocument } from "./document.ts";

/** What a caller of one workflow needs: calling it, and what became of its executions. */
const NAMES: readonly RouteName[] = [
  "executeWorkflow",
  "validateInputs",
  "describeWorkflow",
  "showExecution",
  "readLog",
  "cancelExecution",
  "readFile",
  "linkFile",
];

/** The document of one workflow at one commit: its own address, inputs and outputs in place of any workflow's. */
export function describeWorkflow(
  { workflowId, commitId, manifest }: { workflowId: WorkflowId; commitId: CommitId; manifest: Manifest },
  url: string,
): OpenApiDocument {
  const inputs = describeInputs(manifest);
  const routes = NAMES.map((name): [string, Route] => {
    const route = withAddress(ROUTES[name], workflowId);
    const takesInputs = name === "executeWorkflow" || name === "validateInputs";
    return [name, takesInputs ? { ...route, body: { required: true, content: inputs.content } } : route];
  });
  return createDocument({
    title: manifest.name ?? workflowId,
    description: manifest.description,
    version: commitId,
    url,
    routes: Object.fromEntries(routes),
    schemas: { ...inputs.schemas, Success: describeSuccess(manifest.outputs) },
  });
}

/**
 * Returns the inputs as components, and the bodies that they come in: a form where one of them is a file, and JSON.
 * Where none is a file, the form is left out although it would be taken. Generators send one body, and some make two
 * types of one name of two. The form comes first, because openapi-generator sends the first. With JSON it could send no
 * file, and for Java it leaves out the type of the other.
 */
function describeInputs({ inputs }: Manifest): { content: Contents; schemas: Record<string, JsonSchema> } {
  const json = describeJsonBody(inputs);
  const form = inputs.some(isFileInput) ? describeForm(inputs) : undefined;
  const examples = findExampleValues(inputs);
  const isComplete = inputs.every(({ name, required }) => !required || examples.has(name));
  const example = isComplete ? { example: Object.fromEntries(examples) } : {};
  return {
    content: {
      ...(form && { "multipart/form-data": { schema: refer("WorkflowForm"), encoding: form.encoding } }),
      ...(json && { "application/json": { schema: refer("WorkflowInputs"), ...example } }),
    },
    schemas: {
      ...(json && { WorkflowInputs: withExamples(json, examples) }),
      ...(form && { WorkflowForm: withExamples(form.schema, examples) }),
      ...describeOptions(inputs),
    },
  };
}

/** What each list is chosen from, as a component: of options in the list itself, openapi-generator for Java makes code that does not compile. */
function describeOptions(inputs: readonly Input[]): Record<string, JsonSchema> {
  const lists = inputs.filter((input) => input.kind === "multi_select");
  return Object.fromEntries(
    lists.map(({ name, options }) => [nameOption(name), { type: "string", enum: [...options] }]),
  );
}

function nameOption(input: string): string {
  return `Option_${input}`;
}

/** With an example for each property that has no default; files in the word that tools know for them, and options by their component. */
function withExamples(schema: JsonSchema, examples: ReadonlyMap<string, JsonValue>): JsonSchema {
  const required = (schema["required"] ?? []) as readonly string[];
  const properties = Object.entries(schema["properties"] as Record<string, JsonSchema>);
  return {
    ...schema,
    properties: Object.fromEntries(
      properties.map(([name, property]) => {
        const { items } = property as { items?: JsonSchema };
        if (isFile(property)) return [name, { ...property, format: "binary" }];
        if (items !== undefined && isFile(items))
          return [
            name,
            { ...property, items: { ...items, format: "binary" }, ...(required.includes(name) ? {} : { default: [] }) },
          ];
        const listed = items?.["enum"] === undefined ? property : { ...property, items: refer(nameOption(name)) };
        const example = "default" in property ? undefined : examples.get(name);
        return [name, example === undefined ? listed : { ...listed, examples: [example] }];
      }),
    ),
  };
}

function isFile(schema: JsonSchema): boolean {
  return schema["contentMediaType"] === "application/octet-stream";
}

function withAddress(route: Route, workflowId: WorkflowId): Route {
  return {
    ...route,
    path: route.path.replace("{workflowId}", workflowId) as Route["path"],
    parameters: (route.parameters ?? []).filter(({ name }) => name !== "workflowId"),
  };
}

/** A success has every output that is declared and required; it may have more than are declared. */
function describeSuccess(outputs: readonly Output[]): JsonSchema {
  const success = SCHEMAS["Success"] as { properties: Record<string, JsonSchema> };
  const required = outputs.filter((output) => output.required).map(({ name }) => name);
  return {
    ...success,
    properties: {
      ...success.properties,
      outputs: {
        ...success.properties["outputs"],
        properties: Object.fromEntries(outputs.map((output) => [output.name, describeOutput(output)])),
        ...(required.length === 0 ? {} : { required }),
      },
    },
  };
}

function describeOutput({ label, description }: Output): JsonSchema {
  return { type: "string", format: "uri", title: label, ...(description === "" ? {} : { description }) };
}
