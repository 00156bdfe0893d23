import { messageOf } from "../../domain/message-of.ts";
import type { Generation } from "./generation.ts";

const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 60_000;
/** What has lived this long was good: the next failure is retried quickly again. */
const GOOD_AFTER_MS = 60_000;
const CLOSED = "The network of executions is closed.";

export interface Generations {
  /** Resolves when the first attempt to open one is over, however that went. */
  readonly opened: Promise<void>;
  /** Returns the generation to use now; waits for the first one. Rejects, with the problem, when there is none. */
  current(): Promise<Generation>;
  /** Returns whether this is the one to use now. */
  isCurrent(candidate: Generation): boolean;
  /** Why there is none, if so. */
  problem(): string | undefined;
  close(): Promise<void>;
}

/**
 * Keeps one generation going: opens another when it fails, after 1 s and then ever more rarely, at least once a minute.
 */
export function keepGeneration(open: () => Promise<Generation>, report: (line: string) => void): Generations {
  let generation: Generation | undefined;
  let problem: string | undefined;
  let closed = false;
  let retryMs = RETRY_FIRST_MS;
  let timer: NodeJS.Timeout | undefined;
  let work: Promise<void> = Promise.resolve();

  async function attempt(): Promise<void> {
    try {
      const opened = await open();
      if (closed) return await opened.close(CLOSED);
      if (problem !== undefined) report("Executions have a network again.");
      [generation, problem] = [opened, undefined];
      const openedAt = performance.now();
      void opened.failed.then((reason) => {
        work = replace(opened, performance.now() - openedAt, reason);
      });
    } catch (error) {
      retryLater(`There is no network for executions: ${messageOf(error)}`);
    }
  }

  async function replace(failed: Generation, livedMs: number, reason: string): Promise<void> {
    if (closed) return;
    generation = undefined;
    if (livedMs > GOOD_AFTER_MS) retryMs = RETRY_FIRST_MS;
    const text = `The network of executions has ended and is made anew: ${reason}`;
    retryLater(text);
    await failed.close(text);
  }

  function retryLater(text: string): void {
    if (closed) return;
    if (problem !== text) report(text);
    problem = text;
    const before = work;
    timer = setTimeout(() => {
      work = before.then(attempt);
    }, retryMs).unref();
    retryMs = Math.min(2 * retryMs, RETRY_MAX_MS);
  }

  const opened = attempt();
  work = opened;
  return {
    opened,
    async current() {
      await opened;
      if (generation === undefined) throw new Error(problem ?? CLOSED);
      return generation;
    },
    isCurrent: (candidate) => candidate === generation,
    problem: () => problem,
    async close() {
      closed = true;
      clearTimeout(timer);
      await work;
      await generation?.close(CLOSED);
      generation = undefined;
    },
  };
}
