import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setImmediate as pause } from "node:timers/promises";
import { messageOf } from "../../domain/message-of.ts";
import { type RemoveTree, removeTree } from "../../system/trees/remove-tree.ts";
import type { LaneFolders } from "../bubblewrap.ts";
import { createCgroup } from "../cgroup.ts";
import type { CgroupFolders } from "../cgroup-folders.ts";
import type { PlacedInputs } from "../input-files.ts";
import type { Launched } from "../launched.ts";
import type { NetworkLink } from "../network/network.ts";
import type { LaneRequest, LaneSettings, SandboxSettings } from "../request.ts";
import type { RunDisk } from "../run-disks.ts";
import type { Reach } from "../users/reach.ts";
import type { SandboxUser } from "../users/sandbox-user.ts";
import { clearFork, type Fork, holdsStrangers, launchFork, makeLaneFolders, takeBackForks } from "./fork.ts";
import { type Forks, keepsFiles, openForks, UsedUpError } from "./forks.ts";
import { UnfitError } from "./guard.ts";
import { startZygote, type Zygote } from "./zygote.ts";

/** Importing the packages; PyTorch takes some ten seconds on a slow disk. */
const WARM_TIMEOUT_MS = 60_000;
/** While packages are imported. What can be taken between two looks, the limits of its processes bound. */
const MEASURE_EVERY_MS = 20;

export type LaneState = "forking" | "ready" | "busy" | "closed";

/** A zygote and its one fork, which waits for an execution or serves one. */
export interface Lane {
  state(): LaneState;
  /** Keeps the waiting fork for the caller, who launches it next. False when none waits. */
  claim(): boolean;
  /** Closes it once it serves nothing, as another has its place. */
  retire(): void;
  /** Gives the claimed fork to an execution, whose release makes the next one. */
  launch(request: { readonly environmentDir: string | null }, inputs: PlacedInputs): Promise<Launched>;
  /** Memory that would be free without it, when it was last measured. */
  bytes(): number;
  /** Measures it while it waits, and closes it when packages work in it then. */
  look(): void;
  /** Never rejects; what could not be ended or removed is reported. */
  close(): Promise<void>;
}

export interface LaneDeps {
  readonly settings: SandboxSettings;
  readonly cgroups: CgroupFolders | undefined;
  readonly takeUser: () => SandboxUser;
  readonly bounds: Pick<LaneSettings, "dir" | "executionsMax">;
  readonly remove: RemoveTree;
  /** What its executions write to, where they have disks of their own. The lane gives it back. */
  readonly disk?: RunDisk | undefined;
  /** Called when the state has changed. */
  readonly onChange: () => void;
  /** Called with the bytes it holds while it is started; an answer is the reason why it must end. */
  readonly onGrowth: (bytes: number) => Error | undefined;
  /** Called when it could not make its next fork, or could not be cleared away. */
  readonly onFailure: (error: unknown) => void;
  /** Called with how long the code of an execution took. */
  readonly onServed: (ms: number) => void;
  /** Called after each of its last executions: it is closed soon, and another should have its place by then. */
  readonly onWorn: (lane: Lane) => void;
}

let lanesBefore = 0;

/** Starts a lane and waits until its first fork was found to be confined. Throws UnfitError when the code must run cold. */
export async function startLane(deps: LaneDeps, request: LaneRequest): Promise<Lane> {
  const name = `treadle-${process.pid}-l${++lanesBefore}`;
  // Not the name: programs read this in `mountinfo`, and it would tell them of our process and of how many lanes there were before.
  const laneDir = join(deps.bounds.dir, randomBytes(12).toString("hex"));
  let cgroup: ReturnType<typeof createCgroup> | undefined;
  const user = deps.takeUser();
  const { reach } = user;
  let folders: LaneFolders | undefined;
  let zygote: Zygote | undefined;
  let closeWay: (() => Promise<void>) | undefined;
  const end = async () => zygote?.end();
  const clear = async () => {
    await closeWay?.();
    await cgroup?.remove();
    try {
      if (folders !== undefined) await takeBackForks(folders, reach);
      user.release();
      await deps.remove(laneDir);
    } finally {
      await deps.disk?.giveBack();
    }
  };
  try {
    const made = (folders = makeLaneFolders(laneDir, request, deps.disk));
    cgroup = deps.cgroups && createCgroup(deps.cgroups, name);
    const network = await openWay(deps.settings.network, request.network);
    closeWay = network?.close;
    zygote = await startZygote(deps.settings, request, { folders: made, cgroup, user, place: await network?.place() });
    const measure = cgroup?.measureBytes ?? zygote.measureMemoryBytes;
    await expectWarm(zygote, measure, (bytes) => {
      if (holdsStrangers(made, [])) return keepsFiles();
      if (cgroup !== undefined || bytes <= request.limits.memoryBytes) return deps.onGrowth(bytes);
      return new UnfitError("Importing the packages takes more memory than an execution may have.");
    });
    const pid = zygote.findPid();
    const { executionsMax } = deps.bounds;
    const forks = await openForks({ zygote, pid, cgroup, folders: made, reach, executionsMax, network });
    const excess = deps.onGrowth(forks.bytes());
    if (excess !== undefined) throw excess;
    return followLane({ deps, reach, zygote, cgroup, forks, end, clear });
  } catch (error) {
    await tryEach([end, clear], deps.onFailure);
    throw error;
  }
}

/** Returns how forks get to the network that a request asks for; undefined where it asks for none. */
async function openWay(network: SandboxSettings["network"], wanted: LaneRequest["network"] = false) {
  if (wanted === false || network === undefined) return undefined;
  const way =
    wanted === true
      ? { place: network.place, attach: network.attach, close: async () => undefined }
      : await network.confine(wanted);
  let link: NetworkLink | undefined;
  return {
    place: way.place,
    async attach(pid: number) {
      link?.release();
      link = undefined;
      return (link = await way.attach(pid));
    },
    async close() {
      link?.release();
      link = undefined;
      await way.close();
    },
  };
}

/** Takes each step, in order, also when one before it failed. Never rejects. */
async function tryEach(steps: readonly (() => Promise<void>)[], onFailure: (error: unknown) => void): Promise<void> {
  for (const step of steps) await step().catch(onFailure);
}

async function expectWarm(zygote: Zygote, measure: () => number, findExcess: (bytes: number) => Error | undefined) {
  let excess: Error | undefined;
  const look = () => {
    if (excess !== undefined) return;
    try {
      excess = findExcess(measure());
    } catch (error) {
      // Thrown by a timer it would end the service, when the lane's folder has gone before the lane.
      excess = new Error("A lane could not be measured.", { cause: error });
    }
    if (excess !== undefined) void zygote.end().catch(() => undefined); // The call that started it ends it once more, and gets the error.
  };
  const measuring = setInterval(look, MEASURE_EVERY_MS);
  const event = await zygote
    .next(WARM_TIMEOUT_MS)
    .catch((error: unknown) => {
      if (excess !== undefined) throw excess;
      throw new Error(`${messageOf(error)} ${zygote.said()}`.trim(), { cause: error });
    })
    .finally(() => clearInterval(measuring));
  if (event.type === "unfit") throw new UnfitError(event.reason);
  if (event.type !== "warm") throw new Error("The lane's zygote said something else than that it is warm.");
  if (zygote.said() !== "")
    throw new UnfitError("Importing the packages, or compiling the entrypoint, prints something.");
}

interface LaneParts {
  readonly deps: LaneDeps;
  readonly reach: Reach;
  readonly zygote: Zygote;
  readonly cgroup: ReturnType<typeof createCgroup> | undefined;
  readonly forks: Forks;
  /** Ends all of its processes. */
  readonly end: () => Promise<void>;
  /** Removes its cgroup and its folder. */
  readonly clear: () => Promise<void>;
}

function followLane({ deps, reach, zygote, cgroup, forks, end, clear }: LaneParts): Lane {
  const surroundings = { cgroup, reach, remove: deps.remove, disk: deps.disk };
  /** Its zygote has ended, or another lane has its place. */
  let isOver = false;
  let state: LaneState = "ready";
  let closing: Promise<void> | undefined;
  /** The holder of the execution of a lane that died counts its kills and takes its outputs. */
  let served: Promise<void> = Promise.resolve();
  let letGo: () => void = () => undefined;

  const change = (to: LaneState) => {
    if (state === "closed") return;
    state = to;
    deps.onChange();
  };
  // Never rejects: most of those who close a lane do not wait for it.
  const close = () => {
    change("closed");
    return (closing ??= tryEach([end, () => served, clear], deps.onFailure));
  };
  const makeNext = async () => {
    if (state === "closed" || isOver || forks.areUsedUp()) return close();
    change("forking");
    try {
      await forks.makeNext();
      change("ready");
      if (isOver) await close();
      else if (lane.state() === "ready" && forks.areWorn()) deps.onWorn(lane);
    } catch (error) {
      // A zygote that was killed says nothing of its packages: the next lane may live.
      if (!(error instanceof UsedUpError || isOver)) deps.onFailure(error);
      await close();
    }
  };
  void zygote.ended.then(() => (isOver = true)).then(close);

  const lane: Lane = {
    state: () => state,
    bytes: forks.bytes,
    look() {
      const problem = state === "ready" ? forks.look() : undefined;
      if (problem === undefined) return;
      deps.onFailure(problem);
      void close();
    },
    close,
    retire() {
      isOver = true;
      if (state === "ready") void close();
    },
    claim() {
      if (state !== "ready") return false;
      if (!forks.isConnected()) {
        void close();
        return false;
      }
      change("busy");
      served = new Promise((resolve) => (letGo = resolve));
      return true;
    },
    launch: ({ environmentDir }, inputs) =>
      launchClaimed({ environmentDir, inputs, surroundings }, forks.current(), {
        letGo: () => letGo(),
        lost: () => void close(), // Its fork may have inputs that nobody would take away.
        served(ms, endedByItself) {
          deps.onServed(ms);
          if (!endedByItself) return close();
          // After the call that waits for this execution has it. Not later still: who calls again at once would wait for it.
          // With the fork begun 0, 4, 8 and 14 ms later, hello took 1.30, 1.39, 1.45 and 1.57 times a bare start (bench/README.md).
          void pause().then(makeNext).catch(deps.onFailure);
        },
      }),
  };
  return lane;
}

/** The events of the execution that has a lane's fork. */
interface Listener {
  /** Everything of it was looked at and taken away. */
  letGo(): void;
  /** It could not be launched, or not taken away. */
  lost(): void;
  served(ms: number, endedByItself: boolean): Promise<void> | undefined;
}

async function launchClaimed(
  given: {
    readonly environmentDir: string | null;
    readonly inputs: PlacedInputs;
    readonly surroundings: {
      readonly cgroup: ReturnType<typeof createCgroup> | undefined;
      readonly reach: Reach;
      readonly remove: RemoveTree;
      readonly disk: RunDisk | undefined;
    };
  },
  fork: Fork,
  listener: Listener,
): Promise<Launched> {
  const { environmentDir, inputs } = given;
  const { cgroup, reach, remove, disk } = given.surroundings;
  const hasOwnDisk = disk !== undefined;
  const launchedAt = performance.now();
  const loseIt = (error: unknown): never => {
    listener.letGo();
    listener.lost();
    throw error;
  };
  const launched = await launchFork(fork, inputs, { cgroup, reach, environmentDir }).catch(loseIt);
  return {
    ...launched,
    hasOwnDisk,
    readConnections: fork.link?.readConnections,
    async release(isWell) {
      const { code, atMs } = await launched.waitForExit();
      let hasOomKills = false;
      try {
        hasOomKills = (launched.cgroup?.countOomKills() ?? 0) > 0;
        // A disk is made anew when it cannot be cleared: what is tried again later would meet the next lane's files.
        await clearFork(fork, { outputs: hasOwnDisk ? removeTree : remove, inputs: remove, reach });
      } catch (error) {
        loseIt(error);
      }
      listener.letGo();
      disk?.trim();
      await listener.served(atMs - launchedAt, isWell && code !== null && !hasOomKills);
    },
  };
}
