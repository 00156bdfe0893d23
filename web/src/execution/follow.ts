import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { followEvents, type StreamState } from "../app/events.ts";
import { type Execution, executionQuery, type Progress } from "./execution.ts";
import { createLogLines, type LogLine, type LogLines } from "./log-lines.ts";

export interface Followed {
  readonly log: LogLines;
  /** `ended`: everything has come. */
  readonly state: StreamState | "ended";
  readonly progress: Progress | null;
  /** Why there is no log. */
  readonly error: Error | undefined;
}

const BEGINNING = { state: "open", progress: null, error: undefined } as const;

/**
 * An execution as it goes on: its log, what there is and what comes, and how far its program says it is. Keeps what the
 * pages know of its state up to date.
 */
export function useFollowed(executionId: string): Followed {
  const known = useQueryClient();
  const [log] = useState(createLogLines);
  const [followed, setFollowed] = useState<Omit<Followed, "log">>(BEGINNING);
  useEffect(() => {
    const stopped = new AbortController();
    log.clear();
    const change = (part: Partial<Followed>): void => {
      if (!stopped.signal.aborted) setFollowed((before) => ({ ...before, ...part }));
    };
    const { queryKey } = executionQuery(executionId);
    followEvents(`/api/run-logs/${executionId}/logs`, {
      signal: stopped.signal,
      onState: (state) => change({ state }),
      onEvents(events) {
        if (stopped.signal.aborted) return "stop";
        const added: LogLine[] = [];
        for (const { name, data } of events) {
          if (name === "message") added.push(JSON.parse(data) as LogLine);
          else if (name === "progress") change({ progress: JSON.parse(data) as Progress });
          else if (name === "status")
            known.setQueryData<Execution>(queryKey, (before) => before && { ...before, ...readStatus(data) });
        }
        if (added.length > 0) log.add(added);
        if (!events.some(({ name }) => name === "result")) return undefined;
        change({ state: "ended" });
        void known.invalidateQueries({ queryKey });
        return "stop";
      },
    }).catch((error: Error) => change({ state: "ended", error }));
    return () => stopped.abort();
  }, [executionId, known, log]);
  return { log, ...followed };
}

type Going = Pick<Execution, "status" | "queuePosition" | "slotPosition">;

function readStatus(data: string): Going {
  const {
    status,
    queuePosition = null,
    slotPosition = null,
  } = JSON.parse(data) as Partial<Going> & Pick<Going, "status">;
  return { status, queuePosition, slotPosition };
}
