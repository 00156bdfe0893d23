import { Alert, Paper, Progress, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { Copy } from "../app/copy.tsx";
import { AlertIcon } from "../app/icons.tsx";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import { Time } from "../app/time.tsx";
import { useTitle } from "../app/title.ts";
import { describeState, hasEnded, State, TRIGGER_WORDS } from "../executions/state.tsx";
import { ExecutionActions } from "./actions.tsx";
import { Attempts } from "./attempts.tsx";
import { ConnectionsMade } from "./connections.tsx";
import { type Execution, executionQuery } from "./execution.ts";
import classes from "./execution-page.module.css";
import { Figures } from "./figures.tsx";
import { type Followed, useFollowed } from "./follow.ts";
import { InputsUsed } from "./inputs-used.tsx";
import { findLastError } from "./log-lines.ts";
import { LogView } from "./log-view.tsx";
import { Outputs } from "./outputs.tsx";
import { queueWords } from "./queue-words.ts";
import { TextWithPlaces } from "./source-link.tsx";
import { Timeline } from "./timeline.tsx";

const route = getRouteApi("/signed-in/executions/$executionId");

/** One execution, from its first second on: its state, its log as it is written, and what came out of it. */
export function ExecutionPage() {
  const { executionId } = route.useParams();
  const execution = useQuery(executionQuery(executionId));
  if (execution.isPending) return <LoadingRows label="The run is loading" />;
  if (execution.isError) return <ErrorState error={execution.error} onRetry={() => void execution.refetch()} />;
  return <Content key={executionId} execution={execution.data} />;
}

function Content({ execution }: { execution: Execution }) {
  const followed = useFollowed(execution.executionId);
  const ended = hasEnded(execution.status);
  const { workflowId, commitId } = execution;
  const source = useMemo(() => ({ workflowId, commitId }), [workflowId, commitId]);
  const hasFailed = ended && execution.status !== "success" && execution.status !== "cancelled";
  const leftNothing = hasFailed && execution.files.length === 0 && execution.filesRemovedAt == null;
  // How it failed is said where it stands.
  useTitle(`${describeState(execution).label} · ${execution.workflowName}`, !hasFailed);
  return (
    <>
      <Head execution={execution} />
      <Figures execution={execution} />
      {ended && <Timeline execution={execution} />}
      {!ended && <Going execution={execution} followed={followed} />}
      {ended && execution.status !== "success" && <Failure execution={execution} />}
      <div className={classes.columns} data-beside={(ended && execution.files.length > 0) || undefined}>
        <div className={classes.main}>
          {ended && !leftNothing && <Outputs execution={execution} />}
          <section className={classes.log}>
            <Title order={2} mb="xs">
              Log
            </Title>
            <LogView
              label="Log"
              goesOn={!ended}
              followed={followed}
              hasTimes
              fills
              download={toLogFile(execution)}
              source={source}
              findStart={hasFailed ? findLastError : undefined}
            />
          </section>
        </div>
        <aside className={classes.aside} aria-label="About this run">
          <InputsUsed execution={execution} />
          <ConnectionsMade attempts={execution.attempts} />
          <Attempts attempts={execution.attempts} isTriedAgain={execution.nextAttemptAt !== null} />
        </aside>
      </div>
    </>
  );
}

function toLogFile({ executionId }: Execution) {
  return { path: `/api/run-logs/${executionId}/logs`, fileName: `${executionId}.log` };
}

function Head({ execution }: { execution: Execution }) {
  const { executionId, workflowId, workflowName, trigger, schedule, draft, createdAt } = execution;
  return (
    <header className={classes.head}>
      <div className={classes.names}>
        <Link to="/workflows/$workflowId/runs" params={{ workflowId }} className={classes.up}>
          {workflowName}
        </Link>
        <Title order={1} className={classes.title}>
          Run of <Time at={createdAt} as="short" />
        </Title>
        <div className={classes.marks}>
          <State state={execution.status} failure={execution.failure} />
          <Text span c="dimmed">
            {TRIGGER_WORDS[trigger]}
            {schedule !== undefined && ` ${schedule}`}
          </Text>
          {draft && (
            <Text span className={classes.draft} title="It ran files that were not committed.">
              Draft
            </Text>
          )}
          <span className={classes.id}>
            <code>{executionId}</code>
            <Copy value={executionId} label="Copy the run's id" />
          </span>
        </div>
      </div>
      <ExecutionActions execution={execution} />
    </header>
  );
}

/** What can be said while it goes on: where in the queue it is, or how far its program says it is. */
function Going({ execution, followed }: { execution: Execution; followed: Followed }) {
  const { cancelRequestedAt, nextAttemptAt } = execution;
  const progress = nextAttemptAt === null ? (followed.progress ?? execution.progress) : null;
  const words =
    cancelRequestedAt !== null ? (
      "It is being cancelled."
    ) : nextAttemptAt !== null ? (
      <NextAttempt execution={execution} at={nextAttemptAt} />
    ) : execution.status === "queued" ? (
      queueWords(execution)
    ) : (
      progress?.message
    );
  return (
    // Not a status of its own: a program that tells every step would be all that a screen reader says.
    <Paper p="sm" className={classes.going}>
      <Progress.Root size="sm">
        {progress === null ? (
          <Progress.Section value={100} animated withAria={false} role="progressbar" aria-label="Progress" />
        ) : (
          <Progress.Section value={progress.fraction * 100} aria-label="Progress" />
        )}
      </Progress.Root>
      {words !== undefined && words !== "" && (
        <Text size="sm" c="dimmed">
          {words}
          {progress !== null && ` · ${Math.round(progress.fraction * 100)} %`}
        </Text>
      )}
    </Paper>
  );
}

function NextAttempt({ execution: { attempts, limits }, at }: { execution: Execution; at: string }) {
  const tries = attempts.filter(({ status }) => status !== null);
  return (
    <>
      Attempt {tries.length} of {limits.attemptsMax}: {(tries.at(-1)?.status ?? "lost").replaceAll("_", " ")}. It is
      tried again at <Time at={at} />.
    </>
  );
}

function Failure({ execution }: { execution: Execution }) {
  const { status, message, failure } = execution;
  const cancelled = status === "cancelled";
  return (
    <Alert
      mb="lg"
      color={cancelled ? "gray" : "red"}
      variant="light"
      icon={<AlertIcon />}
      title={describeState(execution).label}
      role={cancelled ? "note" : "alert"}
    >
      <span className={classes.message}>
        {cancelled && "The run was cancelled before it ended."}
        {!cancelled && message === "" && "The program left no message."}
        {!cancelled && message !== "" && <TextWithPlaces source={execution} text={message} />}
      </span>
      {failure === "insufficient_credits" && (
        <div>
          Nothing ran and nothing was charged. <Link to="/account">See the account's credits and whom to ask</Link>
        </div>
      )}
    </Alert>
  );
}
