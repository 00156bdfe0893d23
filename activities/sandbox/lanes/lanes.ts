import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { RemoveTree } from "../../trees/remove-tree.ts";
import type { CgroupFolders } from "../cgroup-folders.ts";
import type { User } from "../input-files.ts";
import type { LaneFigures, LaneRequest, LaneSettings, SandboxSettings, Warmth } from "../request.ts";
import { UnfitError } from "./guard.ts";
import { type Lane, startLane } from "./lane.ts";

/** Lanes of one commit: as many executions as the machine can do at once, and two whose forks are being made. */
const LANES_PER_COMMIT_MAX = availableParallelism() + 2;
/** Where executions take long, waiting for a lane is worth no more than a cold start takes. */
const PATIENCE_MS = 40;
/** Where they are short, a lane is free again soon, and a cold start would only make all of them slower. */
const SHORT_MS = 200;
const PATIENCE_WITH_SHORT_MS = 1_000;
const LOOK_EVERY_MS = 30_000;
/** Codes that are remembered, so that not every execution of unfit code tries again. */
const GROUPS_MAX = 1_000;
/** After a lane failed by a fault of ours, executions of that code start cold for this long. */
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

/** What has been counted so far, and what was measured last. */
type Counted = { -readonly [Name in "bytes" | "evicted"]: LaneFigures[Name] };

interface Group {
  readonly request: LaneRequest;
  readonly lanes: Set<Lane>;
  starting: number;
  usedAt: number;
  /** How long an execution takes as a rule, without the making of the next fork: an exponential mean. */
  usualMs: number;
  refusal: { readonly reason: string; readonly until: number } | undefined;
}

export interface LanesDeps {
  readonly settings: SandboxSettings;
  readonly bounds: LaneSettings;
  readonly cgroups: CgroupFolders | undefined;
  readonly user: User;
  readonly remove: RemoveTree;
  /** Tried once, before the first lane takes work. Answers what user code could do in a lane that it must not. */
  readonly selfTest: () => Promise<string[]>;
}

/**
 * The lanes of this host, by code and limits. Bounded by number, by memory and by idle time; the least recently used
 * code loses its lanes first.
 */
export function createLanes(deps: LanesDeps): Lanes {
  const { bounds } = deps;
  const groups = new Map<string, Group>();
  const changes = createSignal();
  const counted: Counted = { bytes: 0, evicted: 0 };
  const starter = createStarter(deps, groups, changes.give, counted);
  void removeLeft(readdirSync(bounds.dir), deps).catch(starter.report);
  const look = setInterval(
    () => void closeIdle(groups, bounds, counted).catch(starter.report),
    bounds.lookEveryMs ?? LOOK_EVERY_MS,
  ).unref();
  let closed = false;

  const groupOf = (request: LaneRequest): Group => {
    const key = toKey(request);
    const group = groups.get(key) ?? {
      request,
      lanes: new Set(),
      starting: 0,
      usedAt: 0,
      usualMs: 0,
      refusal: undefined,
    };
    groups.delete(key); // Reinserted, so that the map is in the order of use.
    groups.set(key, group);
    group.usedAt = Date.now();
    forgetOldest(groups);
    return group;
  };
  return {
    async claim(request) {
      if (closed || request.network === true) return undefined;
      const group = groupOf(request);
      if (isRefused(group)) return undefined;
      const deadline = Date.now() + (group.usualMs < SHORT_MS ? PATIENCE_WITH_SHORT_MS : PATIENCE_MS);
      for (;;) {
        const ready = pruneClosed(group).find((lane) => lane.claim());
        if (ready !== undefined) return ready;
        const isFull = group.lanes.size + group.starting >= LANES_PER_COMMIT_MAX;
        const isForking = [...group.lanes].some((lane) => lane.state() === "forking");
        if (!isFull && !isForking && group.starting === 0) void starter.start(request, group);
        const left = deadline - Date.now();
        if (left <= 0 || group.lanes.size === 0 || !(isForking || isFull || group.usualMs < SHORT_MS)) return undefined;
        await changes.wait(left);
      }
    },
    async warm(request) {
      if (closed) return { warm: false, reason: "The sandbox is closed." };
      if (request.network === true) return { warm: false, reason: "Code with a network starts cold." };
      const group = groupOf(request);
      if (group.refusal !== undefined && isRefused(group)) return { warm: false, reason: group.refusal.reason };
      return pruneClosed(group).length > 0 ? { warm: true } : starter.start(request, group);
    },
    problem: starter.problem,
    listRequests: () =>
      [...groups.values()]
        .filter((group) => pruneClosed(group).length + group.starting > 0)
        .map(({ request }) => request),
    figures: () => ({
      ...counted,
      lanes: [...groups.values()].reduce((sum, group) => sum + pruneClosed(group).length, 0),
    }),
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
function createStarter(deps: LanesDeps, groups: Map<string, Group>, onChange: () => void, counted: Counted) {
  let stopped = false;
  let problem: string | undefined;
  let tested: Promise<string[]> | undefined;

  const refuse = (group: Group) => (error: unknown) => {
    const reason = toReason(error);
    const isUnfit = error instanceof UnfitError;
    group.refusal = { reason, until: isUnfit ? Number.POSITIVE_INFINITY : Date.now() + RETRY_AFTER_MS };
    if (!isUnfit) problem = reason;
  };

  /** What was found is remembered; that nothing could be found out, as on a full disk, is not. */
  function testOnce(): Promise<string[]> {
    tested ??= deps.selfTest().catch((error: unknown) => {
      tested = undefined;
      throw error;
    });
    return tested;
  }

  async function start(request: LaneRequest, group: Group): Promise<Warmth> {
    group.starting += 1;
    try {
      await makeRoom(groups, group, deps.bounds.lanesMax, counted);
      const problems = await testOnce();
      if (problems.length > 0) throw new Error(`A lane is not confined: ${problems.join("; ")}.`);
      const lane = await startLane(
        {
          ...deps,
          settings: { ...deps.settings, ...request.runtime },
          lanesDir: deps.bounds.dir,
          onChange,
          onFailure: refuse(group),
          onServed: noteDuration(group),
        },
        request,
      );
      problem = undefined;
      if (stopped) await lane.close();
      else group.lanes.add(lane);
      return { warm: true };
    } catch (error) {
      if (!(error instanceof FullError)) refuse(group)(error);
      return { warm: false, reason: toReason(error) };
    } finally {
      group.starting -= 1;
      onChange();
    }
  }
  return {
    start,
    problem: () => problem,
    report: (error: unknown) => void (problem = toReason(error)),
    stop: () => void (stopped = true),
  };
}

function toReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
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
      for (const wake of [...waiting]) wake();
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

/** Every lane there may be is in use. */
class FullError extends Error {}

/** What is the same here may share a lane. Folders are named after their content. */
function toKey({ commitDir, environmentDir, runtime, entrypoint, kinds, limits }: LaneRequest): string {
  const files = Object.values(kinds).some((kind) => kind === "file" || kind === "file_list");
  return JSON.stringify([commitDir, environmentDir, runtime?.interpreter.path, entrypoint, files, limits]);
}

function isRefused({ refusal }: Group): boolean {
  return refusal !== undefined && refusal.until > Date.now();
}

function pruneClosed(group: Group): Lane[] {
  for (const lane of group.lanes) if (lane.state() === "closed") group.lanes.delete(lane);
  return [...group.lanes];
}

/** Closes waiting lanes of the least recently used code until there is room for one more. */
async function makeRoom(groups: Map<string, Group>, wanted: Group, lanesMax: number, counted: Counted): Promise<void> {
  const count = () => [...groups.values()].reduce((sum, group) => sum + pruneClosed(group).length + group.starting, 0);
  for (const group of groups.values()) {
    if (count() <= lanesMax) return;
    if (group === wanted) continue;
    for (const lane of group.lanes) if (lane.state() === "ready") await evict(lane, counted);
  }
  if (count() > lanesMax) throw new FullError(`All ${lanesMax} lanes of this host are in use.`);
}

async function evict(lane: Lane, counted: Counted): Promise<void> {
  counted.evicted += 1;
  await lane.close();
}

async function closeIdle(groups: Map<string, Group>, bounds: LaneSettings, counted: Counted): Promise<void> {
  let bytes = 0;
  let kept = 0;
  for (const [key, group] of [...groups].reverse()) {
    const idle = Date.now() - group.usedAt > bounds.idleMs;
    for (const lane of pruneClosed(group)) {
      if (lane.state() !== "ready") continue;
      const own = lane.measureBytes();
      bytes += own;
      if (idle || bytes > bounds.idleBytesMax) await evict(lane, counted);
      else kept += own;
    }
    // Whose lane is being started is not forgotten: nobody would know of that lane.
    if (idle && group.lanes.size + group.starting === 0 && group.refusal === undefined) groups.delete(key);
  }
  counted.bytes = kept;
}

/** Codes without a lane are kept only for what is known against them. */
function forgetOldest(groups: Map<string, Group>): void {
  if (groups.size <= GROUPS_MAX) return;
  for (const [key, group] of groups) {
    if (group.lanes.size === 0 && group.starting === 0) return void groups.delete(key);
  }
}
