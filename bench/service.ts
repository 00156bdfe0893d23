import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Published, startTrial, type TrialService } from "../src/trial/service.ts";

export type { Answer, Published, TrialService as BenchService } from "../src/trial/service.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A folder for the data of a measurement that the sandbox's user can pass through, too. */
export async function makeDataDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "treadle-bench-data-"));
  await chmod(dir, 0o755);
  return join(dir, "data");
}

/** Publishes a workflow of one input with the command line; `more` are lines of its config.yaml and of its requirements. */
export async function publish(
  dataDir: string,
  input: string,
  code: string,
  more: { readonly config?: string; readonly requirements?: string } = {},
): Promise<Published> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-bench-workflow-"));
  const config = `inputs:\n  ${input}\ntriggers:\n  api: { enabled: true }\n${more.config ?? ""}`;
  await writeFile(join(folder, "config.yaml"), config);
  if (more.requirements !== undefined) await writeFile(join(folder, "requirements.txt"), more.requirements);
  await writeFile(join(folder, "main.py"), code);
  const args = [join(ROOT, "bin/treadle"), "publish", folder, "--json"];
  const env = { ...process.env, TREADLE_DATA_DIR: dataDir };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  await rm(folder, { recursive: true });
  return JSON.parse(stdout) as Published;
}

/** Starts this checkout's service, or another program of it, with the settings of this process. */
export function startService(options: {
  dataDir: string;
  program?: string[];
  /** Settings that differ. */
  env?: Readonly<Record<string, string>>;
}): Promise<TrialService> {
  const { dataDir, program, env: settings } = options;
  return startTrial({ checkout: ROOT, dataDir, program, env: process.env, settings });
}

export async function removeDataDir(dataDir: string): Promise<void> {
  await rm(join(dataDir, ".."), { recursive: true, force: true });
}
