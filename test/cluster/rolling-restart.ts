import { setTimeout as sleep } from "node:timers/promises";
import type { Answer } from "../support/service.ts";

/** One in so many callers runs the longer program. */
const LONGER_EVERY = 4;

export interface Callers {
  readonly count: number;
  /** How long the longer program takes, in seconds. */
  readonly longerSeconds: number;
  execute(seconds: number): Promise<Answer>;
  look(executionId: string): Promise<Answer>;
}

/**
 * Calls by all callers, one after the other each, for as long as the work takes. Each call is followed to the end of its execution.
 * Returns the executions that ended well, and what became of the other calls.
 */
export async function callMeanwhile(
  work: Promise<unknown>,
  { count, longerSeconds, execute, look }: Callers,
): Promise<{ executionIds: string[]; failures: string[] }> {
  const executionIds: string[] = [];
  const failures: string[] = [];
  let isOver = false;
  const call = async (seconds: number): Promise<void> => {
    let { status, body } = await execute(seconds);
    const executionId = String(body.executionId);
    for (; status === 202 || ["queued", "running"].includes(String(body.status)); await sleep(200))
      ({ status, body } = await look(executionId));
    if (status === 200 && body.status === "success") executionIds.push(executionId);
    else failures.push(`${status} ${JSON.stringify(body)}`);
  };
  const callAgain = async (seconds: number): Promise<void> => {
    while (!isOver) await call(seconds).catch((error: unknown) => failures.push(String(error)));
  };
  const callers = Array.from({ length: count }, (_, at) => callAgain(at % LONGER_EVERY === 0 ? longerSeconds : 0));
  await work.finally(() => {
    isOver = true;
  });
  await Promise.all(callers);
  return { executionIds, failures };
}
