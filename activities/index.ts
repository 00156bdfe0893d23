import { type CreditsDeps, createCredits } from "./credits.ts";
import { createFinishing } from "./finishing.ts";
import { createOutputs, type OutputsDeps } from "./outputs.ts";
import { createPython, type PythonDeps } from "./python.ts";
import type { Ticks } from "./ticks.ts";

/** All activities of a worker. The object's function names are the activity names in every history. */
export function createActivities(
  deps: CreditsDeps & Omit<PythonDeps, "onEndedHere" | "keepLog"> & OutputsDeps & Pick<Ticks, "recordTick">,
) {
  const credits = createCredits(deps);
  const outputs = createOutputs(deps);
  const { settleCredits: settle } = credits;
  const finishing = createFinishing({ upload: outputs.upload, settle, onFault: deps.onFault });
  const { executePython: execute, ...python } = createPython({
    ...{ ...deps, keepLog: outputs.keepLog, onEndedHere: finishing.begin },
  });
  const executePython: typeof execute = async (input) => {
    const progress = await execute(input);
    if (progress.kind === "running" || !(await finishing.isFinished(input.executionId))) return progress;
    return { ...progress, finished: true };
  };
  const uploadOutputs: typeof outputs.uploadOutputs = async (input) =>
    finishing.hasUploaded(input.executionId) ? { kind: "uploaded" } : outputs.uploadOutputs(input);
  const settleCredits: typeof settle = async (bill) => {
    if (!(await finishing.hasSettled(bill.executionId))) await settle(bill);
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
    /** What keeps outputs and logs for which no workflow asks. */
    keeping: { keepLog: outputs.keepLog, upload: outputs.upload },
    /** Control over the programs running in this process, for whoever owns the process. */
    python: {
      ...python,
      async drain(...given: Parameters<typeof python.drain>): Promise<void> {
        await python.drain(...given);
        await finishing.close();
      },
    },
  };
}

export type Activities = ReturnType<typeof createActivities>["activities"];
export type PythonControl = ReturnType<typeof createActivities>["python"];
