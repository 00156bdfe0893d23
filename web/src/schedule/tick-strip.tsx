import { Link } from "@tanstack/react-router";
import strip from "../executions/strip.module.css";
import { type NextRun, toWall } from "./next-runs.tsx";
import classes from "./schedule.module.css";
import { countTicks, describeLateness, describeTick, isLate, type Tick } from "./tick-words.ts";

const PAST_SHOWN = 30;

/**
 * The last times of a schedule and its next ones, from the left to the right. A past one has the colour of what became of it, and
 * leads to its run; a late one is underlined. For the mouse: the tables beside it say the same.
 */
export function TickStrip({ ticks, nextRuns }: { ticks: readonly Tick[]; nextRuns: readonly NextRun[] }) {
  const past = ticks.slice(0, PAST_SHOWN);
  if (past.length + nextRuns.length === 0) return null;
  return (
    <div className={classes.strip}>
      <div className={strip.strip} aria-hidden="true">
        {past.toReversed().map((tick) => (
          <PastTick key={tick.nominalAt} tick={tick} />
        ))}
        <span className={classes.now} title="Now" />
        {nextRuns.map(({ utc, local }) => (
          <span key={utc} className={`${strip.none} ${classes.coming}`} title={`${toWall(local)}: to come`} />
        ))}
      </div>
      <p className={classes.legend}>
        {past.length === 1 ? "Last time" : `Last ${past.length} times`}: {countTicks(past)}. Next: {nextRuns.length}.
      </p>
    </div>
  );
}

function PastTick({ tick }: { tick: Tick }) {
  const { label, tone } = describeTick(tick);
  const look = {
    className: strip.tick,
    "data-tone": tone,
    "data-late": isLate(tick) || undefined,
    title: `${toWall(tick.local)}: ${label}, ${describeLateness(tick)}`,
  };
  if (tick.executionId === null) return <span {...look} />;
  const params = { executionId: tick.executionId };
  return <Link to="/executions/$executionId" params={params} preload={false} tabIndex={-1} {...look} />;
}
