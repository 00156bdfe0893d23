import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type BuildSteps, EnvironmentError, type StepResult } from "./build-steps.ts";
import { type BuildPlace, compileModules, environmentLinks, type Installer, makeSkeleton } from "./installer.ts";
import { parseLock } from "./lock.ts";
import { toSentence } from "./resolver-words.ts";
import { sealLargeFolder } from "./sealed-folder.ts";

const SYNC_TIMEOUT_MS = 60_000;

/** A build under way: its clock and log, its folders, and the tool it uses. */
export interface Session {
  readonly steps: BuildSteps;
  readonly place: BuildPlace;
  readonly installer: Installer;
}

/**
 * Makes the environment of a lock in the session's own folder: downloaded with the network, unpacked and compiled
 * without it, then read-only and ours, and safely on the disk. Only then may it be moved to its place.
 */
export async function buildEnvironment(session: Session, lock: string): Promise<void> {
  const { steps, place, installer } = session;
  await makeSkeleton(place);
  if (parseLock(lock).length > 0) {
    steps.say("Downloading…");
    refuseFailure(session, await installer.fetch(steps, place));
    steps.say("Installing, without the network…");
    refuseFailure(session, await installer.install(steps, place));
    steps.say("Compiling…");
    await compileModules(steps, place);
  }
  steps.demandSize(await sealLargeFolder(place.environmentDir, new Set(environmentLinks(place.python).keys())));
  await flushToDisk(place.environmentDir);
  steps.say("The environment is ready.");
}

function refuseFailure({ steps, place }: Session, { code, output }: StepResult): void {
  if (code === 0) return;
  throw new EnvironmentError("refused", toSentence(output, place), steps.log());
}

/**
 * The rename must not reach the disk before the files do: after a power cut an environment of empty files would stand
 * at its final place for ever. One call for the file system, because one a file would take seconds.
 */
async function flushToDisk(path: string): Promise<void> {
  const args = process.platform === "linux" ? ["-f", path] : [];
  await promisify(execFile)("sync", args, { timeout: SYNC_TIMEOUT_MS }).catch(() => {}); // a busy disk is no reason to fail
}
