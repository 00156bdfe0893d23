import type { RunCommit } from "../../activities/lead.ts";
import type { Db } from "../../db/connect.ts";
import {
  endPresence,
  type HostCeilings,
  type HostPrograms,
  type HostRow,
  type HostWord,
  listHosts,
  listWaiting,
  notePresence,
  type Waiting,
} from "../../db/executions/hosts.ts";
import type { AccountId } from "../../domain/ids.ts";
import { type Repeating, repeat } from "../../system/repeating.ts";
import { withTimeout } from "../../system/with-timeout.ts";
import type { Log } from "../log.ts";
import { findHighest, givesMost } from "./ceilings.ts";
import { findLack } from "./host-lacks.ts";

/** How long a host counts as there after it has said so; sooner where hosts are given up sooner. */
const PRESENT_SECONDS = 60;
/** How often it says so meanwhile: every five seconds. */
const SAYINGS = 12;
/** A database that is away must not keep a process that stops. */
const END_MS_MAX = 1_000;
/** Short enough that callers soon see what was mended. */
const LOOK_EVERY_MS = 2_000;

/** Returns how long a host counts as there after it has said so, in seconds. */
export const presentSecondsOf = (hostGoneSeconds: number): number => Math.min(PRESENT_SECONDS, hostGoneSeconds);

/** Keeps saying that this host is there. */
export interface Presence extends Repeating {
  /** Reports it now: something has changed that others should know. Never rejects. */
  now(): Promise<void>;
}

/** Keeps saying that this host is there, and what it offers to programs, until it is closed. */
export function startPresence(deps: {
  db: Db;
  hostId: string;
  processId: string;
  hostGoneSeconds: number;
  findWord: () => Promise<HostWord>;
  log: Log;
}): Presence {
  const { db, hostId, processId } = deps;
  const seconds = presentSecondsOf(deps.hostGoneSeconds);
  const saying = repeat(
    async () => {
      await notePresence(db, { hostId, processId, seconds, word: await deps.findWord() });
      return false;
    },
    {
      everyMs: (seconds * 1000) / SAYINGS,
      onError: (error) => deps.log.warn({ event: "fault", error }, "The presence of this host could not be recorded."),
    },
  );
  return {
    now: saying.now,
    async close() {
      await saying.close();
      const ended = endPresence(db, { hostId, processId }).catch(() => undefined); // It ends by itself, later.
      await withTimeout(ended, END_MS_MAX, () => undefined);
    },
  };
}

/** The hosts that run programs, as a process knows them that runs none. */
export interface WorkersWatch extends Repeating {
  /** Returns why no host can begin a program of a commit; undefined where one can, and where no host is known. */
  problemOf(commit: RunCommit): string | undefined;
  /** Returns why no host can give a program a network; undefined where one can, and where no host is known. */
  networkProblem(): string | undefined;
  /** Lists the versions of Python that some host has; undefined where no host is known. */
  pythons(): readonly string[] | undefined;
  /** Returns the most that a program gets on any of them; undefined where no host has said. */
  ceilings(): HostCeilings | undefined;
  /** Returns why no host can give a program scratch folders on disk; undefined where one can, and where no host is known. */
  scratchProblem(): string | undefined;
  /**
   * Lists the hosts that can run a program of a commit, as far as they have said. Where it gets more on some, only these, and of these
   * only those where nothing waits, if there are any.
   */
  listOpen(commit: RunCommit): readonly string[];
  /** Returns whether nothing waits on one of those. */
  hasFree(commit: RunCommit): boolean;
  /** Returns how many programs run at a time on all of them; undefined where no host is known. */
  slots(): number | undefined;
  /** Returns how many executions wait for a slot: of one account, or of all. */
  waiting(accountId?: AccountId): number;
}

/** Looks every two seconds at the hosts that run programs, and at what waits for them. */
export function watchWorkers({ db, log }: { db: Db; log: Log }): WorkersWatch {
  let known: readonly HostRow[] = [];
  let waiting: readonly Waiting[] = [];
  const looking = repeat(
    async () => {
      const [hosts, counts] = await Promise.all([listHosts(db), listWaiting(db)]);
      known = hosts.filter(({ present, programs }) => present && programs !== null);
      waiting = counts;
      return false;
    },
    {
      everyMs: LOOK_EVERY_MS,
      onError: (error) => {
        known = [];
        log.warn({ event: "fault", error }, "It could not be looked at what programs lack on the workers.");
      },
    },
  );
  const findShared = (find: (programs: HostPrograms) => string | undefined): string | undefined => {
    const problems = known.map(({ programs }) => programs && find(programs));
    return problems.includes(undefined) ? undefined : (problems[0] ?? undefined);
  };
  const listAble = (commit: RunCommit): { readonly hostId: string; readonly waiting: number }[] => {
    const highest = findHighest(known);
    return known.flatMap(({ hostId, draining, programs }) =>
      programs !== null &&
      !draining &&
      findLack(programs, commit) === undefined &&
      givesMost(programs.offers, commit.manifest.limits, highest)
        ? [{ hostId, waiting: programs.waiting }]
        : [],
    );
  };
  const isFree = ({ waiting }: { readonly waiting: number }): boolean => waiting === 0;
  return {
    close: looking.close,
    problemOf(commit) {
      const problem = findShared((programs) => findLack(programs, commit));
      return problem && `No worker can run it. One says: ${problem}`;
    },
    listOpen(commit) {
      const able = listAble(commit);
      const free = able.filter(isFree);
      return (free.length > 0 ? free : able).map(({ hostId }) => hostId);
    },
    hasFree: (commit) => listAble(commit).some(isFree),
    networkProblem: () => findShared(({ lacks }) => lacks.networkProblem ?? undefined),
    scratchProblem: () => findShared(({ lacks }) => lacks.scratchProblem ?? undefined),
    pythons: () =>
      known.length === 0 ? undefined : [...new Set(known.flatMap(({ programs }) => programs?.offers.pythons ?? []))],
    ceilings: () => findHighest(known),
    slots() {
      // Each worker may be about to stop, in a rolling restart: others come.
      if (known.length === 0) return undefined;
      const open = known.filter(({ draining }) => !draining);
      return Math.max(
        1,
        open.reduce((sum, { programs }) => sum + (programs?.slots ?? 0), 0),
      );
    },
    waiting: (accountId) =>
      waiting.reduce((sum, one) => (accountId === undefined || one.accountId === accountId ? sum + one.count : sum), 0),
  };
}
