import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FILLED_DISK_FILE, RESULT_FILE } from "../../activities/spool.ts";
import { isExecutionId } from "../../domain/ids.ts";
import { formatSize } from "../../domain/manifest/sizes.ts";
import { type RemoveTree, removeTree } from "../../system/trees/remove-tree.ts";
import { giveUpBallast } from "./ballast.ts";
import { describeLargest } from "./folder-sizes.ts";
import { isServed } from "./instance-lock.ts";
import { type RunCommand, runCommand } from "./servers/command.ts";
import { SYSTEM_PATH } from "./user.ts";

const MIB = 1024 * 1024;
/** PostgreSQL and Temporal need some to start with, and executions need more: see `createDiskRoom`. */
export const FREE_BYTES_MIN = 200 * MIB;
/** An execution that left more than this is what has filled the disk; see `SUSPICION_BYTES_MIN` for one that runs. */
const LARGE_BYTES = 64 * MIB;
const REMOVAL_TIMEOUT_MS = 60_000;

export interface FullDiskDeps {
  readonly dataDir: string;
  readonly report: (line: string) => void;
  readonly remove?: RemoveTree;
  readonly run?: RunCommand;
  readonly readFree: () => Promise<number>;
}

/**
 * On a disk with less than 200 MiB free, clears what nobody needs from the data folder of a service that is not running.
 * That is ballast, trash, folders of lanes, and outputs of executions that never came to a result. Such an execution
 * with many outputs is not run again, to fill the disk again: it is marked as failed for that. Reports what is large
 * where it is still not enough. Never rejects for what it cannot remove. A lock could not be written, so each removal
 * looks first whether another service has the data folder meanwhile.
 */
export async function clearFullDisk(deps: FullDiskDeps): Promise<void> {
  const { dataDir, report, readFree, remove = removeTree, run = runCommand } = deps;
  const before = await readFree();
  if (before >= FREE_BYTES_MIN) return;
  giveUpBallast(dataDir);
  const discard = async (path: string): Promise<void> => {
    if (await isServed(dataDir)) return;
    await remove(path)
      .catch((error: unknown) => removeAsOwner(path, { run, error }))
      .catch((error: unknown) => report(`${path} could not be removed: ${String(error)}`));
  };
  for (const folder of ["trash", "lanes"])
    for (const name of listNames(join(dataDir, folder))) await discard(join(dataDir, folder, name));
  for (const id of listNames(join(dataDir, "spool")).filter(isExecutionId))
    await clearUnfinished(join(dataDir, "spool", id), { discard, readFree, report });
  const after = await readFree();
  report(
    `The disk of ${dataDir} had ${formatSize(before)} left. What executions had left behind was removed: ${formatSize(after)} are free now.`,
  );
  if (after >= FREE_BYTES_MIN) return;
  report(
    `That is too little for executions. Largest in ${dataDir}: ${await describeLargest(dataDir)}. Free space on this disk, or shorten how long files are kept (TREADLE_FILE_DAYS).`,
  );
}

/** Keeps the folder of the execution, which its user owns, and what there is to upload: a result is complete. */
async function clearUnfinished(
  folder: string,
  deps: { discard: RemoveTree; readFree: () => Promise<number>; report: (line: string) => void },
): Promise<void> {
  if (statSync(join(folder, RESULT_FILE), { throwIfNoEntry: false }) !== undefined) return;
  const before = await deps.readFree();
  for (const name of listNames(folder)) if (name !== FILLED_DISK_FILE) await deps.discard(join(folder, name));
  if ((await deps.readFree()) - before < LARGE_BYTES) return;
  try {
    writeFileSync(join(folder, FILLED_DISK_FILE), "");
  } catch (error) {
    deps.report(`${folder} could not be marked: ${String(error)}`); // It is run again, and watched.
  }
}

/** For a tree that sandboxes' users, who are subordinate ids of ours, have a part in. Rejects with `error` where that is not why. */
async function removeAsOwner(path: string, { run, error }: { run: RunCommand; error: unknown }): Promise<void> {
  const args = ["--map-root-user", "--map-auto", "--", "rm", "-rf", "--", path];
  const { code } = await run("unshare", args, { env: { PATH: SYSTEM_PATH }, timeoutMs: REMOVAL_TIMEOUT_MS });
  if (code !== 0) throw error;
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // Not made yet.
  }
}
