import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** What `ready.json` tells scripts and the command line, while the service can take calls. */
export interface ReadyFile {
  readonly url: string;
  readonly apiUrl: string;
  readonly caFile: string;
  readonly temporalUiUrl: string | null;
  readonly signIn: { readonly email: string; readonly password: string };
  /** By the folder name of the example. */
  readonly workflows: Readonly<Record<string, { readonly workflowId: string; readonly apiKey: string }>>;
  readonly pid: number;
}

/** Writes it whole, readable by the service's user alone: it holds keys. Answers its path. */
export async function writeReadyFile(dataDir: string, content: ReadyFile): Promise<string> {
  const path = join(dataDir, "ready.json");
  await writeFile(`${path}.tmp`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.tmp`, path);
  return path;
}

export async function removeReadyFile(dataDir: string): Promise<void> {
  await rm(join(dataDir, "ready.json"), { force: true });
}
