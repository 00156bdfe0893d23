import { ActionIcon, Alert, Text, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import { CrossIcon } from "../app/icons.tsx";
import { LoadingRows } from "../app/states.tsx";
import { toDuration } from "../app/time-text.ts";
import { type Execution, executionQuery } from "../execution/execution.ts";
import { useFollowed } from "../execution/follow.ts";
import { findLastError } from "../execution/log-lines.ts";
import { LogView } from "../execution/log-view.tsx";
import { Outputs } from "../execution/outputs.tsx";
import { TextWithPlaces } from "../execution/source-link.tsx";
import type { SourcePlace } from "../execution/source-places.ts";
import { hasEnded, State } from "../executions/state.tsx";
import { RunForm } from "../form/run-form.tsx";
import { beginValues, type FormValues } from "../form/values.ts";
import type { DraftSaving } from "./draft-saving.ts";
import { draftPath } from "./drafts.ts";
import { MANIFEST_FILE } from "./problems.ts";
import classes from "./test-pane.module.css";
import type { TestPaneChoice } from "./test-pane-choice.ts";

/** Beside the code: the form of the draft, and below it what its last run here says. The values stay from run to run. */
export function TestPane(props: {
  readonly workflowId: string;
  readonly saving: DraftSaving;
  readonly test: TestPaneChoice;
  /** Opens a file of the draft at a line. */
  readonly onShow: (file: string, at: { line: number; column: number }) => void;
}) {
  const { workflowId, saving, test, onShow } = props;
  const state = useSyncExternalStore(saving.subscribe, saving.getState);
  const text = state.files.get(MANIFEST_FILE)?.text ?? "";
  const parsed = useMemo(() => parseManifest(text), [text]);
  const [values, setValues] = useState<FormValues>({});
  const [executionId, setExecutionId] = useState<string>();
  const inputs = parsed.ok ? parsed.manifest.inputs : undefined;
  const pane = useRef<HTMLElement>(null);
  const { takeOrder } = test;
  // The log is not drawn again because the desk was.
  const latest = useRef(onShow);
  useEffect(() => {
    latest.current = onShow;
  });
  const showPlace = useCallback(
    ({ file, line }: SourcePlace) => {
      const isThere = saving.getState().files.has(file);
      if (isThere) latest.current(file, { line, column: 1 });
      return isThere;
    },
    [saving],
  );
  // By the button, so that the form says what is missing, as it does for who presses it.
  useEffect(() => {
    if (takeOrder()) pane.current?.querySelector<HTMLButtonElement>("button[type=submit]")?.click();
  }, [takeOrder]);
  return (
    <section ref={pane} className={classes.pane} aria-label="Test">
      <div className={classes.head}>
        <h2 className={classes.title}>Test</h2>
        <Text size="sm" c="dimmed" className={classes.grow}>
          Runs your draft
        </Text>
        <Tooltip label="Close">
          <ActionIcon aria-label="Close the test pane" onClick={test.toggle}>
            <CrossIcon />
          </ActionIcon>
        </Tooltip>
      </div>
      <div className={classes.content}>
        {inputs === undefined ? (
          <Text c="dimmed">Correct config.yaml first: the form is made from its inputs.</Text>
        ) : (
          <RunForm
            // Another form for other inputs; what was entered for those that stay is kept.
            key={JSON.stringify(inputs)}
            path={`${draftPath(workflowId)}/execute`}
            inputs={inputs}
            begin={keepValues(beginValues(inputs), values)}
            words="Run draft"
            onChange={setValues}
            pane={{ prepare: () => saving.saveNow(), onStarted: setExecutionId }}
          />
        )}
        {executionId !== undefined && <LastRun key={executionId} executionId={executionId} show={showPlace} />}
      </div>
    </section>
  );
}

/** What was entered before, for controls that take the same shape of value. */
function keepValues(begin: FormValues, entered: FormValues): FormValues {
  return Object.fromEntries(
    Object.entries(begin).map(([name, value]) => {
      const before = entered[name];
      return [name, before !== undefined && Array.isArray(before) === Array.isArray(value) ? before : value];
    }),
  );
}

type Show = (place: SourcePlace) => boolean;

function LastRun({ executionId, show }: { executionId: string; show: Show }) {
  const found = useQuery(executionQuery(executionId));
  if (found.data === undefined) return <LoadingRows count={2} height={24} label="The run is loading" />;
  return <Shown execution={found.data} show={show} />;
}

/** Places of a traceback lead into the draft beside it: what ran is what is written there, or was a moment ago. */
function Shown({ execution, show }: { execution: Execution; show: Show }) {
  const { executionId, workflowId, commitId, status, failure, duration, message } = execution;
  const followed = useFollowed(executionId);
  const ended = hasEnded(status);
  const hasFailed = ended && status !== "success";
  const source = useMemo(() => ({ workflowId, commitId, show }), [workflowId, commitId, show]);
  return (
    <div className={classes.run}>
      <div className={classes.result} role="status">
        <State state={status} failure={failure} />
        <span className="number">{duration === null ? "" : toDuration(duration)}</span>
        <Link to="/executions/$executionId" params={{ executionId }}>
          View run
        </Link>
      </div>
      {hasFailed && message !== "" && (
        <Alert color="red" variant="light" p="xs">
          <TextWithPlaces source={source} text={message} />
        </Alert>
      )}
      <LogView
        label="Log of the test"
        goesOn={!ended}
        followed={followed}
        hasTimes={false}
        source={source}
        findStart={hasFailed ? findLastError : undefined}
      />
      {ended && <Outputs execution={execution} />}
    </div>
  );
}
