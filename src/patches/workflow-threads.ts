// Written for @temporalio/worker 1.24.0: it has no option for any of this.
// Written for Node.js 20, 22 and 24: a thread loads `--import` before its own file, and every context is entered by the prototype.
import threads, { type WorkerOptions } from "node:worker_threads";

/**
 * What a workflow thread loads first. To enter a context with a time limit, Node starts a thread that watches the
 * clock, and waits for its end. The SDK enters thirty times an execution. The SDK also records the stack of each
 * promise of a workflow, for a query whose answer is one of four steps in a row.
 */
const PRELOAD = `
  import v8 from "node:v8";
  import vm from "node:vm";
  const enter = vm.Script.prototype.runInContext;
  vm.Script.prototype.runInContext = function (context, options) {
    return enter.call(this, context, { ...options, timeout: undefined });
  };
  v8.promiseHooks.createHook = () => () => {};
`;
const EXEC_ARGV = ["--import", `data:text/javascript,${encodeURIComponent(PRELOAD)}`];
const WORKFLOW_THREAD = /[\\/]workflow[\\/]workflow-worker-thread(\.js)?$/;

/**
 * Runs `create`, in which the SDK starts its threads for workflows. These then enter workflow code without a time limit
 * and record no stacks. Both guard against code that nobody knows; ours is part of the build, and the same for
 * everybody. Should the SDK come to start its threads otherwise, they are what they were, only slower
 * (docs/decisions/0014).
 */
export async function withLightThreads<Created>(create: () => Promise<Created>): Promise<Created> {
  const { Worker } = threads;
  threads.Worker = class extends Worker {
    constructor(file: string | URL, options?: WorkerOptions) {
      super(file, WORKFLOW_THREAD.test(String(file)) ? { ...options, execArgv: EXEC_ARGV } : options);
    }
  };
  try {
    return await create();
  } finally {
    threads.Worker = Worker;
  }
}
