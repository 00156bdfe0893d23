import { Button, Group, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { RepeatIcon } from "../app/icons.tsx";
import { loadPart } from "../app/load-part.ts";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import tables from "../app/table.module.css";
import { useNow } from "../app/time.tsx";
import { toExact, toRelative } from "../app/time-text.ts";
import { type NextRun, toWall } from "./next-runs.tsx";
import classes from "./schedule.module.css";
import { ticksQuery } from "./schedules.ts";
import { TickStrip } from "./tick-strip.tsx";
import { describeLateness, describeTick, isLate, type Tick } from "./tick-words.ts";

const MINUTE_MS = 60_000;
const PERIOD_MS = 12 * 3_600_000;

const BackfillDialog = lazy(() =>
  loadPart(() => import("./backfill-dialog.tsx")).then((loaded) => ({ default: loaded.BackfillDialog })),
);

/** What became of each time the schedule was due. Nothing is left out: what did not start says why. */
export function TickHistory(props: {
  readonly workflowId: string;
  /** Of the schedule. */
  readonly name: string;
  readonly nextRuns?: readonly NextRun[];
  /** Since when it is as it is, where missed times may be run. */
  readonly backfillSince?: string | undefined;
}) {
  const { workflowId, name, nextRuns = [], backfillSince } = props;
  const [asked, setAsked] = useState<{ readonly from: string; readonly to: string }>();
  const found = useInfiniteQuery(ticksQuery(workflowId, name));
  const ticks = found.data?.pages.flatMap((page) => page.ticks) ?? [];
  return (
    <section aria-labelledby="schedule-history">
      <Group justify="space-between" gap="sm" mb={8}>
        <h2 id="schedule-history" className={classes.title}>
          History
        </h2>
        {backfillSince !== undefined && (
          <Button variant="default" leftSection={<RepeatIcon />} onClick={() => setAsked(lastHours(backfillSince))}>
            Run missed times
          </Button>
        )}
      </Group>
      {found.isSuccess && ticks.length > 0 && <TickStrip ticks={ticks} nextRuns={nextRuns} />}
      {found.isPending && <LoadingRows count={3} label="The history is loading" />}
      {found.isError && <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
      {found.isSuccess && ticks.length === 0 && (
        <Text c="dimmed">Nothing was due yet. Each scheduled time will be listed here with its outcome.</Text>
      )}
      {ticks.length > 0 && <TickTable ticks={ticks} onRun={backfillSince === undefined ? undefined : setAsked} />}
      {found.hasNextPage && (
        <Button variant="default" mt="sm" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          Show earlier ones
        </Button>
      )}
      {asked !== undefined && (
        <Suspense>
          <BackfillDialog workflowId={workflowId} name={name} period={asked} onClose={() => setAsked(undefined)} />
        </Suspense>
      )}
    </section>
  );
}

/**
 * The last twelve hours, in whole minutes: of a schedule of each minute, as many times as one backfill takes. Before it was
 * declared it missed nothing.
 */
function lastHours(since: string): { from: string; to: string } {
  const to = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  const from = Math.min(Math.max(to - PERIOD_MS, Date.parse(since)), to - MINUTE_MS);
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

/** The minute of one tick alone. */
function minuteOf({ nominalAt }: Tick): { from: string; to: string } {
  return { from: nominalAt, to: new Date(Date.parse(nominalAt) + MINUTE_MS).toISOString() };
}

function TickTable(props: {
  readonly ticks: readonly Tick[];
  readonly onRun: ((period: { from: string; to: string }) => void) | undefined;
}) {
  const { ticks, onRun } = props;
  const now = useNow(30_000);
  return (
    <div className={tables.frame}>
      <table className={`${tables.table} ${tables.stacked} ${classes.times}`}>
        <thead>
          <tr>
            <th scope="col">Due</th>
            <th scope="col">Outcome</th>
            <th scope="col">Run</th>
          </tr>
        </thead>
        <tbody>
          {ticks.map((tick) => {
            const { label, tone } = describeTick(tick);
            const due = new Date(tick.nominalAt);
            return (
              <tr key={tick.nominalAt}>
                <td data-label="Due">
                  <time dateTime={tick.nominalAt} title={toExact(due)}>
                    {toWall(tick.local)}
                  </time>
                  <span className={classes.offset}>{toRelative(due, now < due ? due : now)}</span>
                </td>
                <td data-label="Outcome">
                  <span className={classes.outcome} data-tone={tone}>
                    {label}
                  </span>
                  <TickRemarks tick={tick} />
                </td>
                <td data-label="Run">
                  {tick.executionId === null ? (
                    <NotStarted due={toWall(tick.local)} onRun={onRun && (() => onRun(minuteOf(tick)))} />
                  ) : (
                    <Link to="/executions/$executionId" params={{ executionId: tick.executionId }}>
                      View run
                    </Link>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function NotStarted({ due, onRun }: { due: string; onRun: (() => void) | undefined }) {
  if (onRun === undefined) return <Text c="dimmed">None</Text>;
  return (
    <Button variant="subtle" size="compact-sm" aria-label={`Run it now: due ${due}`} onClick={onRun}>
      Run it now
    </Button>
  );
}

function TickRemarks({ tick }: { tick: Tick }) {
  const late = isLate(tick) || tick.source === "backfill" ? describeLateness(tick) : "";
  const remarks = [tick.reason, late].filter((remark) => remark !== "");
  return remarks.length === 0 ? null : <span className={classes.note}>{remarks.join(", ")}</span>;
}
