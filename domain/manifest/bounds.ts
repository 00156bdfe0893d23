import type { Limits } from "./manifest.ts";

const MEBIBYTE = 1_048_576;

/** What an installation lets a manifest ask for. Sizes in bytes, times in seconds. */
export interface ManifestBounds {
  readonly configBytesMax: number;
  readonly inputsMax: number;
  readonly timeoutSecondsDefault: number;
  readonly timeoutSecondsMax: number;
  readonly memoryBytesDefault: number;
  readonly memoryBytesMin: number;
  readonly memoryBytesMax: number;
  readonly cpuDefault: number;
  readonly cpuMin: number;
  readonly cpuMax: number;
  /** Processes and threads together. */
  readonly processesDefault: number;
  readonly processesMin: number;
  readonly processesMax: number;
  /** Of each process. */
  readonly openFilesDefault: number;
  readonly openFilesMin: number;
  readonly openFilesMax: number;
  /** Of each scratch folder: the working folder, `/tmp` and `/dev/shm`. On disk, the first two together. */
  readonly scratchBytesDefault: number;
  readonly scratchBytesMax: number;
  /** Of one uploaded file: the default and the ceiling of `max_size`. */
  readonly fileBytesMax: number;
  /** Of one `file_list`: the default and the ceiling of `max_files`. */
  readonly filesMax: number;
  readonly attemptsMax: number;
  readonly executionsMax: number;
  readonly latenessSecondsMax: number;
  readonly jitterSecondsMax: number;
}

/**
 * The limits of design section 15; what it leaves open (cpu, attempts, lateness) is chosen here. The most of time, memory, cores,
 * processes, open files and scratch is the most that an operator can allow. An installation has its own, in `src/config.ts`.
 */
export const DEFAULT_BOUNDS: ManifestBounds = {
  configBytesMax: 65_536,
  inputsMax: 200,
  timeoutSecondsDefault: 300,
  timeoutSecondsMax: 86_400,
  memoryBytesDefault: 512_000_000,
  memoryBytesMin: 16 * MEBIBYTE,
  memoryBytesMax: 1_048_576 * MEBIBYTE,
  cpuDefault: 1,
  cpuMin: 0.1,
  cpuMax: 1_024,
  processesDefault: 64,
  processesMin: 8,
  processesMax: 4_096,
  openFilesDefault: 512,
  openFilesMin: 64,
  openFilesMax: 65_536,
  scratchBytesDefault: 256 * MEBIBYTE,
  scratchBytesMax: 1_048_576 * MEBIBYTE,
  fileBytesMax: 2_000_000_000,
  filesMax: 100,
  attemptsMax: 10,
  executionsMax: 1_000,
  latenessSecondsMax: 30 * 86_400,
  jitterSecondsMax: 3_600,
};

/** What of a commit's limits an installation gives its executions: the operator may have lowered a ceiling since it was published. */
export function limitsWithin(
  limits: { readonly timeoutSeconds: number; readonly cpu: number },
  { timeoutSecondsMax, cpuMax }: ManifestBounds = DEFAULT_BOUNDS,
): { readonly timeoutSeconds: number; readonly cpu: number } {
  return { timeoutSeconds: Math.min(limits.timeoutSeconds, timeoutSecondsMax), cpu: Math.min(limits.cpu, cpuMax) };
}

/**
 * Returns how many bytes of scratch folders a commit has on disk: more than its memory can hold, up to what the installation gives.
 * Zero where they are in memory.
 */
export function scratchOnDisk(
  { scratchBytes = 0, memoryBytes }: Pick<Limits, "scratchBytes" | "memoryBytes">,
  scratchBytesMax = DEFAULT_BOUNDS.scratchBytesMax,
): number {
  const bytes = Math.min(scratchBytes, scratchBytesMax);
  return scratchBytes > memoryBytes && bytes > DEFAULT_BOUNDS.scratchBytesDefault ? bytes : 0;
}

/** Lengths without `max_length`, and the most `max_length` may be. In characters. */
export const CHARACTERS = { string: 10_000, secret: 10_000, text: 1_000_000, max: 10_000_000 } as const;
