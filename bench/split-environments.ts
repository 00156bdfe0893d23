import { type BenchService, type Published, publish } from "./service.ts";

const REQUIREMENTS = "pandas==2.3.3\n";
const PROGRAM = `import pandas

def main(name):
    print(pandas.DataFrame({"name": [name]}))
`;
const READY_MS_MAX = 600_000;

/** Publishes a workflow that needs pandas, and waits until a worker has built that and run it. */
export async function publishPandas(api: BenchService): Promise<Published> {
  const workflow = await publish(api.dataDir, "name: { type: string }", PROGRAM, { requirements: REQUIREMENTS });
  await untilItRuns(api, workflow);
  return workflow;
}

/** Returns how long it takes from now until a run of it has ended well, in milliseconds. */
export async function untilItRuns(api: BenchService, workflow: Published): Promise<number> {
  const before = performance.now();
  while (performance.now() - before < READY_MS_MAX) {
    const { status } = await api.call(workflow, { name: "Ada" });
    if (status === 200) return performance.now() - before;
  }
  throw new Error("The workflow with pandas did not run in time.");
}
