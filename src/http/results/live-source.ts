import { Readable } from "node:stream";
import type { ExecutionRecord } from "../../../db/executions/executions.ts";
import type { LogPlace, RemoteExecution } from "../../executions/other-hosts.ts";
import type { AppDeps } from "../deps.ts";

type Deps = Pick<AppDeps, "liveLog" | "liveProgress" | "otherHosts" | "executions">;

/** An execution as one stream follows it: from this process, or from the host that runs it. */
export interface LiveSource {
  /** Looks where it runs by now. A place in the log of another host is none in this one's. */
  place(execution: ExecutionRecord, at: LogPlace): void;
  /** Returns what came behind a place in its log. `isMore`: there may be more at once. */
  read(at: LogPlace): Promise<{ readonly log: AsyncIterable<Buffer>; readonly isMore: boolean } | undefined>;
  progress(): ReturnType<NonNullable<Deps["liveProgress"]>>;
  slotPosition(): number | undefined;
  /** Resolves when another host has something new, or on abort; never for an execution of this process. */
  news(signal: AbortSignal): Promise<void>;
  close(): void;
}

export function openLiveSource(deps: Deps, executionId: ExecutionRecord["id"]): LiveSource {
  let remote: RemoteExecution | undefined;
  let onNews = (): void => {};
  return {
    place({ hostId }, at) {
      const isRemote = deps.otherHosts?.mayHave(hostId) === true;
      if (isRemote === (remote !== undefined)) return;
      remote?.close();
      remote = isRemote ? deps.otherHosts?.follow(executionId, () => onNews()) : undefined;
      delete at.hostId;
      at.offset = 0;
    },
    async read(at) {
      if (remote === undefined) {
        const log = await deps.liveLog?.(executionId, at.offset);
        return log && { log, isMore: false };
      }
      const lines = remote.take(at);
      return lines && { log: Readable.from([lines]), isMore: true };
    },
    progress: () => (remote === undefined ? deps.liveProgress?.(executionId) : (remote.state().progress ?? undefined)),
    slotPosition: () =>
      remote === undefined ? deps.executions.placeOf(executionId) : (remote.state().slotPosition ?? undefined),
    news: (signal) =>
      new Promise((resolve) => {
        onNews = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      }),
    close: () => remote?.close(),
  };
}
