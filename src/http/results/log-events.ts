import { setTimeout as sleep } from "node:timers/promises";
import type { Request, Response } from "express";
import { splitLines } from "../../../activities/log-lines.ts";
import { type ExecutionRecord, findExecution } from "../../../db/executions/executions.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import type { AppDeps } from "../deps.ts";
import { envelope } from "./envelope.ts";
import { openLog } from "./log-source.ts";
import { endWithAccess } from "./open-answer.ts";

/** How long a line waits at most before those who follow the log see it. */
const LOOK_MS = 250;
/** The record is asked this often whether the execution has ended without this process hearing of it. */
const ASK_AGAIN_MS = 2_000;
/** Proxies close a connection on which nothing comes. */
const SIGN_OF_LIFE_MS = 15_000;
/** When the caller of a stream that a stopping process has ended may ask again. */
const RETRY_MS = 2_000;
const LAST_EVENT_ID = /^\d{1,9}$/;

type Deps = Pick<
  AppDeps,
  "db" | "storage" | "executions" | "apiUrl" | "liveLog" | "liveProgress" | "openAccess" | "leaving"
>;

/** Where in its log a caller is. */
interface Position {
  /** Of the last line sent; lines are numbered from 1. */
  lineId: number;
  /** Of the live log, in bytes. */
  offset: number;
}

/**
 * Sends an execution as server-sent events. `status` comes first and whenever it changes, each line of the log with its
 * number as id, and `progress` whenever the program reports it. `result` with the envelope is the last. `Last-Event-ID`
 * leaves out the lines up to that one. The stream ends early when the caller loses access. When the process stops, the
 * last line is `retry`, and the caller finds the rest at another process.
 */
export async function sendEvents(
  deps: Deps,
  call: { request: Request; response: Response; executionId: ExecutionId; accessId: string | undefined },
): Promise<void> {
  const { request, response, executionId, accessId } = call;
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  await endWithAccess(deps.openAccess, { accessId, response, end: () => gone.abort() });
  response.set({
    "Content-Type": "text/event-stream; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "X-Accel-Buffering": "no",
  });
  response.flushHeaders();
  const lastId = request.get("last-event-id") ?? "";
  const at: Position = { lineId: LAST_EVENT_ID.test(lastId) ? Number(lastId) : 0, offset: 0 };
  for await (const event of follow(deps, executionId, at, gone.signal)) {
    if (gone.signal.aborted) break;
    if (!response.write(event)) await drained(response, gone.signal);
  }
  response.end();
}

async function* follow(
  deps: Deps,
  executionId: ExecutionId,
  at: Position,
  gone: AbortSignal,
): AsyncGenerator<string, void> {
  let askedAt = 0;
  let sentAt = Date.now();
  let status = "";
  let progress: ReturnType<NonNullable<Deps["liveProgress"]>>;
  const newProgress = function* (): Generator<string, void> {
    const said = deps.liveProgress?.(executionId);
    if (said === undefined || said === progress) return;
    progress = said;
    yield `event: progress\ndata: ${JSON.stringify(said)}\n\n`;
  };
  for (let hasEnded = false; !gone.aborted; ) {
    const isLeaving = deps.leaving?.aborted === true;
    if (hasEnded || isLeaving || Date.now() - askedAt >= ASK_AGAIN_MS) {
      askedAt = Date.now();
      const execution = await findExecution(deps.db, executionId);
      if (execution === undefined || execution.finishedAt !== null) {
        if (execution === undefined) return;
        yield* toEvents(await openLog(deps, execution), at);
        if (status !== "") yield* newProgress(); // It ended before this caller saw its last one.
        yield `event: result\ndata: ${JSON.stringify(envelope(execution, deps.apiUrl()))}\n\n`;
        return;
      }
      const now = toStatus(execution, deps.executions.placeOf(executionId));
      if (now !== status) {
        sentAt = Date.now();
        yield `event: status\ndata: ${(status = now)}\n\n`;
      }
    }
    const live = await deps.liveLog?.(executionId, at.offset);
    for await (const events of toEvents(live, at)) {
      sentAt = Date.now();
      yield events;
    }
    yield* newProgress();
    if (isLeaving) {
      yield `retry: ${RETRY_MS}\n\n`;
      return;
    }
    if (Date.now() - sentAt >= SIGN_OF_LIFE_MS) {
      sentAt = Date.now();
      yield ": still running\n\n";
    }
    hasEnded = (await deps.executions.waitForEnd(executionId, LOOK_MS, gone)) !== false;
  }
}

/** What waits neither for its turn nor for a slot runs, or will within milliseconds. */
function toStatus({ id: executionId, queuePosition }: ExecutionRecord, slotPosition: number | undefined): string {
  if (queuePosition !== null) return JSON.stringify({ executionId, status: "queued", queuePosition });
  if (slotPosition !== undefined) return JSON.stringify({ executionId, status: "queued", slotPosition });
  return JSON.stringify({ executionId, status: "running" });
}

/** Whole lines that were not sent yet. What is half a line stays where it is. */
async function* toEvents(log: AsyncIterable<Buffer> | undefined, at: Position): AsyncGenerator<string, void> {
  if (log === undefined) return;
  for await (const { lines, bytes } of splitLines(log)) {
    at.offset += bytes;
    let events = "";
    for (const line of lines) {
      const { id, ...data } = JSON.parse(line) as { id: number };
      if (id <= at.lineId) continue;
      at.lineId = id;
      events += `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
    }
    if (events !== "") yield events;
  }
}

async function drained(response: Response, gone: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    response.once("drain", resolve);
    gone.addEventListener("abort", () => resolve(), { once: true });
  });
  await sleep(0);
}
