import { useEffect } from "react";
import { forgetConnection, noteStream, whenConnectionReturns } from "./connection.ts";
import type { ServerEvent } from "./event-parser.ts";
import { followEvents } from "./events.ts";
import { queries } from "./queries.ts";

/** A burst of news is one reason to ask again, not hundreds. */
const GATHER_MS = 400;

/** Keeps what the pages know up to date, for as long as it is mounted: what changed is asked for again. */
export function useLiveUpdates(): void {
  useEffect(() => {
    const stopped = new AbortController();
    const stale = new Map<string, readonly string[]>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = (): void => {
      timer = undefined;
      for (const [name, queryKey] of stale) {
        // A running request may be for the next page of a list. It would be given up.
        if (queries.isFetching({ queryKey }) > 0) continue;
        stale.delete(name);
        void queries.invalidateQueries({ queryKey });
      }
      if (stale.size > 0) timer = setTimeout(flush, GATHER_MS);
    };
    followEvents("/api/events", {
      signal: stopped.signal,
      onState: noteStream,
      onEvents(events) {
        for (const key of events.flatMap(listStale)) stale.set(key.join(" "), key);
        if (stale.size > 0) timer ??= setTimeout(flush, GATHER_MS);
        return undefined;
      },
    }).catch(() => {
      // Without events the pages are as new as their last look.
    });
    // Who asked meanwhile may still be waiting for the next attempt, or got no answer at all.
    const stopAsking = whenConnectionReturns(() => void queries.invalidateQueries());
    return () => {
      stopped.abort();
      stopAsking();
      forgetConnection();
      clearTimeout(timer);
    };
  }, []);
}

/** What of the pages' knowledge an event makes old. */
function listStale({ name, data }: ServerEvent): (readonly string[])[] {
  const { workflowId = "" } = JSON.parse(data) as { workflowId?: string };
  switch (name) {
    case "execution":
      return [["executions"], ["workflows"], ["account"], ["schedules", workflowId]];
    case "workflow":
      return [["workflows"], ["schedules", workflowId]];
    case "resync":
      return [["executions"], ["workflows"], ["account"], ["schedules"]];
    default:
      return [];
  }
}
