import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../domain/message-of.ts";
import type { RemoveTree } from "../../system/trees/remove-tree.ts";
import type { CgroupFolders } from "../cgroup-folders.ts";
import {
  type LaneFigures,
  type LaneRequest,
  type LaneSettings,
  type SandboxSettings,
  type Warmth,
  wantsNetwork,
} from "../request.ts";
import type { RunDisk, RunDiskPool } from "../run-disks.ts";
import type { SandboxUser } from "../users/sandbox-user.ts";
import { createLaneBudget, FullError, type LaneBudget } from "./budget.ts";
import { createEfforts, noteStart } from "./effort.ts";
import { UsedUpError } from "./forks.ts";
import { type Group, type Groups, isRefused, isResting, pruneClosed, takeGroup } from "./group.ts";
import { SeeminglyUnfitError, UnfitError } from "./guard.ts";
import { type Lane, startLane } from "./lane.ts";

/** Lanes of one commit: as many executions as the machine can do at once, and two whose forks are being made. */
const LANES_PER_COMMIT_MAX = availableParallelism() + 2;
/** Where executions take long, waiting for a lane is worth no more than a cold start takes. */
const PATIENCE_MS = 40;
/** Where they are short, a lane is free again soon, and a cold start would only make all of them slower. */
const SHORT_MS = 200;
const PATIENCE_WITH_SHORT_MS = 1_000;
const LOOK_EVERY_MS = 1_000;
/**
 * Where no lane can serve an execution, one is begun so much later: most have ended by then. Begun at once, it made a cold
 * `hello` take 2.7 and 3.3 times a bare start, and 1.4 and 2.2 times it so (bench/README.md).
 */
const START_AFTER_COLD_MS = 100;
/**
 * PyTorch takes ten seconds to be imported on a slow disk, and a code has up to four lanes on two cores. An account that
 * publishes thousands of commits in a row gets lanes for some hundreds of them, and the others at their first call.
 */
const START_BURST_SECONDS = 60;
const burstOf = ({ startBurstSeconds = START_BURST_SECONDS }: LaneSettings) => startBurstSeconds;
/** Before it is tried again where there was no room. */
const FULL_REST_MS = 1_000;
/** After a lane failed by a fault of ours, or by what may be one, executions of that code start cold for this long. */
const RETRY_AFTER_MS = 60_000;

export interface Lanes {
  /** A lane whose fork is the caller's, or undefined: then the execution starts cold. Never waits longer than a cold start takes. */
  claim(request: LaneRequest): Promise<Lane | undefined>;
  warm(request: LaneRequest): Promise<Warmth>;
  /** Why no lane was confined when it was last tried. */
  problem(): string | undefined;
  /** The code of every lane there is. */
  listRequests(): LaneRequest[];
  figures(): LaneFigures;
  close(): Promise<void>;
}

export interface LanesDeps {
  readonly settings: SandboxSettings;
  readonly bounds: LaneSettings;
  readonly cgroups: CgroupFolders | undefined;
  readonly takeUser: () => SandboxUser;
  readonly remove: RemoveTree;
  readonly disks: RunDiskPool | undefined;
  /** Tried once, before the first lane takes work. Returns what user code could do in a lane that it must not. */
  readonly selfTest: () => Promise<string[]>;
}

/**
 * The lanes of this host, by code and limits. Bounded by number, by memory and by idle time; the least recently used
 * code loses its lanes first.
 */
export function createLanes(deps: LanesDeps): Lanes {
  const { bounds } = deps;
  const groups: Groups = new Map();
  const effortOf = createEfforts();
  const changes = createSignal();
  const budget = createLaneBudget(groups, bounds);
  const onChange = () => {
    budget.trim();
    changes.give();
  };
  const starter = createStarter(deps, budget, onChange);
  void removeLeft(readdirSync(bounds.dir), deps).catch(starter.report);
  const look = setInterval(() => budget.look(), bounds.lookEveryMs ?? LOOK_EVERY_MS).unref();
  let closed = false;
  // The cold path says so, too.
  const findLack = (request: LaneRequest): string | undefined => {
    if (request.isScratchOnDisk === true)
      return "Its scratch folders are on disk (limits.scratch), which a lane does not have.";
    if (!wantsNetwork(request)) return undefined;
    const way = deps.settings.network;
    return way === undefined ? "This host gives executions no network." : way.problem;
  };
  return {
    async claim(request) {
      if (closed || findLack(request) !== undefined) return undefined;
      const group = takeGroup(groups, request);
      if (isRefused(group)) return undefined;
      const deadline = Date.now() + (group.usualMs < SHORT_MS ? PATIENCE_WITH_SHORT_MS : PATIENCE_MS);
      for (;;) {
        const ready = pruneClosed(group).find((lane) => lane.claim());
        if (ready !== undefined) return ready;
        const isFull = group.lanes.size + group.starting >= LANES_PER_COMMIT_MAX;
        const isForking = [...group.lanes].some((lane) => lane.state() === "forking");
        if (!isFull && !isForking && group.starting === 0 && !isResting(group)) {
          if (group.lanes.size > 0) void starter.start(group);
          else startLater(group, () => void (closed || starter.start(group)));
        }
        const left = deadline - Date.now();
        const isEmpty = group.lanes.size === 0 && group.replaced === undefined;
        if (left <= 0 || isEmpty || !(isForking || isFull || group.usualMs < SHORT_MS)) return undefined;
        await changes.wait(left);
      }
    },
    async warm(request) {
      if (closed) return { warm: false, reason: "The sandbox is closed." };
      const lack = findLack(request);
      if (lack !== undefined) return { warm: false, reason: lack };
      const group = takeGroup(groups, request);
      if (group.refusal !== undefined && isRefused(group)) return { warm: false, reason: group.refusal.reason };
      if (pruneClosed(group).length > 0) return { warm: true };
      const { accountId } = request;
      const startedAt = Date.now();
      if (!isResting(group) && effortOf(accountId).restUntil > startedAt)
        return { warm: false, reason: "Lanes ahead of calls took the account long, and rest for now." };
      return starter.start(group).finally(() => noteStart(effortOf(accountId), startedAt, burstOf(bounds)));
    },
    problem: starter.problem,
    listRequests: () =>
      [...groups.values()]
        .filter((group) => pruneClosed(group).length + group.starting > 0)
        .map(({ request }) => request),
    figures: budget.figures,
    async close() {
      closed = true;
      clearInterval(look);
      starter.stop();
      await Promise.all([...groups.values()].flatMap(({ lanes }) => [...lanes].map((lane) => lane.close())));
    },
  };
}

/** What a service left that was killed. The folder is ours alone, and no lane is given a name that is there already. */
async function removeLeft(names: readonly string[], { bounds, remove }: LanesDeps): Promise<void> {
  for (const name of names) await remove(join(bounds.dir, name));
}

/** Starts lanes one by one as they are asked for, and remembers why one could not be. */
function createStarter(deps: LanesDeps, budget: LaneBudget, onChange: () => void) {
  let stopped = false;
  let problem: string | undefined;
  const testOnce = rememberResult(deps.selfTest);

  const refuse = (group: Group) => (error: unknown) => {
    const reason = messageOf(error);
    const isForGood = error instanceof UnfitError && !(error instanceof SeeminglyUnfitError);
    const retryAt = Date.now() + (deps.bounds.retryAfterMs ?? RETRY_AFTER_MS);
    group.refusal = { reason, until: isForGood ? Number.POSITIVE_INFINITY : retryAt };
    if (!(error instanceof UnfitError)) problem = reason;
  };

  async function startFor(group: Group): Promise<void> {
    const { request } = group;
    const growth = await budget.makeFor(group);
    try {
      const problems = await testOnce();
      if (problems.length > 0) throw new Error(`A lane is not confined: ${problems.join("; ")}.`);
      const disk = takeDisk(deps);
      const lane = await startLane(
        {
          ...deps,
          disk,
          settings: { ...deps.settings, ...request.runtime },
          onChange,
          onGrowth: growth.note,
          onFailure: refuse(group),
          onServed: noteDuration(group),
          onWorn(worn) {
            if (group.replaced === undefined && !isRefused(group)) void start(group, worn);
          },
        },
        request,
      );
      problem = undefined;
      group.usualBytes = lane.bytes();
      if (stopped) await lane.close();
      else group.lanes.add(lane);
    } finally {
      growth.end();
    }
  }

  /** `worn` serves until the new one can, which gets its place. */
  async function start(group: Group, worn?: Lane): Promise<Warmth> {
    if (isResting(group, worn !== undefined))
      return { warm: false, reason: "Its lanes took long to start, and rest for now." };
    group.starting += 1;
    if (worn !== undefined) group.replaced = worn;
    const startedAt = Date.now();
    try {
      await startFor(group);
      worn?.retire();
      return { warm: true };
    } catch (error) {
      if (error instanceof FullError || error instanceof UsedUpError) group.fullUntil = Date.now() + FULL_REST_MS;
      else refuse(group)(error);
      return { warm: false, reason: messageOf(error) };
    } finally {
      group.starting -= 1;
      if (worn !== undefined) group.replaced = undefined;
      noteStart(group, startedAt, burstOf(deps.bounds));
      onChange();
    }
  }
  return {
    start,
    problem: () => problem,
    report: (error: unknown) => void (problem = messageOf(error)),
    stop: () => void (stopped = true),
  };
}

/** What was found is remembered; that nothing could be found out, as on a full disk, is not. */
function rememberResult(test: () => Promise<string[]>): () => Promise<string[]> {
  let tested: Promise<string[]> | undefined;
  return () =>
    (tested ??= test().catch((error: unknown) => {
      tested = undefined;
      throw error;
    }));
}

/** Undefined where executions have no disks of their own. */
function takeDisk({ disks }: Pick<LanesDeps, "disks">): RunDisk | undefined {
  const disk = disks?.tryTake();
  if (disks !== undefined && disk === undefined) throw new FullError("All disks of lanes are in use.");
  return disk;
}

/** Counts as a start meanwhile, so that nobody begins another one. */
function startLater(group: Group, start: () => void): void {
  group.starting += 1;
  setTimeout(() => {
    group.starting -= 1;
    start();
  }, START_AFTER_COLD_MS).unref();
}

function noteDuration(group: Group) {
  return (ms: number): void => {
    group.usualMs += (ms - group.usualMs) / 8;
  };
}

/** Wakes everybody who waits, at every change. */
function createSignal() {
  const waiting = new Set<() => void>();
  return {
    give() {
      for (const wake of Array.from(waiting)) wake();
    },
    wait(ms: number): Promise<void> {
      return new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, ms);
        waiting.add(wake);
      });
    },
  };
}
