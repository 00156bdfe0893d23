import { type CreditsDeps, createCredits } from "./credits.ts";
import { createOutputs, type OutputsDeps } from "./outputs.ts";
import { createPython, type PythonDeps } from "./python.ts";

/** All activities of a worker. The object's function names are the activity names in every history. */
export function createActivities(deps: CreditsDeps & PythonDeps & OutputsDeps) {
  const { executePython, ...python } = createPython(deps);
  return {
    activities: { ...createCredits(deps), executePython, ...createOutputs(deps) },
    /** Control over the programs running in this process, for whoever owns the process. */
    python,
  };
}

export type Activities = ReturnType<typeof createActivities>["activities"];
export type PythonControl = ReturnType<typeof createActivities>["python"];
