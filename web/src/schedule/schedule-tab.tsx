import { Button, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useState } from "react";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { MAIN_SCHEDULE } from "../../../domain/schedules/names.ts";
import { ButtonLink } from "../app/button-link.tsx";
import { PauseIcon, PlayIcon } from "../app/icons.tsx";
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

const BuilderDialog = lazy(() =>
  loadPart(() => import("./builder-dialog.tsx")).then((loaded) => ({ default: loaded.BuilderDialog })),
);

const route = getRouteApi("/signed-in/workflows/$workflowId/schedule");

const OVERLAP_WORDS = {
  skip: "If the last run has not ended, the next one is skipped.",
  queue: "If the last run has not ended, the next one waits for it.",
  allow: "Runs may overlap.",
  cancel_previous: "If the last run has not ended, it is cancelled for the next one.",
};
const CATCHUP_WORDS = {
  none: "Runs missed while the service was down are not started.",
  latest: "After the service was down, the latest missed run is started.",
  all: "After the service was down, every missed run is started.",
};

/** Shows when the workflow runs on a schedule, what became of each run, and how to pause and resume it. */
export function ScheduleTab() {
  const { workflowId } = route.useParams();
  const { data: workflow } = useQuery(workflowQuery(workflowId));
  const mayChange = useMayChange();
  if (workflow === undefined) return <LoadingRows label="The schedule is loading" />;
  const { commitId } = workflow;
  // The service knows of no schedule, and of no ticks, before there is a commit.
  if (commitId === null) return <NoSchedule workflowId={workflowId} mayChange={mayChange} />;
  return <Schedules workflowId={workflowId} head={commitId} />;
}

/** Of a workflow with several, the one that the address names; otherwise the first that has not ended. */
function Schedules({ workflowId, head }: { workflowId: string; head: string }) {
  const asked = route.useSearch().schedule;
  const all = useQuery(scheduleQuery(workflowId)).data?.schedules ?? [];
  const chosen = all.find(({ name }) => name === asked) ?? all.find(({ ended }) => !ended) ?? all[0];
  const name = chosen?.name ?? MAIN_SCHEDULE;
  return (
    <div className={classes.page}>
      {all.length > 1 && (
        <Group component="nav" gap="xs" aria-label="Schedules">
          {all.map((one) => (
            <ButtonLink
              key={one.name}
              to="/workflows/$workflowId/schedule"
              params={{ workflowId }}
              search={{ schedule: one.name }}
              size="compact-md"
              variant={one.name === name ? "filled" : "default"}
              aria-current={one.name === name ? "page" : undefined}
            >
              {one.ended ? `${one.name} (ended)` : one.name}
            </ButtonLink>
          ))}
        </Group>
      )}
      <Schedule key={name} workflowId={workflowId} name={name} head={head} />
    </div>
  );
}

function Schedule({ workflowId, name, head }: { workflowId: string; name: string; head: string }) {
  const found = useQuery(scheduleQuery(workflowId, name));
  const mayChange = useMayChange();
  // The dialog keeps the commit it was opened for while the page learns of the new one.
  const [deciding, setDeciding] = useState<{ readonly head: string; readonly enable: boolean }>();
  if (found.isLoadingError) return <ErrorState error={found.error} onRetry={() => void found.refetch()} />;
  if (found.isPending) return <LoadingRows label="The schedule is loading" />;
  const { schedule, paused, nextRuns } = found.data;
  if (schedule === null) {
    if (found.data.schedules?.some((one) => !one.ended)) return <TickHistory workflowId={workflowId} name={name} />;
    return (
      <NoSchedule workflowId={workflowId} mayChange={mayChange}>
        <TickHistory workflowId={workflowId} name={name} />
      </NoSchedule>
    );
  }
  return (
    <div className={`${classes.page} ${classes.columns}`}>
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
          {mayChange && name === MAIN_SCHEDULE && (
            <BuilderButton workflowId={workflowId} variant="default" label="Change" />
          )}
          <ConfigLink workflowId={workflowId} label={mayChange ? "Edit config.yaml" : "Show config.yaml"} />
          {mayChange && (
            <Button
              variant={paused ? "filled" : "default"}
              leftSection={paused ? <PlayIcon /> : <PauseIcon />}
              onClick={() => setDeciding({ head, enable: paused })}
            >
              {paused ? "Resume" : "Pause"}
            </Button>
          )}
        </Group>
      </section>
      <section className={classes.next} aria-labelledby="schedule-next">
        <h2 id="schedule-next" className={classes.title}>
          Next runs
        </h2>
        {nextRuns.length > 0 && <NextRuns runs={nextRuns} />}
        {nextRuns.length === 0 && (
          <Text c="dimmed">{paused ? "None while the schedule is paused." : "It has no more runs."}</Text>
        )}
      </section>
      <TickHistory
        workflowId={workflowId}
        name={name}
        nextRuns={nextRuns}
        backfillSince={mayChange ? schedule.since : undefined}
      />
      {deciding !== undefined && (
        <Suspense>
          <PauseDialog workflowId={workflowId} name={name} {...deciding} onClose={() => setDeciding(undefined)} />
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
            <Group gap="xs" justify="center">
              <BuilderButton workflowId={workflowId} variant="filled" label="New schedule" />
              <ConfigLink workflowId={workflowId} label="Write one into config.yaml" />
            </Group>
          )
        }
      >
        A schedule starts runs by itself, such as every weekday at 9.
      </EmptyState>
      <Text size="sm" c="dimmed" ta="center" mt={-32}>
        In config.yaml it looks like this:
      </Text>
      <pre className={classes.example}>{EXAMPLE}</pre>
      {children}
    </div>
  );
}

function ConfigLink({ workflowId, label }: { workflowId: string; label: string }) {
  return (
    <ButtonLink
      to="/workflows/$workflowId/code"
      params={{ workflowId }}
      search={{ file: "config.yaml" }}
      variant="default"
    >
      {label}
    </ButtonLink>
  );
}

/** Opens the builder of `triggers.schedule`. Nothing before the first commit: there is no file to change. */
function BuilderButton(props: { workflowId: string; variant: "filled" | "default"; label: string }) {
  const { workflowId, variant, label } = props;
  const { data: workflow } = useQuery(workflowQuery(workflowId));
  // The dialog keeps the commit it was opened for while the page learns of the new one.
  const [asked, setAsked] = useState<{ readonly head: string; readonly manifest: Manifest }>();
  if (workflow === undefined || workflow.commitId === null || workflow.manifest === null) return null;
  const { commitId: head, manifest } = workflow;
  return (
    <>
      <Button variant={variant} onClick={() => setAsked({ head, manifest })}>
        {label}
      </Button>
      {asked !== undefined && (
        <Suspense>
          <BuilderDialog workflowId={workflowId} {...asked} onClose={() => setAsked(undefined)} />
        </Suspense>
      )}
    </>
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
