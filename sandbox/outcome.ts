import { availableParallelism, constants, totalmem } from "node:os";
import type { PythonOutcome } from "../domain/execution.ts";
import { formatSize } from "../domain/manifest/sizes.ts";
import type { ReportedEnd } from "./control.ts";
import { type CollectedOutputs, DEPTH_MAX, PATH_BYTES_MAX, toStem } from "./outputs.ts";
import type { SandboxLimits, SandboxRequest } from "./request.ts";
import type { Excess, Use } from "./watchdog.ts";

const MESSAGE_CHARS_MAX = 4_000;
/** What the runner itself may have used before time is measured. */
const BEFORE_CLOCKS_SECONDS = 1;
export const CANCELLED = "The execution was cancelled.";

/** Why the host ended the process, when it did. */
export type StopReason = "timed_out" | "cancelled" | Excess;

/** What the host saw of an execution. Only `mode` and `reported` come from inside. */
export interface ExecutionFacts {
  readonly stopped: StopReason | undefined;
  readonly exitCode: number | null;
  readonly exitSignal: NodeJS.Signals | null;
  readonly oomKills: number;
  readonly mode: "script" | "function" | undefined;
  readonly reported: ReportedEnd | undefined;
  readonly secondsUsed: number;
  /** Undefined where a cgroup bounds it. */
  readonly processorSeconds: number | undefined;
  /** The most that the host saw of it; zeros where it ended before the first look. */
  readonly seen: Use;
}

type Ending = Pick<PythonOutcome, "status" | "message">;

/** How the execution ended, from what was seen of it; outputs are not looked at here. */
export function decideOutcome(facts: ExecutionFacts, limits: SandboxLimits): PythonOutcome {
  const { status, message } = decide(facts, limits);
  const { secondsUsed, processorSeconds } = facts;
  const billed = processorSeconds === undefined ? { secondsUsed } : { secondsUsed, processorSeconds };
  const used = Object.assign(billed, toUse(status, facts, limits));
  return Object.assign({ status, message: message.slice(0, MESSAGE_CHARS_MAX) }, used);
}

/** What the host saw and what the program says of itself, whichever is more. It cannot be more than the machine has. */
function toUse(
  status: PythonOutcome["status"],
  { seen, reported, secondsUsed }: ExecutionFacts,
  { memoryBytes }: SandboxLimits,
): Pick<PythonOutcome, "peakMemoryBytes" | "usedProcessorSeconds"> {
  const reached = status === "out_of_memory" ? memoryBytes : 0;
  const memory = Math.max(seen.memoryBytes, Math.min(reported?.memoryBytes ?? 0, totalmem()), reached);
  const processorMax = secondsUsed * availableParallelism() + BEFORE_CLOCKS_SECONDS;
  const processor = Math.max(seen.processorMs / 1000, Math.min(reported?.processorSeconds ?? 0, processorMax));
  return {
    peakMemoryBytes: memory > 0 ? Math.round(memory) : undefined,
    usedProcessorSeconds: processor > 0 ? Math.round(processor * 1000) / 1000 : undefined,
  };
}

function decide(facts: ExecutionFacts, limits: SandboxLimits): Ending {
  if (facts.stopped !== undefined) return explainStop(facts.stopped, limits);
  const failure = findFailure(facts);
  if (failure === undefined) return { status: "success", message: "" };
  if (facts.oomKills > 0) return { status: "out_of_memory", message: `${outOfMemory(limits)} ${failure}` };
  if (facts.reported?.kind === "memory")
    return { status: "out_of_memory", message: `${outOfMemory(limits)} ${failure}` };
  return { status: "failed", message: failure };
}

function explainStop(reason: StopReason, limits: SandboxLimits): Ending {
  switch (reason) {
    case "timed_out":
      return {
        status: "timed_out",
        message: `The code ran longer than limits.timeout (${limits.timeoutSeconds} s) and was stopped.`,
      };
    case "processor":
      return {
        status: "timed_out",
        message: `The code used more processor time than limits.timeout and limits.cpu allow together (${limits.timeoutSeconds * limits.cpu} s).`,
      };
    case "cancelled":
      return { status: "cancelled", message: CANCELLED };
    case "memory":
      return { status: "out_of_memory", message: outOfMemory(limits) };
    case "machine_memory":
      return {
        status: "out_of_memory",
        message: "The machine has no memory left, and of all executions this one held the most.",
      };
    case "output_bytes":
      return {
        status: "failed",
        message: `The outputs grew beyond the ${formatSize(limits.outputBytesMax)} they may have.`,
      };
    case "output_files":
      return {
        status: "failed",
        message: `More than the ${limits.outputFilesMax} output files that are allowed were made.`,
      };
    case "output_depth":
      return { status: "failed", message: `The folder outputs/ is more than ${DEPTH_MAX} folders deep.` };
    case "output_path":
      return {
        status: "failed",
        message: `The path of a file or folder in outputs/ is longer than ${PATH_BYTES_MAX} bytes.`,
      };
    case "scratch_files":
      return { status: "failed", message: "Too many files were made in the working folder, /tmp or /dev/shm." };
    case "disk":
      return {
        status: "failed",
        message: "The outputs filled the disk of the machine, and the execution was stopped.",
      };
  }
}

function outOfMemory(limits: SandboxLimits): string {
  return `The code needed more memory than limits.memory (${formatSize(limits.memoryBytes)}).`;
}

/** A success still needs its outputs: within their limits, and all that the manifest declares. */
export function addOutputs(
  outcome: PythonOutcome,
  collected: CollectedOutputs,
  request: SandboxRequest,
): PythonOutcome {
  if (outcome.status !== "success") return outcome;
  const fail = (message: string): PythonOutcome => ({ ...outcome, status: "failed", message });
  if (collected.exceeded !== undefined) return { ...outcome, ...explainStop(collected.exceeded, request.limits) };
  const names = new Set(collected.outputs.flatMap(({ name, fileName }) => [name, toStem(fileName)]));
  const missing = (request.declaredOutputs ?? []).filter((name) => !names.has(name));
  if (missing.length === 0) return outcome;
  const made = collected.outputs.map(({ name }) => name).slice(0, 20);
  return fail(
    `Declared outputs are missing: ${missing.join(", ")}. The execution made ${made.length === 0 ? "none" : made.join(", ")}.`,
  );
}

/** Undefined for a success. The exit code is the truth; the runner's report only explains it. */
function findFailure({ exitCode, exitSignal, mode, reported }: ExecutionFacts): string | undefined {
  const signal = exitSignal ?? toSignal(exitCode);
  if (exitCode === 0) {
    const returned = mode === "script" || reported !== undefined;
    return returned ? undefined : "The process ended inside main(), for example by os._exit, before main() returned.";
  }
  if (reported !== undefined && reported.message !== "") return reported.message;
  if (reported?.code === exitCode || signal === undefined) return `The code exited with code ${exitCode}.`;
  return `The process was killed by ${signal}${SIGNAL_HINTS[signal] ?? ""}.`;
}

const SIGNAL_HINTS: Readonly<Partial<Record<NodeJS.Signals, string>>> = {
  SIGSEGV: " (a crash in native code, or recursion without end in it)",
  SIGXCPU: " (it used more processor time than its time limit allows)",
  SIGSYS: " (a system call that sandboxes do not have)",
};

/** bubblewrap reports a process that was killed by signal n as exit code 128 + n, as shells do. */
function toSignal(exitCode: number | null): NodeJS.Signals | undefined {
  if (exitCode === null || exitCode <= 128) return undefined;
  const found = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128);
  return found?.[0] as NodeJS.Signals | undefined;
}
