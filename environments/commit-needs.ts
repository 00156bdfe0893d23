import type { CommitCode } from "../db/commits/environments.ts";
import type { Manifest } from "../domain/manifest/manifest.ts";
import { OverBudgetError, type Threads, toTask } from "../system/threads/threads.ts";
import { PROJECT_FILE } from "./project-file.ts";
import { REQUIREMENTS_FILE, type RequirementsReading, readRequirements } from "./requirements.ts";

/** As when it was published; see `src/publish/validation.ts`. */
const TIMEOUT_MS = 10_000;

interface File {
  readonly path: string;
  readonly content: Uint8Array;
}

export type ReadFiles = (
  workflowId: CommitCode["workflowId"],
  commitId: CommitCode["commitId"],
) => AsyncIterable<{ readonly path: string; readonly content: Buffer }>;

/** Returns what Python packages the files of a commit ask for, read beside the event loop. */
export async function readCommitNeeds(
  { threads, readFiles }: { readonly threads: Threads; readonly readFiles: ReadFiles },
  { accountId, workflowId, commitId, manifest }: CommitCode,
): Promise<RequirementsReading> {
  const { entrypoint } = manifest as Manifest;
  const files: File[] = [];
  for await (const { path, content } of readFiles(workflowId, commitId))
    if ([REQUIREMENTS_FILE, PROJECT_FILE, entrypoint].includes(path)) files.push({ path, content });
  try {
    return await threads.run(READ, { files, entrypoint }, { owner: accountId, timeoutMs: TIMEOUT_MS });
  } catch (error) {
    if (!(error instanceof OverBudgetError)) throw error;
    const message = `Reading the list of packages takes more ${error.what} than it may.`;
    return { ok: false, problems: [{ file: REQUIREMENTS_FILE, line: 1, column: 1, message }] };
  }
}

/** Returns what Python packages these files ask for. Runs on the thread that it is called on. */
export function readNeeds({ files, entrypoint }: { files: readonly File[]; entrypoint: string }): RequirementsReading {
  // A copy of a buffer between threads is none any more.
  const whole = files.map(({ path, content }) => ({ path, content: Buffer.from(content) }));
  return readRequirements(whole, entrypoint);
}

const READ = toTask(import.meta.url, readNeeds);
