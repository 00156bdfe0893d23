import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type RemoveTree, removeTree } from "../system/trees/remove-tree.ts";
import type { Session } from "./build.ts";
import { createWorkFolder, removeLeftovers, type WorkFolder, waitForLease } from "./build-lease.ts";
import { type BuildLimits, createBuildSteps, diskFull, isDiskFull } from "./build-steps.ts";
import type { Confinement } from "./confinement.ts";
import { findInstaller } from "./find-installer.ts";
import { type Installer, makeContext } from "./installer.ts";
import type { BuildSpec } from "./lock.ts";
import type { Variables } from "./package-settings.ts";
import { type PruneOptions, pruneFolders, touchFolder } from "./sealed-folder.ts";

export interface WorkspaceSettings extends Confinement {
  readonly dir: string;
  readonly uv: { readonly path: string } | undefined;
  readonly env: Variables;
  readonly limits: BuildLimits;
  /** How work folders and old environments are removed; `removeTree` unless given. */
  readonly removeTree?: RemoveTree | undefined;
}

/** Where environments are made, beside where they are kept: on the same file system, so that one is moved in one act. */
export function createBuildWorkspace(settings: WorkspaceSettings) {
  const { dir, limits, removeTree: remove = removeTree } = settings;
  const { isolation, bwrapPath, runAs, users } = settings;
  const confinement = { isolation, bwrapPath, runAs, users };
  const buildingDir = join(dir, ".building");
  let prepared: Promise<void> | undefined;
  const installers = new Map<string, Installer>();

  function prepare(): Promise<void> {
    prepared ??= prepareFolders([dir, buildingDir])
      .then(() => removeLeftovers(buildingDir, remove))
      .catch((error: unknown) => {
        prepared = undefined; // the next call tries again
        throw error;
      });
    return prepared;
  }

  /** Runs `act` in a work folder of its own, which is always gone afterwards. */
  async function inWorkFolder<Result>(name: string, act: (work: WorkFolder) => Promise<Result>): Promise<Result> {
    let work: WorkFolder | undefined;
    try {
      await prepare();
      work = await createWorkFolder(buildingDir, name, remove);
      return await act(work);
    } catch (error) {
      throw isDiskFull(error) ? diskFull("", error) : error;
    } finally {
      await work?.remove();
    }
  }

  return {
    inWorkFolder,

    /** Runs `act` unless the folder at `path` is there, or another process puts it there first. */
    async withLease(name: string, path: string, act: (work: WorkFolder) => Promise<void>): Promise<void> {
      await inWorkFolder(name, async (work) => {
        const release = await waitForLease(buildingDir, name, work, () => touchFolder(path));
        if (release === undefined) return;
        try {
          await act(work);
        } finally {
          await release();
        }
      });
    },

    /** Clock, log, folders and tool of one build. A tool is looked for once for each Python; a machine without one is asked again. */
    async openSession(
      work: WorkFolder,
      list: string,
      { python, build, report }: BuildSpec & { readonly report: ((line: string) => void) | undefined },
    ): Promise<Session> {
      const steps = createBuildSteps({ confinement, limits, workDir: work.path, report });
      const context = await makeContext(confinement, { python, build }, work.path, list);
      const sources = { confinement, python, uv: settings.uv, settings: settings.env };
      const installer = installers.get(python.path) ?? (await findInstaller(sources, steps, context.ownDir));
      installers.set(python.path, installer);
      steps.say(`Python ${python.version} on ${python.platform}, ${installer.name}.`);
      return { steps, context, installer };
    },

    /** See `pruneFolders`. */
    async prune(name: RegExp, options: PruneOptions): Promise<string[]> {
      await prepare();
      return pruneFolders(dir, buildingDir, name, { remove, ...options });
    },
  };
}

async function prepareFolders(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await mkdir(path, { recursive: true });
    await chmod(path, 0o755); // with any umask
  }
}
