import type { Response } from "express";
import { ApiError } from "../errors.ts";

/** Proxies close a connection on which nothing comes. */
const SIGN_OF_LIFE_MS = 15_000;

/**
 * Sends what `work` says while it works as server-sent events `log`, and what it returns as the last one, `result`. The stream
 * begins with the first line that is said. Undefined when none was: the answer is then one like any other. A refusal
 * that comes after the first line is the result, with its `error` and `message`; before it, it is thrown.
 */
export async function sendProgress<Result extends object>(
  response: Response,
  work: (report: (line: string) => void) => Promise<Result>,
): Promise<Result | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const send = (event: string, data: object): void => {
    if (timer === undefined) {
      response.set({ "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no" });
      timer = setInterval(() => response.write(": still building\n\n"), SIGN_OF_LIFE_MS);
    }
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  try {
    const result = await work((line) => send("log", { text: `${line}\n` }));
    if (timer === undefined) return result;
    send("result", result);
  } catch (error) {
    if (timer === undefined || !(error instanceof ApiError)) throw error;
    send("result", error.toBody());
  } finally {
    clearInterval(timer);
  }
  response.end();
  return undefined;
}
