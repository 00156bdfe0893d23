import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ButtonLink } from "../app/button-link.tsx";
import { Credits } from "../app/credits.tsx";
import { DayChart } from "../app/day-chart.tsx";
import { EmptyState, ErrorState, LoadingRows } from "../app/states.tsx";
import { Time } from "../app/time.tsx";
import { toDuration } from "../app/time-text.ts";
import { State } from "../executions/state.tsx";
import { RunStrip } from "../executions/strip.tsx";
import { overviewQuery, type Workflow, workflowQuery } from "../workflows/workflows.ts";
import { type Overview, summarise } from "./figures.ts";
import classes from "./overview-tab.module.css";

const STRIP_RUNS = 30;
const CHART_PX = 180;
const SUCCEEDED = "var(--state-success)";
const FAILED = "var(--state-failure)";
const MEDIAN = "#5f6ee0";
const P95 = "color-mix(in srgb, #5f6ee0 32%, transparent)";

const route = getRouteApi("/signed-in/workflows/$workflowId/overview");

/** How a workflow is doing: its last runs, how many succeed, how long they take, and what went wrong last. */
export function OverviewTab() {
  const { workflowId } = route.useParams();
  const { data: workflow } = useQuery(workflowQuery(workflowId));
  const found = useQuery(overviewQuery(workflowId));
  if (found.isError) return <ErrorState error={found.error} onRetry={() => void found.refetch()} />;
  if (found.isPending || workflow === undefined) return <LoadingRows label="The overview is loading" />;
  if (found.data.recent.length === 0) return <NoRuns workflow={workflow} />;
  return <Overviewed workflow={workflow} overview={found.data} />;
}

/** What to do first: run it, or write it. */
function NoRuns({ workflow: { workflowId, manifest } }: { workflow: Workflow }) {
  if (manifest === null) {
    return (
      <EmptyState
        title="Nothing is committed yet"
        action={
          <ButtonLink to="/workflows/$workflowId/code" params={{ workflowId }}>
            Go to the code
          </ButtonLink>
        }
      >
        Write config.yaml and main.py, and commit them. Then it can be run.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title="No runs yet"
      action={
        <ButtonLink to="/workflows/$workflowId/run" params={{ workflowId }}>
          Go to the form
        </ButtonLink>
      }
    >
      Success rate, durations and the last failure are here after the first run.
    </EmptyState>
  );
}

function Overviewed({ workflow, overview }: { workflow: Workflow; overview: Overview }) {
  const { workflowId } = workflow;
  return (
    <div className={classes.page}>
      <Figures workflow={workflow} overview={overview} />
      <div className={classes.latest}>
        <section className={classes.card} aria-labelledby="overview-recent">
          <div className={classes.head}>
            <h2 id="overview-recent">Last {STRIP_RUNS} runs</h2>
            <Link to="/workflows/$workflowId/runs" params={{ workflowId }} className="aside-link">
              All runs
            </Link>
          </div>
          <RunStrip runs={overview.recent} label={`Last ${STRIP_RUNS} runs`} places={STRIP_RUNS} />
        </section>
        {overview.lastFailure !== null && <LastFailure failure={overview.lastFailure} />}
      </div>
      <div className={classes.charts}>
        <ChartCard
          id="overview-ends"
          title="Runs a day"
          legend={[
            ["Succeeded", SUCCEEDED],
            ["Failed", FAILED],
          ]}
        >
          <DayChart
            label="Runs a day, by their end"
            days={overview.days.map(({ day }) => day)}
            series={[
              { name: "Succeeded", colour: SUCCEEDED, perDay: overview.days.map(({ succeeded }) => succeeded) },
              { name: "Failed", colour: FAILED, perDay: overview.days.map(({ failed }) => failed) },
            ]}
            addsUp
            counts
            height={CHART_PX}
            toText={String}
          />
        </ChartCard>
        <ChartCard
          id="overview-time"
          title="Duration"
          legend={[
            ["Median", MEDIAN],
            ["95 of 100 within", P95],
          ]}
        >
          {overview.days.every(({ median }) => median === null) ? (
            <Text c="dimmed">No run succeeded in these days.</Text>
          ) : (
            <DayChart
              label="Duration of successful runs a day"
              days={overview.days.map(({ day }) => day)}
              series={[
                { name: "95 of 100 within", colour: P95, perDay: overview.days.map(({ p95 }) => p95 ?? 0) },
                { name: "Median", colour: MEDIAN, perDay: overview.days.map(({ median }) => median ?? 0) },
              ]}
              addsUp={false}
              height={CHART_PX}
              toText={(seconds) => (seconds === 0 ? "0" : toDuration(seconds))}
            />
          )}
        </ChartCard>
      </div>
      <Text size="sm" c="dimmed">
        The charts look at the newest 100 runs of each day in UTC. Cancelled and refused runs count neither way.
      </Text>
    </div>
  );
}

function Figures({ workflow, overview }: { workflow: Workflow; overview: Overview }) {
  const { rate, median, p95 } = summarise(overview);
  const { nextRun, spentThisMonth } = workflow;
  return (
    <dl className={classes.figures}>
      <Figure name="Success, 14 days">{rate === null ? "–" : `${Math.floor(rate * 1000) / 10} %`}</Figure>
      <Figure name="Median duration">{median === null ? "–" : toDuration(median)}</Figure>
      <Figure name="95 of 100 within">{p95 === null ? "–" : toDuration(p95)}</Figure>
      <Figure name="Credits this month">
        <Credits amount={spentThisMonth} />
      </Figure>
      <Figure name="Next run">{nextRun === null ? "–" : <Time at={nextRun.utc} />}</Figure>
    </dl>
  );
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="number">{children}</dd>
    </div>
  );
}

function ChartCard(props: {
  readonly id: string;
  readonly title: string;
  readonly legend: readonly (readonly [name: string, colour: string])[];
  readonly children: ReactNode;
}) {
  const { id, title, legend, children } = props;
  return (
    <section className={classes.card} aria-labelledby={id}>
      <div className={classes.head}>
        <h2 id={id}>{title}</h2>
        <ul className={classes.legend} aria-hidden="true">
          {legend.map(([name, colour]) => (
            <li key={name}>
              <span style={{ background: colour }} />
              {name}
            </li>
          ))}
        </ul>
      </div>
      {children}
    </section>
  );
}

function LastFailure({ failure }: { failure: NonNullable<Overview["lastFailure"]> }) {
  const { executionId, status, message, createdAt } = failure;
  return (
    <section className={classes.card} aria-labelledby="overview-failure">
      <div className={classes.head}>
        <h2 id="overview-failure">Last failure</h2>
        <Link to="/executions/$executionId" params={{ executionId }} className="aside-link">
          View run
        </Link>
      </div>
      <p className={classes.failure}>
        <State state={status} />
        <Text span size="sm" c="dimmed">
          <Time at={createdAt} />
        </Text>
        <span className={classes.message}>{message}</span>
      </p>
    </section>
  );
}
