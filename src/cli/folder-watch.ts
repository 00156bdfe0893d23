import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { FILES_MAX } from "../publish/folder.ts";
import { isNoWork } from "./folder-draft.ts";

/**
 * How often a folder is looked at. The system's own notices do not come from network drives, nor from folders shared with
 * a container. A look asks at most 1,001 files for their times.
 */
const LOOK_MS = 200;
/** The state of a folder: another text as soon as a file of it is written, made, renamed or deleted. */
export async function lookAtFolder(folder: string): Promise<string> {
  const lines: string[] = [];
  await lookInto(folder, "", lines);
  return lines.join("\n");
}

/** Waits until a folder differs from what was `seen` and stays so for a moment; answers its state. `signal` ends the wait. */
export async function waitForChange(folder: string, seen: string, signal: AbortSignal): Promise<string> {
  for (let before = seen; ; ) {
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return seen;
    const state = await lookAtFolder(folder);
    if (state !== seen && state === before) return state;
    before = state;
  }
}

/** One file more than a workflow may have is enough: such a folder is refused until it has fewer. */
async function lookInto(folder: string, prefix: string, lines: string[]): Promise<void> {
  const entries = await readdir(join(folder, prefix), { withFileTypes: true }).catch(ignoreGone);
  for (const entry of entries?.sort((a, b) => (a.name < b.name ? -1 : 1)) ?? []) {
    if (isNoWork(entry.name)) continue;
    if (lines.length > FILES_MAX) return;
    const path = join(prefix, entry.name);
    if (entry.isDirectory()) await lookInto(folder, path, lines);
    else {
      const found = await lstat(join(folder, path)).catch(ignoreGone);
      if (found !== undefined) lines.push([path, found.mtimeMs, found.size, found.ino, found.mode].join("\0"));
    }
  }
}

/** What is saved may go while it is looked at. What cannot be read is refused when it is sent. */
function ignoreGone(): undefined {
  return undefined;
}
