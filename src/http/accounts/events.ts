import type { RequestHandler, Response } from "express";
import { endWithAccess } from "../answers/open-answer.ts";
import { authorizeAccount } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";
import type { EditorEvent } from "../editor-events/channel.ts";
import type { EditorEvents } from "../editor-events/editor-events.ts";
import { ApiError } from "../errors.ts";

/** Proxies close a connection on which nothing comes. */
const PING_MS = 15_000;
/** Then the browser connects again, and its access is checked anew. */
const STREAM_MS_MAX = 600_000;
const RETRY_MS = 2_000;
/** Of a caller that does not read. */
const UNREAD_BYTES_MAX = 1024 * 1024;
const EVENT_ID = /^[0-9a-f]{1,20}\.\d{1,15}$/;

/**
 * Sends what happens in the account as server-sent events. The stream ends when the caller leaves or loses access,
 * after ten minutes, or when the service stops.
 */
export function createEventsRoute({
  db,
  editorEvents,
  openAccess,
}: Pick<AppDeps, "db" | "editorEvents" | "openAccess">): RequestHandler {
  return async (request, response) => {
    const { accountId, accessId } = await authorizeAccount(db, request, "read");
    const headers = { "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no" };
    if (request.method === "HEAD") return void response.set(headers).end();
    await endWithAccess(openAccess, { accessId, response, end: () => void response.end() });
    if (response.writableEnded) return;
    const lastId = request.get("last-event-id");
    await sendEvents(editorEvents, response.set({ ...headers, "X-Content-Type-Options": "nosniff" }), {
      accountId,
      lastId: lastId === undefined || EVENT_ID.test(lastId) ? lastId : "unknown",
    });
  };
}

async function sendEvents(
  editorEvents: EditorEvents,
  response: Response,
  { accountId, lastId }: { accountId: Parameters<EditorEvents["follow"]>[0]; lastId: string | undefined },
): Promise<void> {
  // What comes before the stream is open follows its beginning.
  let early: EditorEvent[] | undefined = [];
  const send = (text: string): void => {
    if (response.writableEnded || response.destroyed) return;
    if (response.writableLength > UNREAD_BYTES_MAX) response.destroy();
    else response.write(text);
  };
  const follower = {
    receive(event: EditorEvent): void {
      if (early !== undefined) early.push(event);
      else send(toText(event));
    },
    end: (): void => void response.end(),
  };
  const following = await editorEvents.follow(accountId, follower, lastId);
  if (following === undefined)
    throw new ApiError(
      "no_capacity",
      "Too many open pages are receiving live updates. This page will not update by itself; retry in 30 seconds.",
      {},
      { "Retry-After": "30" },
    );
  if (response.destroyed || response.writableEnded) return following.leave();
  const ping = setInterval(() => send(": still here\n\n"), PING_MS);
  const over = setTimeout(follower.end, STREAM_MS_MAX);
  response.once("close", () => {
    clearInterval(ping);
    clearTimeout(over);
    following.leave();
  });
  // An id without data is no event, but it is remembered: whoever loses the connection before the first event misses none.
  send(`retry: ${RETRY_MS}\nid: ${following.firstId}\n\n`);
  const waiting = early;
  early = undefined;
  for (const event of waiting) follower.receive(event);
}

function toText({ id, name, data }: EditorEvent): string {
  return `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
