import type { Destination } from "../domain/destinations.ts";
import type { PythonOutcome } from "../domain/execution.ts";
import type { AccountId } from "../domain/ids.ts";
import type { JsonTexts } from "../domain/manifest/json-text.ts";
import type { JsonValue } from "../domain/manifest/json-values.ts";
import type { InputKind, Manifest } from "../domain/manifest/manifest.ts";
import type { RemoveTree } from "../system/trees/remove-tree.ts";
import type { DiskShare } from "./disk-room.ts";
import type { Interpreter } from "./interpreter.ts";
import type { Network } from "./network/network.ts";
import type { RunDisks } from "./run-disks.ts";

/** What one execution may use. As a setting of the service: what one execution may ask for. */
/** RLIMIT_DATA counts address space that was never touched too; what is touched, the watchdog counts. */
const DATA_SLACK_BYTES = 128 * 1024 * 1024;

/** Signals that wait, and timers. Those of all sandboxes together count against the service's user, who has 10,000 and more. */
export const SIGNALS_MAX = 256;

export interface SandboxLimits {
  /** Wall time of the user's code and of its packages', from the moment when they can first run. */
  readonly timeoutSeconds: number;
  /** Everything the process tree holds, its scratch folders included. */
  readonly memoryBytes: number;
  /** Cores. */
  readonly cpu: number;
  /** Processes and threads together. */
  readonly processes: number;
  readonly openFiles: number;
  readonly fileBytesMax: number;
  /** Each of the scratch folders: the working folder, `/tmp` and `/dev/shm`. On disk: the first two together. */
  readonly scratchBytes: number;
  readonly outputBytesMax: number;
  readonly outputFilesMax: number;
  readonly logBytesMax: number;
}

/** How much data one process may have where no cgroup counts the memory of all. */
export function toDataBytes({ memoryBytes }: Pick<SandboxLimits, "memoryBytes">): number {
  return memoryBytes + DATA_SLACK_BYTES;
}

/** An interpreter, and the runner as it was compiled for it. */
export interface Runtime {
  readonly interpreter: Interpreter;
  /** Made by `prepareRunnerFolder`; readable by the user that sandboxes run as. */
  readonly runnerDir: string;
}

/** How many lanes a host keeps, and for how long. Without these settings every execution starts cold. */
export interface LaneSettings {
  /** Existing, on the file system of spool and storage, passable for the sandbox's user; each lane has a folder in it. */
  readonly dir: string;
  readonly lanesMax: number;
  /** Memory of all lanes that serve no execution; those used least recently go first. One that holds more by itself is not kept. */
  readonly idleBytesMax: number;
  /** A lane that had nothing to do for this long is closed. */
  readonly idleMs: number;
  /** How often memory, idle time and what packages do meanwhile are looked at; every second unless given. */
  readonly lookEveryMs?: number;
  /**
   * How long lanes of one code may take to start at once, and those that `warm` makes for one account. After that they may for a
   * tenth of the time. A minute unless given.
   */
  readonly startBurstSeconds?: number;
  /** How long code starts cold after a lane of it failed in a way that may be the host's fault; a minute unless given. */
  readonly retryAfterMs?: number;
  /** How many executions a lane serves at most; 500 unless given. */
  readonly executionsMax?: number;
}

export interface GvisorSettings {
  /** Absolute path of the program `runsc`, which the sandbox's user can start. */
  readonly runscPath: string;
}

/** The runtime is that of requests that name no other. */
export interface SandboxSettings extends Runtime {
  readonly isolation: "bubblewrap" | "none";
  readonly bwrapPath: string;
  /** Sandboxes that are started ahead of executions; two unless given. */
  readonly spares?: number | undefined;
  /** The kernel user of every sandbox; required when the service is root, impossible otherwise. */
  readonly runAs?: { readonly uid: number; readonly gid: number } | undefined;
  readonly limits: SandboxLimits;
  readonly lanes?: LaneSettings | undefined;
  /** How what executions leave is removed; `removeTree` unless given. */
  readonly removeTree?: RemoveTree | undefined;
  /** What programs write their outputs to, so that the kernel bounds them; without, the folder of the spool, where they are measured. */
  readonly disks?: RunDisks | undefined;
  /** Set where every program runs in gVisor, inside of bubblewrap: cold, and without a network. */
  readonly gvisor?: GvisorSettings | undefined;
  /** For executions that ask for one. Without it they are refused. */
  readonly network?: Pick<Network, "take" | "place" | "attach" | "confine" | "follow" | "problem"> | undefined;
}

export interface InputFiles {
  readonly input: string;
  /** Whether the input is a `file_list`. */
  readonly list: boolean;
  readonly files: readonly { readonly path: string; readonly fileName: string }[];
}

export interface SandboxRequest {
  readonly executionId: string;
  /** Lanes are shared out between accounts. Requests without one count as one account. */
  readonly accountId?: AccountId;
  /** Folder with the commit's files; read-only for the sandbox. */
  readonly commitDir: string;
  /** Folder like a virtual environment, with `lib/pythonX.Y/site-packages`. */
  readonly environmentDir: string | null;
  /** What the code runs with, when it is not the sandbox's own; the environment was made for it. */
  readonly runtime?: Runtime | undefined;
  /** Path inside the commit, with forward slashes. */
  readonly entrypoint: string;
  /** Existing, of this execution only, empty but for the log of earlier attempts: `outputs/`, `inputs/` and `log.ndjson` are made in it. */
  readonly spoolDir: string;
  /** Of an attempt after the first: what its log begins with, and the id that its lines are above. */
  readonly logStart?: { readonly note: string; readonly idsAfter: number } | undefined;
  /** Every value that is not a file. An input that was not given is absent or null. */
  readonly inputs: Readonly<Record<string, JsonValue>>;
  /** Those of kind `json` as JSON texts, which count instead of their values. */
  readonly inputTexts?: JsonTexts;
  /** Every declared input. */
  readonly kinds: Readonly<Record<string, InputKind>>;
  /** Of the environment of the program's own process, beside those of every sandbox. */
  readonly variables?: Readonly<Record<string, string>> | undefined;
  /** Texts that are masked in its log, its progress and the message of its end. */
  readonly secrets?: readonly string[] | undefined;
  readonly files: readonly InputFiles[];
  /** The entrypoint is a script, which gets the inputs as the arguments that this parser of its own reads. */
  readonly arguments?: Manifest["arguments"] | undefined;
  readonly declaredOutputs: readonly string[] | null;
  /** Whether it may reach the internet; a list: these destinations, and nothing else. */
  readonly network?: boolean | readonly Destination[];
  /** What the commit says of its environment: see `LaneVariables`. */
  readonly laneVariables?: LaneVariables | undefined;
  readonly limits: SandboxLimits;
  /** Outputs with so many bytes together at most may be returned as their contents instead of files, and so may a short log. 0 unless given. */
  readonly heldBytesMax?: number | undefined;
  /** True: the working folder and `/tmp` are on a disk of their own, and not in memory. Such an execution starts cold. */
  readonly isScratchOnDisk?: boolean | undefined;
  /** True: it gets an interpreter of its own, and no lane is made for it. */
  readonly isCold?: boolean;
}

/** Returns whether a request asks for a network of any kind. */
export function wantsNetwork({ network = false }: Pick<SandboxRequest, "network">): boolean {
  return network !== false;
}

export interface CollectedOutput {
  readonly name: string;
  /** Path inside the outputs folder: what a person sees. */
  readonly fileName: string;
  /** Absolute path on the host of a plain file of its own. */
  readonly path: string;
  readonly bytes: number;
  /** Set where it is held: then there is no file at `path`. */
  readonly content?: Buffer | undefined;
}

/** The variables of a commit: some are the same in every run, and of the others the names are known. */
export interface LaneVariables {
  /** A lane's interpreter has them when it imports packages. */
  readonly fixed: Readonly<Record<string, string>>;
  /** A package that asks for one of these when it is imported cannot be imported ahead. */
  readonly perRun: readonly string[];
}

/** What decides which lane may serve an execution: its code and its limits, none of its inputs. */
export type LaneRequest = Pick<
  SandboxRequest,
  | "accountId"
  | "commitDir"
  | "environmentDir"
  | "runtime"
  | "entrypoint"
  | "kinds"
  | "limits"
  | "network"
  | "laneVariables"
  | "isScratchOnDisk"
>;

export type Warmth = { readonly warm: true } | { readonly warm: false; readonly reason: string };

export interface SandboxResult {
  readonly outcome: PythonOutcome;
  /** `lane`: a fork of an interpreter that had the packages imported; `cold`: an interpreter of its own. */
  readonly path: "cold" | "lane";
  readonly outputs: readonly CollectedOutput[];
  readonly logBytes: number;
  readonly logTruncated: boolean;
  /** All of it, where it is held: then there is no file. */
  readonly logText?: string | undefined;
}

/** `system` lines are the sandbox's own remarks: a log cut short, outputs left out. */
export type LogStream = "stdout" | "stderr" | "system";

export interface LogLine {
  /** Consecutive from 1; after a gap where the log of an earlier attempt is on another host. */
  readonly id: number;
  /** ISO 8601, UTC, milliseconds. */
  readonly time: string;
  readonly stream: LogStream;
  readonly text: string;
}

export interface Progress {
  /** From 0 to 1. */
  readonly fraction: number;
  /** At most 200 characters. */
  readonly message: string;
}

export interface SandboxWatch {
  /** Its part of the disk that outputs are on: ends the execution when the disk fills up and it holds most. */
  readonly disk?: DiskShare | undefined;
  /** Ends the execution as `cancelled`. */
  readonly signal?: AbortSignal | undefined;
  /** The clock has started: code of packages or of the user is about to run. Called again when a lane had died and the execution is launched anew. */
  readonly onStarted?: (() => void) | undefined;
  readonly onLine?: ((line: LogLine) => void) | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** The lanes of this host. */
export interface LaneFigures {
  readonly lanes: number;
  /** Memory of the lanes that wait for work, as it was measured in the last second. */
  readonly bytes: number;
  /** Closed so far to make room for others, to save memory, or because nobody used them. */
  readonly evicted: number;
}

export interface Sandbox {
  /**
   * Runs one execution; by the time it resolves no process of it is left. Every end of the user's code is a value.
   * Throws when the sandbox itself could not do its work; such a call may be repeated with an empty spool folder.
   */
  run(request: SandboxRequest, watch?: SandboxWatch): Promise<SandboxResult>;
  /** Makes a lane for executions of this code, unless there is one; says why not where it had better start cold. */
  warm(request: LaneRequest): Promise<Warmth>;
  /** Why no lane takes work, when that is so for all of them. */
  laneProblem(): string | undefined;
  laneFigures(): LaneFigures;
  /** The folders of commits and environments that executions under way and lanes have before them: they must stay. */
  usedFolders(): ReadonlySet<string>;
  /** Tries what user code must not be able to do. Returns what was possible; empty means isolated. */
  selfTest(): Promise<string[]>;
  /** Ends what is kept ready for the next execution; those under way go on. */
  close(): Promise<void>;
}
