import { writeObject as writeJson } from "../../../domain/manifest/json-text.ts";
import type { Body, Call, ExampleBody } from "./call.ts";

/** An ES module for Node 20 and later, with nothing to install. */
export function writeJavaScript(body: Body, call: Call, example: ExampleBody): string {
  const form = body === "multipart";
  return [
    `// ${explainStart(call.caFile)}`,
    ...(form && example.files.length > 0 ? ['import { readFile } from "node:fs/promises";', ""] : []),
    ...(form ? writeForm(example) : []),
    `const response = await fetch(${JSON.stringify(call.url)}, {`,
    '  method: "POST",',
    `  headers: { "x-api-key": ${JSON.stringify(call.apiKey)}${form ? "" : ', "content-type": "application/json"'} },`,
    `  body: ${form ? "form" : writeBody(example)},`,
    "});",
    "const result = await response.json();",
    `if (!response.ok) throw new Error(\`\${response.status}: \${result.message}\`);`,
    "console.log(result.status, result.outputs);",
    "",
  ].join("\n");
}

/** fetch takes no certificates of its own: the process has to be started with them. */
function explainStart(caFile: string | null): string {
  const start = "node call.mjs";
  if (caFile === null) return `Save as call.mjs, then: ${start}`;
  return `Save as call.mjs, then: NODE_EXTRA_CA_CERTS='${caFile.replaceAll("'", "'\\''")}' ${start}`;
}

function writeForm({ texts, files }: ExampleBody): string[] {
  return [
    "const form = new FormData();",
    ...texts.map(([name, text]) => `form.append(${JSON.stringify(name)}, ${JSON.stringify(text)});`),
    ...files.map(({ name, file, contentType }) => {
      const blob = `new Blob([await readFile(${JSON.stringify(file)})], { type: ${JSON.stringify(contentType)} })`;
      return `form.append(${JSON.stringify(name)}, ${blob}, ${JSON.stringify(file)});`;
    }),
  ];
}

/** A text where its values would be changed on their way through JavaScript. */
function writeBody({ values, exact }: ExampleBody): string {
  const isExact = Object.keys(exact).length > 0;
  return isExact
    ? JSON.stringify(writeJson(Object.fromEntries(values), exact))
    : `JSON.stringify(${writeObject(values)})`;
}

function writeObject(values: ExampleBody["values"]): string {
  const pairs = values.map(([name, value]) => `${writeKey(name)}: ${JSON.stringify(value)}`);
  if (pairs.length === 0) return "{}";
  const line = `{ ${pairs.join(", ")} }`;
  return line.length <= 60 ? line : `{\n    ${pairs.join(",\n    ")},\n  }`;
}

function writeKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
