import { useEffect } from "react";
import { followEvents } from "./events.ts";
import { queries } from "./queries.ts";

/** A burst of news is one reason to ask again, not hundreds. */
const GATHER_MS = 400;

/** Keeps what the pages know up to date, for as long as it is mounted: what changed is asked for again. */
export function useLiveUpdates(): void {
  useEffect(() => {
    const stopped = new AbortController();
    const stale = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = (): void => {
      timer = undefined;
      for (const noun of stale) void queries.invalidateQueries({ queryKey: [noun] });
      stale.clear();
    };
    followEvents("/api/editor/events", {
      signal: stopped.signal,
      onEvents(events) {
        for (const { name } of events) for (const noun of NOUNS[name] ?? []) stale.add(noun);
        if (stale.size > 0) timer ??= setTimeout(flush, GATHER_MS);
        return undefined;
      },
    }).catch(() => {
      // Without events the pages are as new as their last look.
    });
    return () => {
      stopped.abort();
      clearTimeout(timer);
    };
  }, []);
}

/** What of the pages' knowledge each event makes old. */
const NOUNS: Readonly<Record<string, readonly string[]>> = {
  execution: ["executions", "workflows", "account"],
  workflow: ["workflows"],
  resync: ["executions", "workflows", "account"],
};
