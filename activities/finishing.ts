import { setTimeout as sleep } from "node:timers/promises";
import type { ExecutionEnd, PythonProgress, UploadProgress } from "../domain/execution.ts";
import type { ExecutionId } from "../domain/ids.ts";

/** How long it is remembered what was done, for a workflow that comes late. One that comes later asks the record. */
const REMEMBER_MS = 60_000;
const CLOSE_MS = 2_000;
/** How long a program's own step may last beyond the program for the last steps to be told with it. */
const TELL_MS = 1_000;

export type EndedProgram = Extract<PythonProgress, { kind: "ended" }>;

export interface FinishingDeps {
  readonly upload: (executionId: ExecutionId) => Promise<UploadProgress>;
  readonly settle: (bill: { executionId: ExecutionId; status: ExecutionEnd; secondsUsed: number }) => Promise<void>;
  readonly onFault: (executionId: ExecutionId, error: unknown) => void;
}

/** How far the last steps of one execution are. */
interface LastSteps {
  isUploaded: boolean;
  /** Whether it was settled here; never rejects. */
  settled: Promise<boolean>;
  readonly forgetting: NodeJS.Timeout;
}

/**
 * Takes the last steps of an execution as soon as its program has ended: nobody who waits for a result that is at hand waits
 * until its workflow has asked for them, one after the other, or for a Temporal that is away. The workflow hears with the
 * program's end that they are taken. Where they take longer, it asks for them, and finds them taken, or waits for them here.
 * Tried once; whatever fails is the workflow's to do again.
 */
export function createFinishing({ upload, settle, onFault }: FinishingDeps) {
  const begun = new Map<ExecutionId, LastSteps>();

  function forget(executionId: ExecutionId): void {
    clearTimeout(begun.get(executionId)?.forgetting);
    begun.delete(executionId);
  }

  async function finish(executionId: ExecutionId, ended: EndedProgram, steps: LastSteps): Promise<boolean> {
    try {
      const { kind } = await upload(executionId);
      if (kind !== "uploaded") return false;
      steps.isUploaded = true;
      await settle({ executionId, status: ended.status, secondsUsed: ended.secondsUsed });
      return true;
    } catch (error) {
      onFault(executionId, error);
      return false;
    }
  }

  return {
    /** A program of this host has ended, and that is recorded. */
    begin(executionId: ExecutionId, ended: EndedProgram): void {
      if (begun.has(executionId)) return;
      const forgetting = setTimeout(() => forget(executionId), REMEMBER_MS).unref();
      const steps: LastSteps = { isUploaded: false, settled: Promise.resolve(false), forgetting };
      begun.set(executionId, steps);
      steps.settled = finish(executionId, ended, steps);
    },
    /** Whether its outputs have been uploaded from here. */
    hasUploaded: (executionId: ExecutionId): boolean => begun.get(executionId)?.isUploaded === true,
    /** Whether the last step was taken here, within a second. */
    async isFinished(executionId: ExecutionId): Promise<boolean> {
      const steps = begun.get(executionId);
      if (steps === undefined) return false;
      const waiting = new AbortController();
      const late = sleep(TELL_MS, false, { signal: waiting.signal, ref: false }).catch(() => false);
      const isSettled = await Promise.race([steps.settled, late]);
      waiting.abort();
      if (isSettled) forget(executionId);
      return isSettled;
    },
    /** Waits for the last step if it is under way; answers whether it was taken here. What was not is the caller's. */
    async hasSettled(executionId: ExecutionId): Promise<boolean> {
      const isSettled = (await begun.get(executionId)?.settled) ?? false;
      forget(executionId);
      return isSettled;
    },
    /** Waits for what is under way, for a time: a database that is away must not keep a process that stops. */
    async close(): Promise<void> {
      const ended = Promise.all([...begun.values()].map(({ settled }) => settled));
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref())]);
      for (const executionId of [...begun.keys()]) forget(executionId);
    },
  };
}
