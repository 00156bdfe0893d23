import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { StringDecoder } from "node:string_decoder";
import type { Request, Response } from "express";
import { NoSuchObjectError, type Storage } from "../../activities/storage/storage.ts";
import type { Db } from "../../db/connect.ts";
import type { ExecutionRecord } from "../../db/executions.ts";
import { authorizeExecution } from "./authenticate.ts";
import type { AppDeps } from "./deps.ts";

/** Text of one line as kept: 64 KB, in JSON up to six times that. What is longer is not a line of ours. */
const LINE_CHARACTERS_MAX = 1024 * 1024;

/** `GET` of an execution's log as plain text, a line each: time, stream, text. Of one that is still going: what there is. */
export function createLogRoute(deps: { db: Db; storage: Storage; liveLog?: AppDeps["liveLog"] }) {
  return async (request: Request, response: Response): Promise<void> => {
    const { execution } = await authorizeExecution(deps.db, request);
    const lines = request.method === "HEAD" ? undefined : await openLog(deps, execution);
    response.set({ "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" });
    if (lines === undefined) return void response.end();
    await pipeline(lines, toPlainText(), response);
  };
}

async function openLog(
  deps: { storage: Storage; liveLog?: AppDeps["liveLog"] },
  execution: ExecutionRecord,
): Promise<Readable | undefined> {
  if (execution.logKey === null) return deps.liveLog?.(execution.id);
  return deps.storage.get(execution.logKey).catch((error: unknown) => {
    if (!(error instanceof NoSuchObjectError)) throw error;
    return undefined;
  });
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
