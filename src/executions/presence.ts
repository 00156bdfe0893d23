import type { Db } from "../../db/connect.ts";
import { endPresence, type HostLacks, listHostLacks, notePresence } from "../../db/executions/hosts.ts";
import { type Repeating, repeat } from "../../system/repeating.ts";
import { withTimeout } from "../../system/with-timeout.ts";
import type { Log } from "../log.ts";
import { findLack, type HostedCommit, type OwnLacks } from "./host-lacks.ts";

/** How long a host counts as there after it has said so; sooner where hosts are given up sooner. */
const PRESENT_SECONDS = 60;
/** How often it says so meanwhile. */
const SAYINGS = 6;
/** A database that is away must not keep a process that stops. */
const END_MS_MAX = 1_000;
/** Short enough that callers soon see what was mended. */
const LOOK_EVERY_MS = 2_000;

/** Returns how long a host counts as there after it has said so, in seconds. */
export const presentSecondsOf = (hostGoneSeconds: number): number => Math.min(PRESENT_SECONDS, hostGoneSeconds);

/** Keeps saying that this host is there, and what programs lack on it, until it is closed. */
export function startPresence(deps: {
  db: Db;
  hostId: string;
  processId: string;
  hostGoneSeconds: number;
  /** Undefined where no programs are run. */
  lacks: Pick<OwnLacks, "list"> | undefined;
  log: Log;
}): Repeating {
  const { db, hostId, processId, lacks } = deps;
  const seconds = presentSecondsOf(deps.hostGoneSeconds);
  const saying = repeat(
    async () => {
      await notePresence(db, { hostId, processId, seconds, lacks: lacks?.list() ?? null });
      return false;
    },
    {
      everyMs: (seconds * 1000) / SAYINGS,
      onError: (error) => deps.log.warn({ event: "fault", error }, "The presence of this host could not be recorded."),
    },
  );
  return {
    async close() {
      await saying.close();
      const ended = endPresence(db, { hostId, processId }).catch(() => undefined); // It ends by itself, later.
      await withTimeout(ended, END_MS_MAX, () => undefined);
    },
  };
}

/** What the hosts that run programs say they lack, as a process knows it that runs none. */
export interface WorkersWatch extends Repeating {
  /** Returns why no host can begin a program of a commit; undefined where one can, and where no host is known. */
  problemOf(commit: HostedCommit): string | undefined;
  /** Returns why no host can give a program a network; undefined where one can, and where no host is known. */
  networkProblem(): string | undefined;
}

/** Looks every two seconds what the hosts that run programs lack. */
export function watchWorkers({ db, log }: { db: Db; log: Log }): WorkersWatch {
  let known: readonly HostLacks[] = [];
  const looking = repeat(
    async () => {
      known = await listHostLacks(db);
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
  const findShared = (find: (lacks: HostLacks) => string | undefined): string | undefined => {
    const problems = known.map(find);
    return problems.includes(undefined) ? undefined : problems[0];
  };
  return {
    close: looking.close,
    problemOf(commit) {
      const problem = findShared((lacks) => findLack(lacks, commit));
      return problem && `No worker can run it. One says: ${problem}`;
    },
    networkProblem: () => findShared((lacks) => lacks.networkProblem ?? undefined),
  };
}
