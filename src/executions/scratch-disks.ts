import { DEFAULT_BOUNDS } from "../../domain/manifest/bounds.ts";
import { formatSize } from "../../domain/manifest/sizes.ts";
import type { DiskRoom } from "../../sandbox/disk-room.ts";
import { DISKS_NEED, scratchRoomOf } from "../../sandbox/run-disks.ts";

/** What this host can give programs of scratch folders on disk. */
export interface ScratchDisks {
  /** Why it gives none of any size. */
  readonly problem: string | undefined;
  /** The most that the operator allows; zero where memory can hold it. */
  readonly ceiling: number;
  /** Returns the most that a program could have here if it were the only one; undefined where the operator allows none. */
  bytesMax(): number | undefined;
  /** Returns why no program can have so many bytes here; undefined when one can. */
  problemOf(bytes: number): string | undefined;
}

/**
 * Returns what a host can give. `disksProblem` says why there are no disks, and `isInGvisor` whether programs run where none
 * can be mounted.
 */
export function createScratchDisks(given: {
  readonly room: Pick<DiskRoom, "scratchRoom">;
  /** The setting of the operator, in bytes. */
  readonly scratchBytesMax: number;
  readonly disksProblem: string | undefined;
  readonly isInGvisor: boolean;
}): ScratchDisks {
  const { room, scratchBytesMax, disksProblem, isInGvisor } = given;
  const isAllowed = scratchBytesMax > DEFAULT_BOUNDS.scratchBytesDefault;
  const problem = isAllowed ? findProblem(disksProblem, isInGvisor) : undefined;
  const bytesMax = (): number | undefined => (isAllowed ? scratchRoomOf(room.scratchRoom()) : undefined);
  return {
    problem,
    ceiling: isAllowed ? scratchBytesMax : 0,
    bytesMax,
    problemOf: (bytes) => problem ?? findScratchLack(Math.min(bytes, scratchBytesMax), bytesMax()),
  };
}

function findProblem(disksProblem: string | undefined, isInGvisor: boolean): string | undefined {
  if (isInGvisor) return "Programs in gVisor have none. They need a host without TREADLE_SANDBOX_RUNTIME=runsc.";
  return disksProblem && `There are no disks for programs: ${disksProblem}. ${DISKS_NEED}`;
}

/** Returns why a host that could give one program `bytesMax` cannot give `bytes`. */
export function findScratchLack(bytes: number, bytesMax: number | undefined): string | undefined {
  if (bytesMax === undefined || bytes <= bytesMax) return undefined;
  return `Its disk has room for ${formatSize(bytesMax)} of scratch files beside the outputs of all programs, and this workflow may write ${formatSize(bytes)}.`;
}
