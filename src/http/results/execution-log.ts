import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { StringDecoder } from "node:string_decoder";
import type { Request, Response } from "express";
import { createWaitingCalls } from "../../executions/waiting-calls.ts";
import { requirePlace } from "../admission/requirements.ts";
import { authorizeExecution } from "../auth/authenticate.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { sendEvents } from "./log-events.ts";
import { openLog } from "./log-source.ts";

/** Text of one line as kept: 64 KiB, in JSON up to six times that. What is longer is not a line of ours. */
const LINE_CHARACTERS_MAX = 1024 * 1024;

/** `GET` of an execution's log as plain text, a line each: time, stream, text. Of one that is still going: what there is. */
export function createLogRoute(
  deps: Pick<
    AppDeps,
    | "db"
    | "storage"
    | "liveLog"
    | "liveProgress"
    | "otherHosts"
    | "executions"
    | "apiUrl"
    | "waitingCallsMax"
    | "openAccess"
    | "keyUses"
    | "leaving"
  >,
) {
  const places = createWaitingCalls(deps.waitingCallsMax);
  return async (request: Request, response: Response): Promise<void> => {
    const { execution, accessId } = await authorizeExecution(deps, request, "read");
    if (execution.logRemovedAt !== null)
      throw new ApiError("not_found", "The log of this execution is no longer kept.");
    if (request.method === "GET" && request.accepts("text/plain", "text/event-stream") === "text/event-stream") {
      const leave = requirePlace(deps, places, execution.accountId);
      response.once("close", leave);
      return sendEvents(deps, { request, response, executionId: execution.id, accessId });
    }
    const lines = request.method === "HEAD" ? undefined : await openLog(deps, execution);
    response.set({ "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" });
    if (lines === undefined) return void response.end();
    await pipeline(lines, toPlainText(), response);
  };
}

/** Turns NDJSON lines `{ id, time, stream, text }` into text. A last line that is still being written is left out. */
function toPlainText(): Transform {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  return new Transform({
    decodeStrings: true,
    transform(chunk: Buffer, _encoding, done) {
      const lines = (rest + decoder.write(chunk)).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > LINE_CHARACTERS_MAX) rest = "";
      done(null, lines.map(toText).join(""));
    },
  });
}

function toText(line: string): string {
  if (line === "") return "";
  const { time, stream, text } = JSON.parse(line) as { time: string; stream: string; text: string };
  return `${time} ${stream} ${text}\n`;
}
