import { textOf } from "../../../domain/manifest/json-text.ts";
import type { Body, Call, ExampleBody } from "./call.ts";

/** For a POSIX shell. */
export function writeCurl(
  body: Body,
  { url, apiKey, caFile }: Call,
  { values, exact, texts, files }: ExampleBody,
): string {
  const lines =
    caFile === null ? [`curl ${quoteShell(url)}`] : [`curl --cacert ${quoteShell(caFile)}`, quoteShell(url)];
  lines.push(`-H ${quoteShell(`x-api-key: ${apiKey}`)}`);
  if (body === "json") {
    lines.push("-H 'content-type: application/json'");
    lines.push(`-d ${quoteShell(writeJson(values, exact))}`);
  } else {
    // Unlike -F it takes any text as it is.
    for (const [name, text] of texts) lines.push(`--form-string ${quoteShell(`${name}=${text}`)}`);
    for (const { name, file, contentType } of files)
      lines.push(`-F ${quoteShell(`${name}=@${file};type=${contentType}`)}`);
    // Without any part curl would send no form.
    if (texts.length + files.length === 0) lines.push("-H 'content-type: application/json'", "-d '{}'");
  }
  return `${lines.join(" \\\n  ")}\n`;
}

/** On one line where it is short, otherwise a line for each input. */
function writeJson(values: ExampleBody["values"], exact: ExampleBody["exact"]): string {
  const entries = values.map(
    ([name, value]) => `${JSON.stringify(name)}: ${textOf(exact, name) ?? JSON.stringify(value)}`,
  );
  const line = `{${entries.join(", ")}}`;
  return line.length <= 80 ? line : `{\n    ${entries.join(",\n    ")}\n  }`;
}

function quoteShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
