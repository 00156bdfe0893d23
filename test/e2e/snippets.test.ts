import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Input } from "../../domain/manifest/manifest.ts";
import { parseManifest } from "../../domain/manifest/parse.ts";
import { BODIES, type Body } from "../../web/src/api-trigger/call.ts";
import { findExampleBody, type Language, writeSnippet } from "../../web/src/api-trigger/snippets.ts";
import { aFolder, treadle } from "../support/command-line.ts";
import { borrowService, type LentService } from "../support/lent-service.ts";

/** Every kind of input, with defaults that shells, forms and languages are easily confused by. */
const EVERY_KIND = `
triggers: { api: { enabled: true } }
inputs:
  plain: { type: string, default: "it's \\"quoted\\" $HOME \`id\` \\\\ é 🙂" }
  at: { type: string, default: "@file;type=text/plain" }
  nothing: { type: string, default: "null" }
  json_text: { type: string, default: "\\"in quotes\\"" }
  lines: { type: text, default: "one\\ntwo\\r\\n\\tthree" }
  count: { type: integer, min: 3 }
  share: { type: number, default: -0.25 }
  loud: { type: boolean, default: false }
  size: { type: select, options: [small, "l'arge"], default: "l'arge" }
  sizes: { type: multi_select, options: [a, b, c], default: [c, a] }
  day: { type: date }
  moment: { type: datetime }
  team: { type: json, default: { "a b": [1, null, true, "x'y"], "é": {} } }
  exact: { type: json, default: { "2": 9007199254740993, "1": [1.0, 12345678901234567890] } }
  token: { type: secret }
  left_out: { type: integer, required: false }
`;
const FILES = `
  report: { type: file, accept: [.csv] }
  pictures: { type: file_list, accept: [image/*], required: false }
`;
const MAIN = `
import json
from datetime import date
from pathlib import Path

def plain(value):
    if isinstance(value, Path):
        return [value.name, value.read_bytes().hex()]
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value.isoformat() if isinstance(value, date) else value

def main(**inputs):
    inputs["exact"] = json.dumps(inputs["exact"])
    return {"received": {name: plain(value) for name, value in inputs.items()}}
`;
const CONTENT = Buffer.from("a,b\r\n\0\xff--boundary", "latin1");

interface Published {
  readonly url: string;
  readonly apiKey: string;
  readonly inputs: readonly Input[];
}

let lent: LentService;
let folder: string;
let values: Published;
let files: Published;

beforeAll(async () => {
  lent = await borrowService();
  folder = await mkdtemp(join(tmpdir(), "treadle-snippets-"));
  values = await publish(EVERY_KIND);
  files = await publish(EVERY_KIND + FILES);
  for (const { file } of findExampleBody(files.inputs).files) await writeFile(join(folder, file), CONTENT);
});

afterAll(async () => {
  await lent?.leave();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

async function publish(config: string): Promise<Published> {
  const parsed = parseManifest(config);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const source = await aFolder({ "config.yaml": config, "main.py": MAIN });
  try {
    const answer = await treadle(lent.dataDir, ["publish", source, "--json"]);
    expect([answer.code, answer.stderr]).toEqual([0, expect.any(String)]);
    const { executeUrl, apiKey } = answer.json() as { executeUrl: string; apiKey: string };
    return { url: executeUrl, apiKey, inputs: parsed.manifest.inputs };
  } finally {
    await rm(source, { recursive: true });
  }
}

/** What somebody does who has copied a snippet: runs it where the files are, with nothing but what the snippet says. */
async function run(language: Language, text: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const starts: Record<Language, readonly [string, ...string[]]> = {
    curl: ["sh", "-c", `${text.trimEnd()} --silent --show-error --fail-with-body`],
    python: ["python3", "-c", text],
    javascript: ["sh", "-c", findStart(text)],
  };
  if (language === "javascript") await writeFile(join(folder, "call.mjs"), text);
  const [program, ...args] = starts[language];
  const child = spawn(program, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString("utf8");
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString("utf8");
  });
  const code = await new Promise<number>((resolve) => child.once("close", (exit) => resolve(exit ?? -1)));
  return { code, stdout, stderr };
}

/** Its first line says how to start it. */
function findStart(text: string): string {
  return /^\/\/ Save as call\.mjs, then: (.+)$/m.exec(text)?.[1] ?? "";
}

/** The inputs as the program got them, from the address that the snippet printed. */
async function readReceived(stdout: string, apiKey: string): Promise<Record<string, unknown>> {
  const address = /https:[^"'\s]+/.exec(stdout)?.[0];
  if (address === undefined) throw new Error(`No address of an output in ${stdout}`);
  const file = await lent.service.call(address, { method: "GET", headers: { "x-api-key": apiKey } });
  return file.body;
}

function toExpected({ inputs }: Published, body: Body): Record<string, unknown> {
  const example = findExampleBody(inputs);
  const given = Object.fromEntries(inputs.map(({ name }) => [name, null as unknown]));
  for (const [name, value] of example.values) given[name] = value;
  given["exact"] = '{"2": 9007199254740993, "1": [1.0, 12345678901234567890]}';
  if (body === "json") return given;
  for (const { name, file } of example.files) {
    const content = [file, CONTENT.toString("hex")];
    given[name] = inputs.some((input) => input.name === name && input.kind === "file_list") ? [content] : content;
  }
  return given;
}

const CASES = (["curl", "python", "javascript"] as const).flatMap((language) =>
  BODIES.map((body) => [language, body] as const),
);

test.each(CASES)(
  "a snippet, for %s as %s, pasted as it is, brings every value to the program",
  async (language, body) => {
    const caFile = lent.service.ready.caFile;
    const text = writeSnippet(language, body, { ...values, caFile });
    const { code, stdout, stderr } = await run(language, text);
    expect([code, stderr, stdout]).toEqual([0, "", expect.stringContaining("success")]);
    const expected = toExpected(values, body);
    const received = await readReceived(stdout, values.apiKey);
    expect({ ...received, moment: undefined }).toEqual({ ...expected, moment: undefined });
    expect(new Date(String(received["moment"])).getTime()).toBe(new Date(String(expected["moment"])).getTime());
  },
);

test.each(["curl", "python", "javascript"] as const)(
  "a snippet, for %s with files, pasted as it is, brings their names and bytes to the program",
  async (language) => {
    const text = writeSnippet(language, "multipart", { ...files, caFile: lent.service.ready.caFile });
    const { code, stdout, stderr } = await run(language, text);
    expect([code, stderr, stdout]).toEqual([0, "", expect.stringContaining("success")]);
    const { report, pictures } = await readReceived(stdout, files.apiKey);
    const expected = toExpected(files, "multipart");
    expect({ report, pictures }).toEqual({ report: expected["report"], pictures: expected["pictures"] });
  },
);

test.each(["curl", "python", "javascript"] as const)(
  "a snippet, for %s with a wrong key, ends with an error that says so",
  async (language) => {
    const text = writeSnippet(language, "json", { ...values, apiKey: "trd_wrong", caFile: lent.service.ready.caFile });
    const { code, stdout, stderr } = await run(language, text);
    expect([code === 0, stdout + stderr]).toEqual([false, expect.stringContaining("401")]);
  },
);
