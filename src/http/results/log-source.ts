import { Readable } from "node:stream";
import type { ExecutionRecord } from "../../../db/executions/executions.ts";
import { NoSuchObjectError, type Storage } from "../../../storage/storage.ts";
import type { AppDeps } from "../deps.ts";

/** All of it; of an execution that is still going, what there is. */
export async function openLog(
  deps: { storage: Storage } & Pick<AppDeps, "liveLog" | "otherHosts">,
  execution: ExecutionRecord,
): Promise<Readable | undefined> {
  const { id, hostId } = execution;
  if (hostId !== null && deps.otherHosts?.mayHave(hostId)) return Readable.from(deps.otherHosts.readLog(id));
  // What was kept when it was handed over ends where this host goes on.
  const isKept = execution.logKey !== null && execution.finishedAt !== null;
  const live = isKept ? undefined : await deps.liveLog?.(execution.id);
  if (live !== undefined || execution.logKey === null) return live;
  return deps.storage.get(execution.logKey).catch((error: unknown) => {
    if (!(error instanceof NoSuchObjectError)) throw error;
    return undefined;
  });
}
