import type { Connections } from "./connections.ts";
import type { MicroCredits } from "./credits.ts";
import type { AccountId, ExecutionId } from "./ids.ts";

export const TRIGGERS = ["api", "schedule", "form"] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** States of an execution: `queued`, `running`, then exactly one of the ends. */
export const EXECUTION_ENDS = ["success", "failed", "timed_out", "out_of_memory", "cancelled"] as const;
export type ExecutionEnd = (typeof EXECUTION_ENDS)[number];
export type ExecutionState = "queued" | "running" | ExecutionEnd;

/** What the Workflow Definition is started with. Small on purpose: it stands in the history for all who may look. */
export interface ExecutionInput {
  /** Wall time the user's process may take; the activities' time-outs are derived from it. */
  readonly timeoutSeconds: number;
  /** Whose credits it uses: executions of one account share statements. */
  readonly accountId?: AccountId;
  /** What became of an execution that had ended before Temporal learned of it. Absent where the workflow drives it. */
  readonly story?: ExecutionStory;
}

/**
 * How an execution went that its process carried out by itself: each step with its time (ISO 8601), as Temporal's UI
 * shows it. A step that was not taken is absent.
 */
export interface ExecutionStory {
  readonly status: ExecutionEnd;
  readonly reserved?: string;
  readonly programStarted?: string;
  readonly programEnded?: string;
  readonly attempts: number;
  readonly secondsUsed: number;
  readonly outputsUploaded?: string;
  readonly settled: string;
  readonly failure?: string;
}

/** What the Workflow Definition returns: enough to read in Temporal's UI, the record itself is in PostgreSQL. */
export interface ExecutionSummary {
  readonly executionId: ExecutionId;
  readonly status: ExecutionEnd;
  /** The steps of an execution that had ended before Temporal learned of it. */
  readonly story?: ExecutionStory;
}

/** The end of an execution, as the answer to its call has it. */
export interface ExecutionResult {
  readonly status: ExecutionEnd;
  readonly message: string;
  readonly secondsUsed: number;
  readonly chargeCompute: MicroCredits;
  readonly chargeTotal: MicroCredits;
  /** By name. */
  readonly outputs: readonly { readonly name: string; readonly fileName: string }[];
  /** It was of files that nobody has committed. */
  readonly draft: boolean;
}

/** How the user's process ended. Every end is a value: user code that fails is not an error of ours. */
export interface PythonOutcome {
  readonly status: ExecutionEnd;
  /** For people: why it did not succeed. Empty on success. At most 4,000 characters. */
  readonly message: string;
  /** Wall time of the user's process, millisecond precision: what is billed. */
  readonly secondsUsed: number;
  /** Processor time, where nothing keeps a program within `limits.cpu`: billed when it is more than that. */
  readonly processorSeconds?: number;
  /**
   * The most memory that its largest process held, or was seen to hold together with the files in memory. Bytes. Undefined: it
   * ended by force before anybody looked. Partly the program's own word, so no bill is made of it.
   */
  readonly peakMemoryBytes?: number | undefined;
  /** Processor time of the program, to 10 ms; undefined as above. Its own word, so no bill is made of it. */
  readonly usedProcessorSeconds?: number | undefined;
  /** What it connected to; undefined without a network, and where that was not seen. */
  readonly connections?: Connections | undefined;
}

/**
 * What `executePython` returns, and so what stands in Temporal's history. The program is still going after the seconds
 * it was asked to wait, or it has ended in some way. Never the message: it may quote inputs.
 */
export type PythonProgress =
  | { readonly kind: "running" }
  /** An attempt did not succeed, and the next one is due in so many seconds. */
  | { readonly kind: "waiting"; readonly seconds: number }
  | {
      readonly kind: "ended";
      readonly status: ExecutionEnd;
      readonly secondsUsed: number;
      /** The task queue of the host whose spool holds the outputs. */
      readonly hostQueue: string;
      /** The last steps are taken, too: its outputs are in storage and it is settled. Otherwise they are the workflow's to ask for. */
      readonly finished?: true;
    };

/**
 * The steps after a program's end, in order; each is the activity of that name. The process that ran the program takes
 * them at once, and the workflow asks for those that were not taken. Both go through this list, and the compiler refuses
 * either when it leaves a step out.
 */
export const LAST_STEPS = ["uploadOutputs", "settleCredits"] as const;
export type LastStep = (typeof LAST_STEPS)[number];

/** What `uploadOutputs` answers: done, or that only the host that ran the program can do it, or needs longer. */
export type UploadProgress = { readonly kind: "uploaded" } | { readonly kind: "deferred" };

/** Wakes the workflow of an execution that waits for its next attempt, once the record says that it is cancelled. */
export const CANCEL_SIGNAL = "cancelRequested";

/** A file that went in with an execution or came out of it, as kept in storage. */
export interface StoredFile {
  /** The declared input's name, or the output's. */
  readonly name: string;
  /** The file name a person sees: the last segment of the file's URL. */
  readonly fileName: string;
  readonly storageKey: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly contentType: string;
}
