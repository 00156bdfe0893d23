import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type BuildSteps, EnvironmentError, type StepResult } from "./build-steps.ts";
import {
  type BuildContext,
  compileModules,
  environmentLinks,
  type Installer,
  makeSkeleton,
  runInEnvironment,
} from "./installer.ts";
import { parseLock } from "./lock.ts";
import { toSentence } from "./resolver-messages.ts";
import { sealLargeFolder } from "./sealed-folder.ts";

/** `sync` waits for the whole file system, on which others may write without end. */
const SYNC_TIMEOUT_MS = 60_000;

/** A build under way: its clock and log, its folders, and the tool it uses. */
export interface Session {
  readonly steps: BuildSteps;
  readonly context: BuildContext;
  readonly installer: Installer;
}

/**
 * Makes the environment of a lock in the session's own folder. It is downloaded with the network, and unpacked and
 * compiled without. Then it is made read-only and ours, and flushed to the disk. Only then may it be moved to its
 * place.
 */
export async function buildEnvironment(session: Session, lock: string): Promise<void> {
  const { steps, context, installer } = session;
  await makeSkeleton(context);
  if (parseLock(lock).length > 0) {
    steps.say("Downloading…");
    refuseFailure(session, await installer.fetch(steps, context));
    steps.say("Installing, without the network…");
    refuseFailure(session, await installer.install(steps, context));
    steps.say("Compiling…");
    await compileModules(steps, context);
  }
  await finish(session);
}

/** Makes the environment of an archive that another host has packed, with the same end as one that is built here. */
export async function unpackEnvironment(session: Session, archivePath: string): Promise<void> {
  const { steps, context } = session;
  await makeSkeleton(context);
  steps.say("Unpacking what another host has built…");
  const archive = { from: archivePath, to: "/archive" };
  const result = await runInEnvironment(steps, context, [archive], ({ environmentDir, at }) => ({
    command: "tar",
    args: ["--extract", "--gzip", "--no-same-owner", "--file", at(archive), "--directory", environmentDir],
    env: {},
  }));
  refuseFailure(session, result);
  await finish(session);
}

async function finish({ steps, context }: Session): Promise<void> {
  steps.requireSize(await sealLargeFolder(context.environmentDir, new Set(environmentLinks(context.python).keys())));
  await flushToDisk(context.environmentDir);
  steps.say("The environment is ready.");
}

function refuseFailure({ steps, context }: Session, { code, output }: StepResult): void {
  if (code === 0) return;
  throw new EnvironmentError("refused", toSentence(output, context), steps.log());
}

/**
 * The rename must not reach the disk before the files do. After a power cut, an environment of empty files would stand
 * at its final place for ever. One call for the file system, because one a file would take seconds.
 */
async function flushToDisk(path: string): Promise<void> {
  const args = process.platform === "linux" ? ["-f", path] : [];
  await promisify(execFile)("sync", args, { timeout: SYNC_TIMEOUT_MS }).catch(() => {}); // a busy disk is no reason to fail
}
