import type { LastStep } from "../domain/execution.ts";
import { type CreditsDeps, createCredits } from "./credits.ts";
import { createEnding, type EndingDeps } from "./ending.ts";
import { createFinishing, type TakeStep } from "./finishing.ts";
import { createOutputs, type OutputsDeps } from "./outputs.ts";
import { createPython, type PythonDeps } from "./python.ts";
import type { Ticks } from "./ticks.ts";

/** All activities of a worker. The object's function names are the activity names in every history. */
export function createActivities(
  deps: CreditsDeps &
    Omit<PythonDeps, "onEndedHere" | "keepLog" | "ending"> &
    OutputsDeps &
    Pick<EndingDeps, "smallBytesMax"> &
    Pick<Ticks, "recordTick">,
) {
  const credits = createCredits(deps);
  const outputs = createOutputs(deps);
  const steps: Readonly<Record<LastStep, TakeStep>> = {
    uploadOutputs: async (executionId) => (await outputs.upload(executionId)).kind === "uploaded",
    settleCredits: async (executionId, { status, secondsUsed }) => {
      await credits.settleCredits({ executionId, status, secondsUsed });
      return true;
    },
  };
  const finishing = createFinishing({ steps, onError: deps.onError });
  const ending = createEnding(deps);
  const { executePython: execute, ...python } = createPython({
    ...deps,
    keepLog: outputs.keepLog,
    ending,
    onEndedHere: finishing.begin,
  });
  const executePython: typeof execute = async (input) => {
    const progress = await execute(input);
    if (progress.kind !== "ended" || progress.finished || !(await finishing.isFinished(input.executionId)))
      return progress;
    return { ...progress, finished: true };
  };
  const uploadOutputs: typeof outputs.uploadOutputs = async (input) =>
    finishing.hasTaken(input.executionId, "uploadOutputs") ? { kind: "uploaded" } : outputs.uploadOutputs(input);
  const settleCredits: typeof credits.settleCredits = async (bill) => {
    if (!(await finishing.whenOver(bill.executionId))) await credits.settleCredits(bill);
  };
  const releaseCredits: typeof credits.releaseCredits = async (input) => {
    await credits.releaseCredits(input);
    // Its program may still be running, where a workflow was cancelled within the first seconds.
    python.stop(input.executionId, "cancelled");
  };
  return {
    activities: {
      ...credits,
      releaseCredits,
      settleCredits,
      executePython,
      uploadOutputs,
      recordTick: deps.recordTick,
    },
    /** The steps of an execution for the process that begins it before Temporal knows of it. */
    steps: {
      reserve: credits.reserveCredits,
      begin: python.begin,
      run: python.run,
      lead: python.lead,
      isFinished: finishing.isFinished,
    },
    /** What keeps outputs and logs for which no workflow asks. */
    keeping: { keepLog: outputs.keepLog, upload: outputs.upload, dropUnrecorded: outputs.dropUnrecorded },
    /** Controls the programs that run in this process; for the owner of the process. */
    python: {
      ...python,
      isEnding: ending.isRecording,
      async drain(...given: Parameters<typeof python.drain>): Promise<void> {
        await python.drain(...given);
        await finishing.close();
      },
    },
  };
}

export type Activities = ReturnType<typeof createActivities>["activities"];
export type ExecutionSteps = ReturnType<typeof createActivities>["steps"];
export type PythonControl = ReturnType<typeof createActivities>["python"];
