import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Request, Response } from "express";
import { splitLines } from "../../../activities/log-lines.ts";
import { type ExecutionRecord, findExecution } from "../../../db/executions/executions.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { envelope } from "../../executions/envelope.ts";
import type { LogPlace } from "../../executions/other-hosts.ts";
import { endWithAccess } from "../answers/open-answer.ts";
import type { AppDeps } from "../deps.ts";
import { type LiveSource, openLiveSource } from "./live-source.ts";
import { openLog } from "./log-source.ts";

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
  ("db" | "storage" | "executions" | "apiUrl" | "openAccess" | "leaving") | ("liveLog" | "liveProgress" | "otherHosts")
>;

/** Where in its log a caller is. */
interface Position extends LogPlace {
  /** Of the last line sent; lines are numbered from 1. */
  lineId: number;
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
  const source = openLiveSource(deps, executionId);
  try {
    for await (const event of follow(deps, { executionId, source, at }, gone.signal)) {
      if (gone.signal.aborted) break;
      if (!response.write(event)) await drained(response, gone.signal);
    }
  } finally {
    source.close();
  }
  response.end();
}

async function* follow(
  deps: Deps,
  { executionId, source, at }: { executionId: ExecutionId; source: LiveSource; at: Position },
  gone: AbortSignal,
): AsyncGenerator<string, void> {
  let askedAt = 0;
  let sentAt = Date.now();
  let status = "";
  let progress = "";
  const newProgress = function* (): Generator<string, void> {
    const said = JSON.stringify(source.progress());
    if (said === undefined || said === progress) return;
    progress = said;
    yield `event: progress\ndata: ${said}\n\n`;
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
      source.place(execution, at);
      const now = toStatus(execution, source.slotPosition());
      if (now !== status) {
        sentAt = Date.now();
        yield `event: status\ndata: ${(status = now)}\n\n`;
      }
    }
    const live = await source.read(at);
    for await (const events of toEvents(live?.log, at)) {
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
    if (live?.isMore !== true) hasEnded = await waitForNews(deps, { executionId, source }, gone);
  }
}

/** Returns whether the execution has ended; a moment later at most. */
async function waitForNews(
  { executions }: Pick<Deps, "executions">,
  { executionId, source }: { executionId: ExecutionId; source: LiveSource },
  gone: AbortSignal,
): Promise<boolean> {
  const over = new AbortController();
  const giveUp = (): void => over.abort();
  gone.addEventListener("abort", giveUp, { once: true });
  void source.news(over.signal).then(giveUp);
  const ended = await executions.waitForEnd(executionId, LOOK_MS, over.signal);
  gone.removeEventListener("abort", giveUp);
  giveUp();
  return ended !== false;
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
  await once(response, "drain", { signal: gone }).catch(() => undefined);
  await sleep(0);
}
