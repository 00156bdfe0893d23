import { Button, Group, Text, TextInput, Title } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { useFound } from "../app/announcer.tsx";
import { Credits } from "../app/credits.tsx";
import { PlusIcon, SearchIcon } from "../app/icons.tsx";
import { loadPart } from "../app/load-part.ts";
import { Purpose } from "../app/purpose.tsx";
import { useMayChange } from "../app/session.ts";
import { EmptyState, ErrorState, LoadingRows } from "../app/states.tsx";
import tables from "../app/table.module.css";
import { Time } from "../app/time.tsx";
import { useTitle } from "../app/title.ts";
import { State } from "../executions/state.tsx";
import { RunStrip } from "../executions/strip.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { HomeFigures } from "./home-figures.tsx";
import classes from "./list-page.module.css";
import { type WorkflowLine, workflowsQuery } from "./workflows.ts";

const CreateDialog = lazy(() =>
  loadPart(() => import("./create-dialog.tsx")).then((loaded) => ({ default: loaded.CreateDialog })),
);

const ScriptDialog = lazy(() =>
  loadPart(() => import("./script-dialog.tsx")).then((loaded) => ({ default: loaded.ScriptDialog })),
);

/** As many as the service has for each workflow. */
const STRIP_RUNS = 20;

const route = getRouteApi("/signed-in/");

/** All workflows of the account: what ran last, what runs next, what this month has cost. */
export function WorkflowsPage() {
  useTitle("Workflows");
  const { search = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const mayChange = useMayChange();
  const [open, setOpen] = useState<"create" | "script">();
  const close = (): void => setOpen(undefined);
  const found = useQuery({ ...workflowsQuery(search), placeholderData: keepPreviousData });
  useFound(search, found.isSuccess && !found.isPlaceholderData ? countWorkflows(found.data.length) : undefined);
  const create = mayChange && (
    <Button leftSection={<PlusIcon />} onClick={() => setOpen("create")}>
      New workflow
    </Button>
  );
  return (
    <>
      <Group justify="space-between" mb="md" gap="sm">
        <div>
          <Title order={1}>Workflows</Title>
          <Purpose>Python programs that run by a form, a call or a schedule.</Purpose>
        </div>
        <Group gap="sm" wrap="nowrap" className={classes.tools}>
          <TextInput
            type="search"
            size="xs"
            aria-label="Search workflows"
            placeholder="Search"
            leftSection={<SearchIcon />}
            value={search}
            onChange={(event) => {
              const text = event.currentTarget.value;
              void navigate({ search: text === "" ? {} : { search: text }, replace: true });
            }}
          />
          {create}
        </Group>
      </Group>
      <HomeFigures />
      {mayChange && search === "" && (
        <FirstSteps
          workflows={found.data ?? []}
          onCreate={() => setOpen("create")}
          onScript={() => setOpen("script")}
        />
      )}
      {found.isPending && <LoadingRows height={56} label="The workflows are loading" />}
      {found.isError && <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
      {found.isSuccess && found.data.length === 0 && (
        <EmptyState title={search === "" ? "No workflow yet" : "No workflow of that name"} action={create}>
          {search === ""
            ? "A workflow is Python code with a description of what goes in. Begin with an example, and change it."
            : "No workflow has these letters in its name or description."}
        </EmptyState>
      )}
      {found.isSuccess && found.data.length > 0 && <WorkflowTable workflows={found.data} />}
      <Suspense>
        {open === "create" && <CreateDialog onScript={() => setOpen("script")} onClose={close} />}
        {open === "script" && <ScriptDialog onClose={close} />}
      </Suspense>
    </>
  );
}

function countWorkflows(count: number): string {
  return count === 1 ? "1 workflow found" : `${count} workflows found`;
}

function WorkflowTable({ workflows }: { workflows: readonly WorkflowLine[] }) {
  return (
    <div className={tables.frame}>
      <table className={`${tables.table} ${tables.links} ${tables.stacked} ${classes.workflows}`}>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Last {STRIP_RUNS} runs</th>
            <th scope="col">Last run</th>
            <th scope="col">Next run</th>
            <th scope="col" className={`${tables.figure} ${classes.runs}`}>
              Runs this month
            </th>
            <th scope="col" className={tables.figure}>
              Credits this month
            </th>
          </tr>
        </thead>
        <tbody>
          {workflows.map((workflow) => (
            <WorkflowRow key={workflow.workflowId} workflow={workflow} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function WorkflowRow({ workflow }: { workflow: WorkflowLine }) {
  const { lastExecution, nextRun } = workflow;
  return (
    <tr>
      <th scope="row">
        <Link
          to="/workflows/$workflowId/overview"
          params={{ workflowId: workflow.workflowId }}
          className={classes.name}
        >
          {workflow.name}
        </Link>
        <Text size="sm" c="dimmed" lineClamp={1}>
          {workflow.commitId === null ? "Nothing committed yet" : workflow.description}
        </Text>
      </th>
      <td data-label={`Last ${STRIP_RUNS} runs`}>
        <RunStrip runs={workflow.recent} label={`Last ${STRIP_RUNS} runs`} places={STRIP_RUNS} />
      </td>
      <td data-label="Last run">
        {lastExecution === null ? (
          <Text c="dimmed">Never</Text>
        ) : (
          <Link
            to="/executions/$executionId"
            params={{ executionId: lastExecution.executionId }}
            className={classes.last}
          >
            <State state={lastExecution.status} failure={lastExecution.failure} />
            <Text span size="sm" c="dimmed">
              <Time at={lastExecution.createdAt} />
            </Text>
          </Link>
        )}
      </td>
      <td data-label="Next run">
        {nextRun !== null && <Time at={nextRun.utc} />}
        {nextRun === null && <Text c="dimmed">{workflow.schedulePaused ? "Paused" : "Not scheduled"}</Text>}
      </td>
      <td data-label="Runs this month" className={`${tables.figure} ${classes.runs} number`}>
        {workflow.executionsThisMonth.toLocaleString("en")}
      </td>
      <td data-label="Credits this month" className={tables.figure}>
        <Credits amount={workflow.spentThisMonth} />
      </td>
    </tr>
  );
}
