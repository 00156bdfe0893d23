import { createWriteStream } from "node:fs";
import { rename } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ExecutionWork } from "../db/executions/attempts.ts";
import type { SandboxRequest } from "../sandbox/sandbox.ts";
import type { Storage } from "../storage/storage.ts";
import { joinLogs } from "./log-lines.ts";
import type { Spool } from "./spool.ts";

/** Lines of an attempt whose log is on another host have ids below this many for each attempt. */
const UNSEEN_LINES_MAX = 1_000_000;

/**
 * Makes ready that an attempt goes on with the log of those before, which is here when the last of them ran on this host. What a host
 * that handed the execution over has put into storage is joined with what is here. The lines of an attempt that was lost are
 * on its host, and ids leave room for them.
 */
export async function continueLog(
  { spool, storage, hostId }: { readonly spool: Spool; readonly storage: Storage; readonly hostId: string },
  { executionId, attempt, previous }: Pick<ExecutionWork, "executionId" | "attempt" | "previous">,
): Promise<SandboxRequest["logStart"]> {
  if (previous === null) return undefined;
  const note = `Attempt ${attempt} begins. Attempt ${attempt - 1}: ${previous.message}`;
  if (previous.hostId === hostId) return { note, idsAfter: 0 };
  if (previous.logKey !== null) {
    const path = spool.logPathOf(executionId);
    const here = (await spool.readLog(executionId)) ?? Readable.from([]);
    const joined = joinLogs(await storage.get(previous.logKey), here);
    await pipeline(joined, createWriteStream(`${path}.joined`, { mode: 0o600 }));
    await rename(`${path}.joined`, path);
  }
  return { note, idsAfter: previous.isLogWhole ? 0 : (attempt - 1) * UNSEEN_LINES_MAX };
}
