import { statfsSync } from "node:fs";
import { formatSize } from "../domain/manifest/sizes.ts";
import type { Slots } from "../system/slots.ts";

/** Kept free for everybody else on the disk: PostgreSQL and Temporal stop where they cannot write. */
export const DISK_RESERVE_BYTES = 256 * 1024 * 1024;
/** Room appears without anybody telling us: files are moved, other programs delete theirs. */
const LOOK_EVERY_MS = 500;
/** A share smaller than this cannot have filled a disk. */
const SUSPICION_BYTES_MIN = 1024 * 1024;
/** What ending a program frees is free by then; another one is not ended for the same bytes. */
const ENDING_MS = 3_000;

/** The part of the disk that one program may take. */
export interface DiskShare {
  /** Notes what the program was seen to hold; `mayHide` where it could hold more. Returns whether the disk is so full that it must end. */
  note(seen: { readonly bytes: number; readonly scratchBytes?: number; readonly mayHide: boolean }): boolean;
  release(): void;
}

/** Room on the disk of outputs, promised to programs before they begin. */
export interface DiskRoom {
  /**
   * Resolves when `bytes` more fit beside everything that is promised, in the order of asking; undefined when the signal came first.
   * With `scratchBytes` besides, it leaves room for the outputs of every other program that may run, and lets others pass.
   */
  reserve(bytes: number, signal?: AbortSignal, scratchBytes?: number): Promise<DiskShare | undefined>;
  /** The same at this moment or not at all. */
  reserveNow(bytes: number): DiskShare | undefined;
  /** Why a program of so many bytes could not begin if it were the only one; undefined when it could. */
  problem(bytes: number): string | undefined;
  /** Returns the most that a program's disk of scratch folders may take if it were the only one. Below zero where outputs lack room. */
  scratchRoom(): number;
  /** How many wait for room. */
  waiting(): number;
}

/** What is known of one share. */
export interface ShareState {
  /** What it may take at most, and what it was seen to hold. */
  readonly bytesMax: number;
  readonly seen: number;
  /** The part of that which is free again when it has ended. */
  readonly passing: number;
  readonly mayHide: boolean;
  /** Free space of the disk when it began. */
  readonly freeAtStart: number;
}

/** Returns the bytes that nobody has been promised: what is free, without the reserve and what others may still write. */
export function countRoom(free: number, reserve: number, shares: readonly ShareState[]): number {
  return shares.reduce((room, { bytesMax, seen }) => room - Math.max(0, bytesMax - seen), free - reserve);
}

/**
 * Returns the share to end on a disk with less than `reserve` free: the one that holds most. Space that went while a share
 * was there and that nobody is seen to hold counts against those that could hide it. Undefined when none holds a part worth
 * the name: a quarter of what is left.
 */
export function findSuspect<Share extends ShareState>(
  free: number,
  reserve: number,
  shares: readonly Share[],
): Share | undefined {
  if (free >= reserve) return undefined;
  const seen = shares.reduce((sum, share) => sum + share.seen, 0);
  const suspicion = (share: ShareState) =>
    share.seen + (share.mayHide ? Math.max(0, share.freeAtStart - free - seen) : 0);
  const [first, ...others] = shares;
  if (first === undefined) return undefined;
  const most = others.reduce((worst, share) => (suspicion(share) > suspicion(worst) ? share : worst), first);
  return suspicion(most) >= Math.max(SUSPICION_BYTES_MIN, free / 4) ? most : undefined;
}

type Known = { -readonly [Name in keyof ShareState]: ShareState[Name] };

interface Place {
  readonly bytes: number;
  readonly begin: () => void;
}

/** Takes the last place of a queue until it may begin, or `signal` aborts. */
function waitIn(
  places: Place[],
  bytes: number,
  { signal, open }: { readonly signal: AbortSignal | undefined; readonly open: (bytes: number) => DiskShare },
): Promise<DiskShare | undefined> {
  return new Promise((resolve) => {
    const leave = (): void => {
      places.splice(places.indexOf(place), 1);
      resolve(undefined);
    };
    const place = {
      bytes,
      begin() {
        signal?.removeEventListener("abort", leave);
        resolve(open(bytes));
      },
    };
    signal?.addEventListener("abort", leave, { once: true });
    places.push(place);
  });
}

/**
 * Gives out the disk that holds `dir` to at most `programsMax` programs, each with up to `outputBytes` of outputs. `readFree` and `reserve`
 * (bytes) are for tests on small disks.
 */
export function createDiskRoom(
  dir: string,
  {
    readFree = () => readFreeBytes(dir),
    reserve = DISK_RESERVE_BYTES,
    lookEveryMs = LOOK_EVERY_MS,
    programsMax = 1,
    outputBytes = 0,
  } = {},
): DiskRoom {
  const shares = new Set<Known>();
  const queue: Place[] = [];
  const large: Place[] = [];
  let ending: { readonly share: Known; readonly since: number } | undefined;
  let timer: NodeJS.Timeout | undefined;

  /** What every other program that may run could still ask for: gigabytes of scratch must not keep it from beginning. */
  const keptFree = (): number => Math.max(0, programsMax - 1 - shares.size) * outputBytes;
  const letInFrom = (places: Place[], kept: () => number): void => {
    for (let next = places[0]; next !== undefined; next = places[0]) {
      if (countRoom(readFree(), reserve, [...shares]) - kept() < next.bytes) break;
      places.shift();
      next.begin();
    }
  };
  const letIn = (): void => {
    clearTimeout(timer);
    letInFrom(queue, () => 0);
    if (queue.length === 0) letInFrom(large, keptFree);
    if (queue.length + large.length > 0) timer = setTimeout(letIn, lookEveryMs).unref();
  };
  const isOneEnding = (): boolean =>
    ending !== undefined && shares.has(ending.share) && performance.now() - ending.since < ENDING_MS;

  function open(bytesMax: number): DiskShare {
    const share: Known = { bytesMax, seen: 0, passing: 0, mayHide: false, freeAtStart: readFree() };
    shares.add(share);
    return {
      note({ bytes, scratchBytes = 0, mayHide }) {
        share.seen = bytes;
        share.passing = scratchBytes;
        share.mayHide = mayHide;
        if (isOneEnding() || findSuspect(readFree(), reserve, [...shares]) !== share) return false;
        ending = { share, since: performance.now() };
        return true;
      },
      release() {
        if (shares.delete(share)) letIn();
      },
    };
  }

  return {
    async reserve(outputs, signal, scratchBytes = 0) {
      if (signal?.aborted === true) return undefined;
      const begun = waitIn(scratchBytes > 0 ? large : queue, outputs + scratchBytes, { signal, open });
      letIn();
      return begun;
    },
    reserveNow: (bytes) =>
      queue.length === 0 && countRoom(readFree(), reserve, [...shares]) >= bytes ? open(bytes) : undefined,
    problem(bytes) {
      const room = readFree() - reserve;
      if (room >= bytes) return undefined;
      return `The disk has room for ${formatSize(Math.max(0, room))} of outputs, and an execution may make ${formatSize(bytes)} (TREADLE_OUTPUT_BYTES_MAX and TREADLE_LOG_BYTES_MAX).`;
    },
    scratchRoom: () =>
      [...shares].reduce((room, { passing }) => room + passing, readFree() - reserve) - programsMax * outputBytes,
    waiting: () => queue.length + large.length,
  };
}

/**
 * Slots whose taker also has `bytes` of the disk, or waits for them in its place, and what its disk of scratch folders takes. `takeNow` is for
 * those without one. `shareOf` returns the share that the one named in `take` has.
 */
export function withDiskRoom(
  slots: Slots,
  room: DiskRoom,
  bytes: number,
  findScratchBytes: (id: string) => Promise<number> = async () => 0,
): Slots & { shareOf(id: string): DiskShare | undefined } {
  const shares = new Map<string, DiskShare>();
  function join(id: string, giveBack: () => void, share: DiskShare | undefined): (() => void) | undefined {
    if (share === undefined) {
      giveBack();
      return undefined;
    }
    shares.set(id, share);
    return () => {
      if (shares.get(id) === share) shares.delete(id);
      share.release();
      giveBack();
    };
  }
  return {
    waiting: slots.waiting,
    placeOf: slots.placeOf,
    async take(use, signal) {
      const giveBack = await slots.take(use, signal);
      if (giveBack === undefined) return undefined;
      try {
        return join(use.id, giveBack, await room.reserve(bytes, signal, await findScratchBytes(use.id)));
      } catch (error) {
        giveBack();
        throw error;
      }
    },
    takeNow(use) {
      const giveBack = slots.takeNow(use);
      return giveBack && join(use.id, giveBack, room.reserveNow(bytes));
    },
    shareOf: (id) => shares.get(id),
  };
}

function readFreeBytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}
