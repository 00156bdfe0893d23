import { messageOf } from "../../domain/message-of.ts";
import type { LaneFolders } from "../bubblewrap.ts";
import type { Cgroup } from "../cgroup.ts";
import type { Network } from "../network/network.ts";
import { measureProcessorMs, runsCode } from "../process-tree.ts";
import type { Reach } from "../users/reach.ts";
import { areEmpty, type Fork, holdsStrangers, makeForkFolders, openFork } from "./fork.ts";
import {
  checkConfinement,
  hasAddresses,
  readForeignNamespaces,
  readNetworkMarks,
  stopZygote,
  UnfitError,
} from "./guard.ts";
import { type LaneUse, measureLane } from "./lane-meter.ts";
import type { Zygote } from "./zygote.ts";

/** Nobody pays for it: a fork takes 10 ms as a rule, and nothing while it waits. */
const FORK_PROCESSOR_MS_MAX = 1_000;
const WAITING_PROCESSOR_MS_MAX = 200;
const FORK_TIMEOUT_MS = 10_000;
/** Of a lane in which nothing ran, every so manieth look measures it all the same. Measuring reads a dozen files of the kernel. */
const IDLE_LOOKS = 10;
/** Address space layout and hash seed are those of the zygote, so it is renewed now and then. */
const EXECUTIONS_MAX = 500;
/**
 * Of them, after which its successor is started, so that nobody waits for that. The last hundred of 500 take two seconds
 * where a host does nothing else, and pandas is imported in less than one.
 */
const WORN_AT = 0.8;

/** A lane that did its work and must not do more, or whose network has ended. */
export class UsedUpError extends Error {}

/** The forks of a lane, one after the other. */
export interface Forks {
  /** The last one that was made. */
  current(): Fork;
  /** Memory of the lane that would be free without it, when it was last measured. */
  bytes(): number;
  /** Makes the next one, which is answered with the zygote stopped. Throws UnfitError, UsedUpError and faults of ours. */
  makeNext(): Promise<void>;
  /** Measures the lane while a fork waits. Returns an error when packages work in it then. */
  look(): UnfitError | undefined;
  /** Whether so many were made that another lane should stand ready. */
  areWorn(): boolean;
  /** Whether no more are to be made. */
  areUsedUp(): boolean;
  /** Whether the last one has the network that it should have. */
  isConnected(): boolean;
}

export interface ForkParts {
  readonly zygote: Zygote;
  readonly pid: number;
  readonly cgroup: Cgroup | undefined;
  readonly folders: LaneFolders;
  readonly reach: Reach;
  readonly executionsMax: number | undefined;
  /** Where each fork is to have a network. */
  readonly network: Pick<Network, "attach"> | undefined;
}

/** Makes the first fork of a zygote that is warm. Throws as `makeNext` does. */
export async function openForks(parts: ForkParts): Promise<Forks> {
  const { pid, cgroup, executionsMax = EXECUTIONS_MAX } = parts;
  const make = createForkMaker(parts);
  let { fork, use } = await make();
  let count = 1;
  let [lastActivity, idleLooks]: [string | undefined, number] = [undefined, 0];
  return {
    current: () => fork,
    bytes: () => use.bytes,
    async makeNext() {
      count += 1;
      try {
        ({ fork, use } = await make());
      } catch (error) {
        // It is seen here before its end is heard of. What failed says nothing of the packages then.
        throw runsCode(pid) ? error : new UsedUpError("The lane's zygote was killed.", { cause: error });
      }
    },
    look() {
      const activity = cgroup?.readActivity();
      if (activity !== undefined && activity === lastActivity && ++idleLooks % IDLE_LOOKS !== 0) return undefined;
      lastActivity = activity;
      const { bytes, processorMs } = measureLane(pid, cgroup);
      use = { bytes, processorMs: use.processorMs };
      const hasWorked = processorMs - use.processorMs > WAITING_PROCESSOR_MS_MAX;
      return hasWorked ? new UnfitError("A package works while no execution is asked for.") : undefined;
    },
    areWorn: () => count > executionsMax * WORN_AT,
    areUsedUp: () => count >= executionsMax,
    isConnected: () => fork.link?.isUsable !== false,
  };
}

interface Made {
  readonly fork: Fork;
  readonly use: LaneUse;
}

function createForkMaker(parts: ForkParts): () => Promise<Made> {
  const { zygote, pid, cgroup, reach, network } = parts;
  const unusedNetwork = readNetworkMarks(pid);
  const foreign = readForeignNamespaces(pid, network !== undefined);
  let number = 0;
  return async () => {
    if (readNetworkMarks(pid) !== unusedNetwork) throw new UsedUpError("An execution has used the lane's network.");
    const processorMs = measureProcessorMs([pid]);
    const folders = await makeForkFolders(parts.folders, ++number, reach);
    zygote.fork(number);
    process.kill(pid, "SIGCONT");
    const event = await zygote.next(FORK_TIMEOUT_MS);
    if (event.type !== "forked") throw new Error(`A lane could not fork. ${zygote.said()}`);
    const processes = await stopZygote(pid, reach);
    checkConfinement(processes, foreign);
    if (holdsStrangers(parts.folders, [String(number)]) || !(await areEmpty(folders, reach))) throw keepsFiles();
    const use = measureLane(pid, cgroup, [pid, processes.first, processes.user]);
    if (use.processorMs - processorMs > FORK_PROCESSOR_MS_MAX)
      throw new UnfitError("A package works for more than a second when the interpreter is forked.");
    const link = network && (await attachFork(network, processes.first, unusedNetwork));
    cgroup?.setShare("new");
    return { fork: await openFork(processes, event.descriptors, { folders, reach, link }), use };
  };
}

/** Nothing in a fork has rights over its network any more, so that what is seen here stays as it is. */
async function attachFork(network: Pick<Network, "attach">, pid: number, unused: string) {
  if (readNetworkMarks(pid) !== unused || hasAddresses(pid))
    throw new UnfitError("A package changes the network of executions.");
  return network.attach(pid).catch((error: unknown) => {
    throw new UsedUpError(`The fork got no network. ${messageOf(error)}`);
  });
}

/** The error of a code whose packages write where only its executions may. */
export function keepsFiles(): UnfitError {
  return new UnfitError("A package writes to the folder that outputs of its executions come to.");
}
