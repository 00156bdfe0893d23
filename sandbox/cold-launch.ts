import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { INSIDE } from "./bubblewrap.ts";
import { type BubblewrapPool, discard, type Prestarted } from "./bubblewrap-pool.ts";
import { createCgroup } from "./cgroup.ts";
import type { CgroupFolders } from "./cgroup-folders.ts";
import { launchInGvisor } from "./gvisor/launch.ts";
import type { PlacedInputs, User } from "./input-files.ts";
import { launchInBubblewrap, launchUnprotected, type ProgramFolders } from "./launch.ts";
import type { Launched } from "./launched.ts";
import type { NetworkSlot } from "./network/network.ts";
import { type SandboxRequest, type SandboxSettings, wantsNetwork } from "./request.ts";
import { createRunDiskPool, type RunDisk } from "./run-disks.ts";
import type { Reach } from "./users/reach.ts";

/** Rejects when `signal` aborts while it waits for something that others have. */
export type Launch = (request: SandboxRequest, inputs: PlacedInputs, signal?: AbortSignal) => Promise<Launched>;

let unprotectedBefore = 0;

/** Launches executions that have an interpreter of their own, each on a disk of its own where there are some. */
export function createColdLauncher(deps: {
  readonly settings: SandboxSettings;
  readonly pool: BubblewrapPool;
  readonly cgroups: CgroupFolders | undefined;
  readonly user: User;
}): Launch {
  const { settings, pool, cgroups, user } = deps;
  const disks = settings.disks && createRunDiskPool(settings.disks.cold, settings.disks);

  async function launchWithNetwork(
    request: SandboxRequest,
    inputs: PlacedInputs,
    folders: ProgramFolders,
    signal?: AbortSignal,
  ): Promise<Launched> {
    if (settings.gvisor !== undefined) throw new Error("Executions in gVisor have no network.");
    if (settings.network === undefined) throw new Error("This host cannot give executions a network.");
    const slot = await takeSlot(settings.network, request.network, signal);
    try {
      const used = runtimeOf(settings, request);
      return await launchPrestarted(await pool.start(used, slot), used, { request, inputs, folders, slot });
    } catch (error) {
      slot.release();
      throw error;
    }
  }

  return async (request, inputs, signal) =>
    onDisk(await disks?.take(signal), request, async (folders) => {
      if (settings.gvisor !== undefined && folders.scratchDir !== undefined)
        throw new Error("Executions in gVisor have no scratch folders on disk.");
      const isIsolated = settings.isolation === "bubblewrap";
      if (isIsolated && wantsNetwork(request)) return launchWithNetwork(request, inputs, folders, signal);
      const used = runtimeOf(settings, request);
      if (isIsolated) {
        // One that waits would write to the folder below a disk that it does not see.
        const mayWait = request.runtime === undefined && !folders.isMountedLate;
        const prestarted = await (mayWait ? pool.take() : pool.start(used));
        return launchPrestarted(prestarted, used, { request, inputs, folders });
      }
      makeFolder(folders.outputsDir, user);
      makeFolder(join(request.spoolDir, "work"), user);
      const cgroup = cgroups && createCgroup(cgroups, `treadle-${process.pid}-u${++unprotectedBefore}`);
      return launchUnprotected(used, request, inputs, { user, cgroup });
    });
}

/** Takes the network that a request asks for. The slot's release closes the way that was opened for it. */
async function takeSlot(
  network: NonNullable<SandboxSettings["network"]>,
  wanted: SandboxRequest["network"],
  signal: AbortSignal | undefined,
): Promise<NetworkSlot> {
  if (typeof wanted !== "object") return network.take(signal);
  const way = await network.confine(wanted);
  try {
    const slot = await way.take(signal);
    return {
      enter: slot.enter,
      namespace: slot.namespace,
      resolvConf: slot.resolvConf,
      hosts: slot.hosts,
      readConnections: slot.readConnections,
      get isUsable() {
        return slot.isUsable;
      },
      release() {
        slot.release();
        void way.close();
      },
    };
  } catch (error) {
    await way.close();
    throw error;
  }
}

/** Gives a waiting bubblewrap's user what is its own, and lets it go on. */
async function launchPrestarted(
  prestarted: Prestarted,
  settings: SandboxSettings,
  around: {
    readonly request: SandboxRequest;
    readonly inputs: PlacedInputs;
    readonly folders: ProgramFolders;
    readonly slot?: NetworkSlot;
  },
): Promise<Launched> {
  const { request, inputs, folders, slot } = around;
  const { outputsDir, scratchDir } = folders;
  const { reach } = prestarted.user;
  const { gvisor } = settings;
  try {
    mkdirSync(outputsDir, { mode: 0o700 });
    await reach.own(outputsDir);
    if (scratchDir !== undefined) await makeScratchFolders(scratchDir, reach);
    if (request.files.length > 0) await reach.admit(join(request.spoolDir, "inputs"));
  } catch (error) {
    await discard(prestarted);
    throw error;
  }
  if (gvisor !== undefined) return launchInGvisor(prestarted, { ...settings, gvisor }, request, inputs, outputsDir);
  return launchInBubblewrap(prestarted, settings, request, inputs, folders, slot);
}

/** What the sandbox mounts of the disk. The user of the sandbox cannot write beside these. */
async function makeScratchFolders(scratchDir: string, reach: Pick<Reach, "own">): Promise<void> {
  for (const [path, mode] of [
    ["/tmp", 0o1777],
    [INSIDE.work, 0o700],
  ] as const) {
    const folder = join(scratchDir, path);
    mkdirSync(folder);
    chmodSync(folder, mode); // With any umask.
    await reach.own(folder);
  }
}

/** Launches with outputs on that disk, which its release gives back; in the spool without one. Scratch folders have another one. */
async function onDisk(
  disk: RunDisk | undefined,
  { spoolDir, isScratchOnDisk, limits }: SandboxRequest,
  launch: (folders: ProgramFolders) => Promise<Launched>,
): Promise<Launched> {
  if (disk === undefined) {
    if (isScratchOnDisk === true) throw new Error("This host has no disks for scratch folders.");
    return launch({ outputsDir: join(spoolDir, "outputs"), scratchDir: undefined, isMountedLate: false });
  }
  try {
    const scratchDir = isScratchOnDisk === true ? await disk.openScratch(limits.scratchBytes) : undefined;
    const isMountedLate = disk.isAnew || scratchDir !== undefined;
    const launched = await launch({ outputsDir: join(disk.dir, "outputs"), scratchDir, isMountedLate });
    const release = async (isWell: boolean): Promise<void> => {
      try {
        await launched.release(isWell);
      } finally {
        const given = disk.giveBack();
        if (scratchDir !== undefined) await given; // What it was promised of the host's disk is free when it has ended.
      }
    };
    return { ...launched, hasOwnDisk: true, release };
  } catch (error) {
    void disk.giveBack();
    throw error;
  }
}

/** The settings with the interpreter of one request, and the runner compiled for it. */
function runtimeOf(settings: SandboxSettings, { runtime }: Pick<SandboxRequest, "runtime">): SandboxSettings {
  return runtime === undefined ? settings : { ...settings, ...runtime };
}

/** Synchronous, as a few microseconds of work must not wait for the thread pool. */
function makeFolder(path: string, user: User): void {
  mkdirSync(path, { mode: 0o700 });
  chownSync(path, user.uid, user.gid);
}
