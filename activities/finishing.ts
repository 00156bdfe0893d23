import type { ExecutionEnd, PythonProgress, UploadProgress } from "../domain/execution.ts";
import type { ExecutionId } from "../domain/ids.ts";

/** The workflow goes on within milliseconds of a program's end. When it has not by now, Temporal is away or far behind. */
const LATE_MS = 400;

export type EndedProgram = Extract<PythonProgress, { kind: "ended" }>;

export interface FinishingDeps {
  readonly upload: (executionId: ExecutionId) => Promise<UploadProgress>;
  readonly settle: (bill: { executionId: ExecutionId; status: ExecutionEnd; secondsUsed: number }) => Promise<void>;
  readonly onFault: (executionId: ExecutionId, error: unknown) => void;
  readonly lateMs?: number;
}

/**
 * Takes the last steps of an execution from here when its workflow does not come to ask for them: nobody who waits for a
 * result that is at hand waits for Temporal. They are the workflow's own steps, which find theirs done when it comes back. Tried
 * once; whatever fails is the workflow's to do again.
 */
export function createFinishing({ upload, settle, onFault, lateMs = LATE_MS }: FinishingDeps) {
  const expected = new Map<ExecutionId, NodeJS.Timeout>();

  const finish = async (executionId: ExecutionId, { status, secondsUsed }: EndedProgram): Promise<void> => {
    const { kind } = await upload(executionId);
    if (kind === "uploaded") await settle({ executionId, status, secondsUsed });
  };
  const forget = (executionId: ExecutionId): void => {
    clearTimeout(expected.get(executionId));
    expected.delete(executionId);
  };

  return {
    /** A program of this host has ended, and that is recorded. */
    expect(executionId: ExecutionId, ended: EndedProgram): void {
      forget(executionId);
      const timer = setTimeout(() => {
        expected.delete(executionId);
        finish(executionId, ended).catch((error: unknown) => onFault(executionId, error));
      }, lateMs);
      expected.set(executionId, timer.unref());
    },
    /** Its workflow has come to the last step. */
    forget,
    close(): void {
      for (const executionId of [...expected.keys()]) forget(executionId);
    },
  };
}
