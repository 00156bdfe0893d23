import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "@jest/globals";

const PROGRAM = fileURLToPath(new URL("../../bin/treadle", import.meta.url));

export interface CommandAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  json(): Record<string, unknown>;
}

/** Starts `bin/treadle`, in the namespaces that the words of `within` enter; the caller sees to its end. */
export function startTreadle(dataDir: string, args: readonly string[], input = "", within: readonly string[] = []) {
  const [program = "", ...words] = [...within, process.execPath, PROGRAM, ...args];
  const child = spawn(program, words, {
    env: { ...process.env, TREADLE_DATA_DIR: dataDir },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => undefined); // Most commands read nothing.
  child.stdin.end(input);
  return child;
}

/** Runs `bin/treadle` as a user does, against the service of a data folder. `input` is its standard input. */
export async function treadle(
  dataDir: string,
  args: readonly string[],
  input = "",
  within: readonly string[] = [],
): Promise<CommandAnswer> {
  const child = startTreadle(dataDir, args, input, within);
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString("utf8");
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString("utf8");
  });
  const code = await new Promise<number>((resolve) => child.once("close", (exit) => resolve(exit ?? -1)));
  return { code, stdout, stderr, json: () => JSON.parse(stdout) as Record<string, unknown> };
}

const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** A workflow's folder of the files given, which goes with the tests; `config.yaml` enables the API unless the test writes its own. */
export async function aFolder(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-folder-"));
  folders.push(folder);
  const all = { "config.yaml": "triggers:\n  api: { enabled: true }\n", ...files };
  for (const [name, content] of Object.entries(all)) await writeFile(join(folder, name), content);
  return folder;
}
