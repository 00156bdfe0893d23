import { Button, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { ButtonLink } from "../app/button-link.tsx";
import { PlayIcon, StopIcon } from "../app/icons.tsx";
import { loadPart } from "../app/load-part.ts";
import { useMayChange } from "../app/session.ts";
import { EmptyState, ErrorState, LoadingRows } from "../app/states.tsx";
import { Time } from "../app/time.tsx";
import { toDuration } from "../app/time-text.ts";
import { workflowQuery } from "../workflows/workflows.ts";
import { NextRuns } from "./next-runs.tsx";
import classes from "./schedule.module.css";
import { type ScheduleDocument, scheduleQuery } from "./schedules.ts";
import { TickHistory } from "./tick-history.tsx";

const PauseDialog = lazy(() =>
  loadPart(() => import("./pause-dialog.tsx")).then((loaded) => ({ default: loaded.PauseDialog })),
);

const route = getRouteApi("/signed-in/workflows/$workflowId/schedule");

const OVERLAP_WORDS = {
  skip: "When the last run still goes on, the next is skipped.",
  queue: "When the last run still goes on, the next waits for it.",
  allow: "Runs may go on side by side.",
  cancel_previous: "When the last run still goes on, it is cancelled for the next.",
};
const CATCHUP_WORDS = {
  none: "What was missed while the service was down stays missed.",
  latest: "Of what was missed while the service was down, the latest is run.",
  all: "All that was missed while the service was down is run.",
};

/** When the workflow runs by the clock, what became of it, and how to stop and begin that. */
export function ScheduleTab() {
  const { workflowId } = route.useParams();
  const { data: workflow } = useQuery(workflowQuery(workflowId));
  const mayChange = useMayChange();
  if (workflow === undefined) return <LoadingRows label="The schedule is loading" />;
  const { commitId } = workflow;
  // The service knows of no schedule, and of no ticks, before there is a commit.
  if (commitId === null) return <NoSchedule workflowId={workflowId} mayChange={mayChange} />;
  return <Schedule workflowId={workflowId} head={commitId} />;
}

function Schedule({ workflowId, head }: { workflowId: string; head: string }) {
  const found = useQuery(scheduleQuery(workflowId));
  const mayChange = useMayChange();
  // What it was decided about stays what it is while the page hears of the new commit.
  const [deciding, setDeciding] = useState<{ readonly head: string; readonly enable: boolean }>();
  if (found.isLoadingError) return <ErrorState error={found.error} onRetry={() => void found.refetch()} />;
  if (found.isPending) return <LoadingRows label="The schedule is loading" />;
  const { schedule, paused, nextRuns } = found.data;
  if (schedule === null) {
    return (
      <NoSchedule workflowId={workflowId} mayChange={mayChange}>
        <TickHistory workflowId={workflowId} />
      </NoSchedule>
    );
  }
  return (
    <div className={classes.page}>
      <section className={classes.card} aria-labelledby="schedule-words">
        <div className={classes.words}>
          <p className={classes.eyebrow}>
            {paused ? <span className={classes.paused}>Paused</span> : <span className={classes.runs}>Active</span>}
          </p>
          <h2 id="schedule-words" className={classes.description}>
            {capitalise(schedule.description)}
          </h2>
          <Details schedule={schedule} />
        </div>
        <Group gap="xs" className={classes.acts}>
          <ButtonLink
            to="/workflows/$workflowId/code"
            params={{ workflowId }}
            search={{ file: "config.yaml" }}
            variant="default"
          >
            {mayChange ? "Edit" : "Show config.yaml"}
          </ButtonLink>
          {mayChange && (
            <Button
              variant={paused ? "filled" : "default"}
              leftSection={paused ? <PlayIcon /> : <StopIcon />}
              onClick={() => setDeciding({ head, enable: paused })}
            >
              {paused ? "Resume" : "Pause"}
            </Button>
          )}
        </Group>
      </section>
      <section aria-labelledby="schedule-next">
        <h2 id="schedule-next" className={classes.title}>
          Next runs
        </h2>
        {nextRuns.length > 0 && <NextRuns runs={nextRuns} />}
        {nextRuns.length === 0 && (
          <Text c="dimmed">{paused ? "None while the schedule is paused." : "It is never due again."}</Text>
        )}
      </section>
      <TickHistory workflowId={workflowId} />
      {deciding !== undefined && (
        <Suspense>
          <PauseDialog workflowId={workflowId} {...deciding} onClose={() => setDeciding(undefined)} />
        </Suspense>
      )}
    </div>
  );
}

function Details({ schedule }: { schedule: NonNullable<ScheduleDocument["schedule"]> }) {
  const { cron, timezone, overlap, catchup, maxLatenessSeconds, jitterSeconds, since } = schedule;
  return (
    <>
      <p className={classes.facts}>
        <code>{cron}</code> in {timezone}, declared <Time at={since} as="short" />
      </p>
      <p className={classes.facts}>
        {OVERLAP_WORDS[overlap]} {CATCHUP_WORDS[catchup]} A run may begin up to {toDuration(maxLatenessSeconds)} late.
        {jitterSeconds > 0 && ` Starts are spread over ${toDuration(jitterSeconds)}.`}
      </p>
    </>
  );
}

function NoSchedule(props: { workflowId: string; mayChange: boolean; children?: ReactNode }) {
  const { workflowId, mayChange, children } = props;
  return (
    <div className={classes.page}>
      <EmptyState
        title="No schedule"
        action={
          mayChange && (
            <ButtonLink
              to="/workflows/$workflowId/code"
              params={{ workflowId }}
              search={{ file: "config.yaml" }}
              variant="default"
            >
              Write one into config.yaml
            </ButtonLink>
          )
        }
      >
        A workflow runs by the clock when its config.yaml says so, and that is committed:
      </EmptyState>
      <pre className={classes.example}>{EXAMPLE}</pre>
      {children}
    </div>
  );
}

const EXAMPLE = `triggers:
  schedule:
    enabled: true
    cron: "0 9 * * 1-5"
    timezone: Europe/Berlin`;

function capitalise(words: string): string {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
