import { chownSync, lstatSync, opendirSync, readdirSync, readlinkSync, statSync } from "node:fs";
import type { Socket } from "node:net";
import type { User } from "../input-files.ts";
import { type MeasuredOutputs, measureOutputs, type OutputLimits, toMeasureBounds } from "../outputs.ts";
import { type EndPath, openEnds } from "../streams.ts";

/** An end of a pipe that another process has, to be opened anew by us. */
export interface PipeEnd {
  readonly pid: number;
  readonly descriptor: number;
  readonly end: EndPath["end"];
}

/** What an open descriptor leads to. */
export interface DescriptorStats {
  readonly kind: "file" | "socket" | "other";
  /** Names that it has. */
  readonly links: number;
  readonly device: number;
  readonly inode: number;
  /** Of 512 bytes. */
  readonly blocks: number;
}

/** What the service does with processes and files of a sandbox, whose kernel user may be another one than its own. */
export interface Reach {
  /** Opens ends of pipes for us. Rejects when one of them is no pipe, or not to be had. */
  openEnds(ends: readonly PipeEnd[]): Promise<Socket[]>;
  /** Lists of each process what its descriptors lead to, by descriptor; nothing of one that is gone. */
  listDescriptors(pids: readonly number[]): Promise<Readonly<Record<string, string>>[]>;
  /**
   * Returns what the descriptors of each process lead to. It is undefined where that cannot be read, and for a process
   * with more than are left of `max`.
   */
  statDescriptors(pids: readonly number[], max: number): Promise<(readonly DescriptorStats[] | undefined)[]>;
  /** Measures a folder that a program is writing to; see `measureOutputs`. */
  measureOutputs(folder: string, limits: OutputLimits): Promise<MeasuredOutputs>;
  /** Returns whether there is nothing in a folder. */
  isEmpty(folder: string): Promise<boolean>;
  /** Gives a file or folder to the sandbox's user. */
  own(path: string): Promise<void>;
  /** Lets the sandbox's user, and nobody else, pass through a folder of ours. */
  admit(folder: string): Promise<void>;
  /** Gives a tree of ours to the sandbox's user. */
  give(path: string): Promise<void>;
  /** Makes what `own` or `give` gave ours again, with all that is in it. Nobody must be changing it. */
  takeBack(path: string): Promise<void>;
}

/** For a sandbox of our own kernel user, and for root. */
export function createDirectReach(user: User): Reach {
  return {
    openEnds: async (ends) =>
      openEnds(ends.map(({ pid, descriptor, end }) => ({ path: `/proc/${pid}/fd/${descriptor}`, end }))),
    listDescriptors: async (pids) =>
      pids.map((pid) =>
        Object.fromEntries(
          readdirOrNothing(`/proc/${pid}/fd`).map((name) => [name, readLinkOrNothing(`/proc/${pid}/fd/${name}`)]),
        ),
      ),
    measureOutputs,
    isEmpty: async (folder) => isEmptyHere(folder),
    async statDescriptors(pids, max) {
      let left = max;
      return pids.map((pid) => {
        const found = statDescriptors(pid, left);
        left -= found?.length ?? 0;
        return found;
      });
    },
    own: async (path) => chownSync(path, user.uid, user.gid),
    admit: async () => undefined,
    give: async () => undefined,
    takeBack: async () => undefined,
  };
}

/** What the helper of this process id has said. */
export interface HelperReply {
  readonly value: unknown;
  readonly pid: number;
}

type Ask = (operation: string, request: Readonly<Record<string, unknown>>) => Promise<HelperReply>;

/** By the helper, for the user `id` of its namespace, who is `uid` for the host. `handOver` makes what is root's the service's. */
export function createHelperReach(
  ask: Ask,
  { id, uid: hostUid }: { readonly id: number; readonly uid: number },
  handOver: (path: string) => void,
): Reach {
  const own = async (path: string, uid: number) => {
    handOver(path);
    await ask("own", { paths: [path], uid, gid: id });
  };
  return {
    async openEnds(ends) {
      const wanted = ends.map(({ pid, descriptor, end }) => [pid, descriptor, end === "write"]);
      const { value, pid } = await ask("open", { ends: wanted });
      const descriptors = value as number[];
      try {
        return openEnds(ends.map(({ end }, index) => ({ path: `/proc/${pid}/fd/${descriptors[index]}`, end })));
      } finally {
        // Nobody waits for it: a helper that has ended has closed them, too.
        ask("close", { descriptors, pid }).catch(() => undefined);
      }
    },
    listDescriptors: async (pids) => (await ask("descriptors", { pids })).value as Record<string, string>[],
    async statDescriptors(pids, max) {
      const { value } = await ask("stat", { pids, max });
      return (value as (DescriptorStats[] | null)[]).map((each) => each ?? undefined);
    },
    async measureOutputs(path, limits) {
      const { value } = await ask("measure", { path, ...toMeasureBounds(limits) });
      return value as MeasuredOutputs;
    },
    isEmpty: async (path) => (await ask("is_empty", { path })).value === true,
    own: (path) => own(path, id),
    admit: (path) => own(path, -1),
    async give(path) {
      handOver(path);
      await ask("give", { path, to: id });
    },
    async takeBack(path) {
      // The top is taken last, so one that is not the sandbox's has been taken, or was never given.
      if (lstatSync(path, { throwIfNoEntry: false })?.uid === hostUid) await ask("give", { path, to: 0 });
    },
  };
}

function isEmptyHere(folder: string): boolean {
  const entries = opendirSync(folder);
  try {
    return entries.readSync() === null;
  } finally {
    entries.closeSync();
  }
}

function statDescriptors(pid: number, max: number): DescriptorStats[] | undefined {
  try {
    const names = readdirSync(`/proc/${pid}/fd`);
    if (names.length > max) return undefined;
    return names.flatMap((name) => {
      const stats = statOrNothing(`/proc/${pid}/fd/${name}`);
      if (stats === undefined) return [];
      const kind = stats.isFile() ? "file" : stats.isSocket() ? "socket" : "other";
      return [{ kind, links: stats.nlink, device: stats.dev, inode: stats.ino, blocks: stats.blocks }] as const;
    });
  } catch {
    return undefined; // It ended meanwhile, or hides them.
  }
}

function statOrNothing(path: string) {
  try {
    return statSync(path);
  } catch {
    return undefined; // It was closed meanwhile.
  }
}

function readdirOrNothing(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return []; // It ended meanwhile.
  }
}

/** Nothing: it was closed meanwhile. */
function readLinkOrNothing(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
