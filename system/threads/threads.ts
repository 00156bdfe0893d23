import { type ResourceLimits, Worker } from "node:worker_threads";
import { withTimeout } from "../with-timeout.ts";

const ENTRY = new URL("./thread.mjs", import.meta.url);
/** Of one thread, in MiB. A commit and its predecessor have 20 MB of text each, which is 80 MB as JavaScript holds it. */
const MEMORY: ResourceLimits = { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 32 };
/** A thread that nobody needs costs 10 MB; a new one takes 0.1 s to load what it runs. */
const IDLE_MS = 30_000;
/** Each waiting task holds its input in memory. */
const WAITING_MAX = 200;
/** A tenth of all, so that one account cannot fill the queue for the others. */
const WAITING_OF_OWNER_MAX = 20;
const RETRY_AFTER_SECONDS = 2;

/** A function of ours that a thread can run. Input and output are copied between the threads. */
export interface Task<Input, Output> {
  readonly module: string;
  readonly name: string;
  /** Only for the compiler. */
  readonly types?: (input: Input) => Output;
}

/** Returns the task of an exported function; `module` is its module's `import.meta.url`. */
export function toTask<Input, Output>(module: string, act: (input: Input) => Output): Task<Input, Awaited<Output>> {
  return { module, name: act.name };
}

/** A task that needed more than it may have. The thread that ran it has ended. */
export class OverBudgetError extends Error {
  override readonly name = "OverBudgetError";
  readonly what: "time" | "memory";

  constructor(what: "time" | "memory", options?: ErrorOptions) {
    super(`The task needed more ${what} than it may have.`, options);
    this.what = what;
  }
}

/** Too many tasks wait already. */
export class ThreadsBusyError extends Error {
  override readonly name = "ThreadsBusyError";
  readonly retryAfterSeconds = RETRY_AFTER_SECONDS;
}

export interface Budget {
  /** Who chose what the task costs, such as an account. Owners take turns. */
  readonly owner: string;
  /** Of the task itself, not of its wait. */
  readonly timeoutMs: number;
}

export interface Threads {
  /** Runs a task on a thread. Throws what it throws, an `OverBudgetError`, or a `ThreadsBusyError`. */
  run<Input, Output>(task: Task<Input, Output>, input: Input, budget: Budget): Promise<Output>;
}

interface Job {
  readonly task: Task<never, unknown>;
  readonly input: unknown;
  readonly budget: Budget;
  resolve(output: unknown): void;
  reject(error: unknown): void;
}

interface Thread {
  readonly worker: Worker;
  idleTimer?: NodeJS.Timeout;
}

/**
 * Returns threads beside the event loop, for work that takes long and whose cost a caller chooses. They start when they are
 * needed, end when they are not, and keep no process alive. Owners take turns; one owner leaves a thread to the others.
 */
export function createThreads({ threadsMax, idleMs = IDLE_MS }: { threadsMax: number; idleMs?: number }): Threads {
  const idle: Thread[] = [];
  const waiting = new Map<string, Job[]>();
  const running = new Map<string, number>();
  const ofOwnerMax = Math.max(1, threadsMax - 1);
  let busy = 0;

  /** The oldest job of the owner whose last turn is the longest ago. */
  function takeNext(): Job | undefined {
    for (const [owner, jobs] of waiting) {
      if ((running.get(owner) ?? 0) >= ofOwnerMax) continue;
      const job = jobs.shift();
      waiting.delete(owner);
      if (jobs.length > 0) waiting.set(owner, jobs);
      return job;
    }
    return undefined;
  }

  function startNext(): void {
    if (busy >= threadsMax) return;
    const job = takeNext();
    if (job !== undefined) void runJob(job);
  }

  async function runJob(job: Job): Promise<void> {
    const { owner } = job.budget;
    busy += 1;
    running.set(owner, (running.get(owner) ?? 0) + 1);
    const thread = idle.pop() ?? startThread();
    clearTimeout(thread.idleTimer);
    try {
      const answer = await runOn(thread.worker, job);
      if (answer.ok) job.resolve(answer.output);
      else job.reject(answer.error);
      keep(thread);
    } catch (error) {
      job.reject(error);
      await thread.worker.terminate();
    }
    busy -= 1;
    const others = (running.get(owner) ?? 1) - 1;
    if (others === 0) running.delete(owner);
    else running.set(owner, others);
    startNext();
  }

  function keep(thread: Thread): void {
    thread.worker.unref();
    thread.idleTimer = setTimeout(() => {
      idle.splice(idle.indexOf(thread), 1);
      void thread.worker.terminate();
    }, idleMs).unref();
    idle.push(thread);
  }

  return {
    run: (task, input, budget) =>
      new Promise((resolve, reject) => {
        const jobs = waiting.get(budget.owner) ?? [];
        const all = [...waiting.values()].reduce((sum, { length }) => sum + length, 0);
        if (jobs.length >= WAITING_OF_OWNER_MAX || all >= WAITING_MAX) throw new ThreadsBusyError();
        jobs.push({ task, input, budget, resolve: resolve as Job["resolve"], reject });
        waiting.set(budget.owner, jobs);
        startNext();
      }),
  };
}

function startThread(): Thread {
  const worker = new Worker(ENTRY, { resourceLimits: MEMORY });
  worker.on("error", () => undefined); // of a thread without a task: it is seen when the next one is given to it
  return { worker };
}

type Answer = { readonly ok: true; readonly output: unknown } | { readonly ok: false; readonly error: unknown };

/** What the task returned or threw. Throws when the thread cannot be used again. */
function runOn(worker: Worker, { task, input, budget }: Job): Promise<Answer> {
  const { module, name } = task;
  const done = new AbortController();
  worker.ref();
  const answered = new Promise<Answer>((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void =>
      reject(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? new OverBudgetError("memory", { cause: error }) : error);
    const onExit = (): void => reject(new Error(`The thread of ${name} ended before its task.`));
    worker.once("message", resolve).once("error", onError).once("exit", onExit);
    done.signal.addEventListener("abort", () => {
      worker.off("message", resolve).off("error", onError).off("exit", onExit);
    });
    worker.postMessage({ module, name, input });
  });
  return withTimeout(answered, budget.timeoutMs, () => {
    throw new OverBudgetError("time");
  }).finally(() => done.abort());
}
