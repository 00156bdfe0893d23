import { Link } from "@tanstack/react-router";
import type { z } from "zod";
import type { WorkflowOverview } from "../../../domain/api/workflows.ts";
import { toDuration, toShort } from "../app/time-text.ts";
import { describeState } from "./state.tsx";
import classes from "./strip.module.css";

export type RecentRun = z.infer<typeof WorkflowOverview>["recent"][number];

/**
 * The last runs as ticks, the newest on the right, each in the colour of its end and a link to it. For the mouse: a table
 * says the same, and lists of runs have the links.
 */
export function RunStrip({ runs, label, places }: { runs: readonly RecentRun[]; label: string; places: number }) {
  const shown = runs.slice(0, places).toReversed();
  return (
    <div className={classes.place}>
      <div className={classes.strip} aria-hidden="true">
        {Array.from({ length: places - shown.length }, (_, at) => (
          <span key={at} className={classes.none} />
        ))}
        {shown.map((run) => (
          <Link
            key={run.executionId}
            to="/executions/$executionId"
            params={{ executionId: run.executionId }}
            preload={false}
            tabIndex={-1}
            className={classes.tick}
            data-tone={describeState(run).tone}
            title={`${describeState(run).label}, ${toShort(new Date(run.createdAt))}, ${toDuration(run.duration)}`}
          />
        ))}
      </div>
      <span className="unseen">{`${label}: ${countStates(runs.slice(0, places))}`}</span>
    </div>
  );
}

/** "18 success, 2 failed", or that there are none. */
function countStates(runs: readonly RecentRun[]): string {
  const counts = new Map<string, number>();
  for (const run of runs) {
    const { label } = describeState(run);
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return counts.size === 0 ? "none" : [...counts].map(([state, count]) => `${count} ${state.toLowerCase()}`).join(", ");
}
