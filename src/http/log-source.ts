import type { Readable } from "node:stream";
import { NoSuchObjectError, type Storage } from "../../activities/storage/storage.ts";
import type { ExecutionRecord } from "../../db/executions.ts";
import type { AppDeps } from "./deps.ts";

const LINE_FEED = 10;

/** All of it; of an execution that is still going, what there is. */
export async function openLog(
  deps: { storage: Storage; liveLog?: AppDeps["liveLog"] },
  execution: ExecutionRecord,
): Promise<Readable | undefined> {
  // What was kept when it was handed over ends where this host goes on.
  const isKept = execution.logKey !== null && execution.finishedAt !== null;
  const live = isKept ? undefined : await deps.liveLog?.(execution.id);
  if (live !== undefined || execution.logKey === null) return live;
  return deps.storage.get(execution.logKey).catch((error: unknown) => {
    if (!(error instanceof NoSuchObjectError)) throw error;
    return undefined;
  });
}

/** Whole lines as they come, and how many bytes they and their ends take. */
export async function* splitLines(
  log: AsyncIterable<Buffer>,
): AsyncGenerator<{ readonly lines: string[]; readonly bytes: number }> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of log) {
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = all.lastIndexOf(LINE_FEED) + 1;
    rest = all.subarray(end);
    if (end === 0) continue;
    const lines = all
      .toString("utf8", 0, end)
      .split("\n")
      .filter((line) => line !== "");
    yield { lines, bytes: end };
  }
}
