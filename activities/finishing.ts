import { LAST_STEPS, type LastStep, type PythonProgress } from "../domain/execution.ts";
import type { ExecutionId } from "../domain/ids.ts";
import { withTimeout } from "../system/with-timeout.ts";

/** How long it is remembered what was done, for a workflow that comes late. One that comes later asks the record. */
const REMEMBER_MS = 60_000;
const CLOSE_MS = 2_000;
/** How long a program's own step may wait, after the program, for the last steps to end. */
const TELL_MS = 1_000;

export type EndedProgram = Extract<PythonProgress, { kind: "ended" }>;

/** Takes one of the last steps. False leaves it, and those after it, to the workflow. */
export type TakeStep = (executionId: ExecutionId, ended: EndedProgram) => Promise<boolean>;

export interface FinishingDeps {
  readonly steps: Readonly<Record<LastStep, TakeStep>>;
  readonly onError: (executionId: ExecutionId, error: unknown) => void;
}

/** How far the last steps of one execution are. */
interface Finishing {
  readonly taken: Set<LastStep>;
  /** Whether all were taken here; never rejects. */
  over: Promise<boolean>;
  readonly forgetting: NodeJS.Timeout;
}

/**
 * Takes the last steps as soon as the program ends, without waiting for the workflow to ask for them. Callers get their
 * result sooner, even when Temporal is down. The program's result tells the workflow that the steps are done. Where they
 * take longer, it asks for them, and finds them taken, or waits for them here. Tries each step once. The workflow repeats
 * a step that failed.
 */
export function createFinishing({ steps, onError }: FinishingDeps) {
  const begun = new Map<ExecutionId, Finishing>();

  function forget(executionId: ExecutionId): void {
    clearTimeout(begun.get(executionId)?.forgetting);
    begun.delete(executionId);
  }

  async function finish(executionId: ExecutionId, ended: EndedProgram, taken: Set<LastStep>): Promise<boolean> {
    try {
      for (const step of LAST_STEPS) {
        if (!(await steps[step](executionId, ended))) return false;
        taken.add(step);
      }
      return true;
    } catch (error) {
      onError(executionId, error);
      return false;
    }
  }

  return {
    /** A program of this host has ended, and that is recorded; perhaps the execution with it. */
    begin(executionId: ExecutionId, ended: EndedProgram): void {
      if (begun.has(executionId)) return;
      const forgetting = setTimeout(() => forget(executionId), REMEMBER_MS).unref();
      const isFinished = ended.finished === true;
      const taken = new Set(isFinished ? LAST_STEPS : []);
      const finishing: Finishing = { taken, over: Promise.resolve(isFinished), forgetting };
      begun.set(executionId, finishing);
      if (!isFinished) finishing.over = finish(executionId, ended, taken);
    },
    /** Whether the step has been taken here. */
    hasTaken: (executionId: ExecutionId, step: LastStep): boolean => begun.get(executionId)?.taken.has(step) === true,
    /** Whether all steps were taken here, within a second. */
    async isFinished(executionId: ExecutionId): Promise<boolean> {
      const finishing = begun.get(executionId);
      if (finishing === undefined) return false;
      const isOver = await withTimeout(finishing.over, TELL_MS, () => false);
      if (isOver) forget(executionId);
      return isOver;
    },
    /** Waits for the steps under way; returns whether all were taken here. What was not is the caller's. */
    async whenOver(executionId: ExecutionId): Promise<boolean> {
      const isOver = (await begun.get(executionId)?.over) ?? false;
      forget(executionId);
      return isOver;
    },
    /** Waits for what is under way, for a time: a database that is away must not keep a process that stops. */
    async close(): Promise<void> {
      const ended = Promise.all([...begun.values()].map(({ over }) => over));
      await withTimeout(ended, CLOSE_MS, () => undefined);
      for (const executionId of Array.from(begun.keys())) forget(executionId);
    },
  };
}
