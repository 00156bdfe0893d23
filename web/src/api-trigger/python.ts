import { textOf } from "../../../domain/manifest/json-text.ts";
import type { JsonValue } from "../../../domain/manifest/json-values.ts";
import type { Body, Call, ExampleBody } from "./call.ts";

/** For Python 3.8 and later, with nothing to install. */
export function writePython(body: Body, call: Call, example: ExampleBody): string {
  return body === "json" ? writeJsonCall(call, example) : writeFormCall(call, example);
}

function writeJsonCall(call: Call, { values, exact }: ExampleBody): string {
  return [
    ...listImports(call, ["json"]),
    "",
    `inputs = ${writeDictionary(values, exact)}`,
    "",
    ...writeRequest(call, "json.dumps(inputs).encode()", '"application/json"'),
  ].join("\n");
}

function writeFormCall(call: Call, { texts, files }: ExampleBody): string {
  return [
    ...listImports(call, ["json", "uuid"]),
    ...(files.length === 0 ? [] : ["from pathlib import Path"]),
    "",
    `fields = ${writeDictionary(texts)}`,
    ...(files.length === 0 ? [] : [`files = [${listFiles(files)}]`]),
    "",
    "boundary = uuid.uuid4().hex",
    'body = b""',
    "for name, text in fields.items():",
    `    body += f'--{boundary}\\r\\nContent-Disposition: form-data; name="{name}"\\r\\n\\r\\n{text}\\r\\n'.encode()`,
    ...(files.length === 0 ? [] : WRITE_FILES),
    'body += f"--{boundary}--\\r\\n".encode()',
    "",
    ...writeRequest(call, "body", 'f"multipart/form-data; boundary={boundary}"'),
  ].join("\n");
}

const WRITE_FILES = [
  "for name, path, content_type in files:",
  `    head = f'--{boundary}\\r\\nContent-Disposition: form-data; name="{name}"; filename="{path.name}"\\r\\n'`,
  '    head += f"Content-Type: {content_type}\\r\\n\\r\\n"',
  '    body += head.encode() + path.read_bytes() + b"\\r\\n"',
];

function listFiles(files: ExampleBody["files"]): string {
  return files
    .map(({ name, file, contentType }) => `("${name}", Path(${writeText(file)}), ${writeText(contentType)})`)
    .join(", ");
}

function listImports({ caFile }: Call, modules: readonly string[]): string[] {
  return [...modules, ...(caFile === null ? [] : ["ssl"]), "urllib.error", "urllib.request"]
    .toSorted()
    .map((name) => `import ${name}`);
}

function writeRequest({ url, apiKey, caFile }: Call, data: string, contentType: string): string[] {
  return [
    "request = urllib.request.Request(",
    `    ${writeText(url)},`,
    `    data=${data},`,
    `    headers={"x-api-key": ${writeText(apiKey)}, "content-type": ${contentType}},`,
    ")",
    ...(caFile === null ? [] : [`context = ssl.create_default_context(cafile=${writeText(caFile)})`]),
    "try:",
    `    with urllib.request.urlopen(request${caFile === null ? "" : ", context=context"}) as response:`,
    "        result = json.load(response)",
    "except urllib.error.HTTPError as error:",
    '    raise SystemExit(f"{error.code}: {error.read().decode()}")',
    'print(result["status"], result["outputs"])',
    "",
  ];
}

function writeDictionary(entries: readonly (readonly [string, JsonValue])[], exact: ExampleBody["exact"] = {}): string {
  const pairs = entries.map(([name, value]) => {
    const text = textOf(exact, name);
    return `${writeText(name)}: ${text === undefined ? writeValue(value) : `json.loads(${writeText(text)})`}`;
  });
  const line = `{${pairs.join(", ")}}`;
  return line.length <= 80 ? line : `{\n    ${pairs.join(",\n    ")},\n}`;
}

function writeValue(value: JsonValue): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return writeText(value);
  if (Array.isArray(value)) return `[${(value as readonly JsonValue[]).map(writeValue).join(", ")}]`;
  const pairs = Object.entries(value).map(([key, part]) => `${writeText(key)}: ${writeValue(part as JsonValue)}`);
  return `{${pairs.join(", ")}}`;
}

/** What JSON escapes, Python reads the same. */
function writeText(text: string): string {
  return JSON.stringify(text);
}
