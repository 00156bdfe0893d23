import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** What was published from a folder, kept in the folder itself (`.treadle` is never part of a commit). */
const [FOLDER, FILE] = [".treadle", "published.json"];

/** Beside a script that is published by itself: it has no folder of its own. */
function placeOf(target: string): string {
  return target.endsWith(".py")
    ? join(dirname(target), FOLDER, `${basename(target)}.json`)
    : join(target, FOLDER, FILE);
}

interface FolderRecord {
  /** The commit last published from this folder, by workflow; the latest workflow comes last. */
  readonly commits: Readonly<Record<string, string>>;
}

/**
 * Returns the commit that the folder was last published as to a workflow. A later publish compares it with the head.
 */
export async function findPublishedCommit(dir: string, workflowId: string): Promise<string | undefined> {
  return (await readRecord(dir)).commits[workflowId];
}

/** The workflow a folder was last published to. */
export async function findLastWorkflow(dir: string): Promise<string | undefined> {
  return Object.keys((await readRecord(dir)).commits).at(-1);
}

/** Remembers a publish. A folder that cannot be written is published all the same: answers whether it was noted. */
export async function rememberPublished(dir: string, workflowId: string, commitId: string): Promise<boolean> {
  const path = placeOf(dir);
  const { [workflowId]: _, ...others } = (await readRecord(dir)).commits;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(
      `${path}.tmp`,
      `${JSON.stringify({ commits: { ...others, [workflowId]: commitId } }, undefined, 2)}\n`,
    );
    await rename(`${path}.tmp`, path);
    return true;
  } catch (error) {
    if (["EACCES", "EROFS", "EPERM", "ENOTDIR", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? ""))
      return false;
    throw error;
  }
}

/** An unreadable or foreign file counts as no record: it is only a memory. */
async function readRecord(dir: string): Promise<FolderRecord> {
  try {
    const record = JSON.parse(await readFile(placeOf(dir), "utf8")) as Partial<FolderRecord> | null;
    const entries = Object.entries(record?.commits ?? {}).filter(([, commit]) => typeof commit === "string");
    return { commits: Object.fromEntries(entries) };
  } catch {
    return { commits: {} };
  }
}
