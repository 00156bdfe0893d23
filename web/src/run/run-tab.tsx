import { Paper, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { ButtonLink } from "../app/button-link.tsx";
import { loadPart } from "../app/load-part.ts";
import { EmptyState, ErrorState, LoadingRows } from "../app/states.tsx";
import { type Execution, executionQuery } from "../execution/execution.ts";
import { RunForm } from "../form/run-form.tsx";
import { type Workflow, workflowQuery } from "../workflows/workflows.ts";
import { beginForm, EarlierNote } from "./earlier.tsx";
import { RunFacts } from "./run-facts.tsx";
import classes from "./run-tab.module.css";

const DraftRun = lazy(() => loadPart(() => import("./draft-run.tsx")).then((loaded) => ({ default: loaded.DraftRun })));

const route = getRouteApi("/signed-in/workflows/$workflowId/run");

/** The form of the latest commit; filled in with an earlier execution's inputs where the address names one. */
export function RunTab() {
  const { workflowId } = route.useParams();
  const { rerun, draft } = route.useSearch();
  const { data: workflow } = useQuery(workflowQuery(workflowId));
  const earlier = useQuery({ ...executionQuery(rerun ?? ""), enabled: rerun !== undefined });
  if (workflow === undefined) return null;
  if (rerun !== undefined && earlier.isPending) return <LoadingRows label="The earlier inputs are loading" />;
  if (rerun !== undefined && earlier.isError)
    return <ErrorState error={earlier.error} onRetry={() => void earlier.refetch()} />;
  if (draft !== undefined) {
    return (
      <Suspense fallback={<LoadingRows label="The draft is loading" />}>
        <DraftRun key={rerun} workflow={workflow} earlier={earlier.data} />
      </Suspense>
    );
  }
  if (workflow.manifest === null) {
    return (
      <EmptyState
        title="Nothing is committed yet"
        action={
          <ButtonLink to="/workflows/$workflowId/code" params={{ workflowId }}>
            Go to the code
          </ButtonLink>
        }
      >
        A form is made from the inputs of the latest commit. Write config.yaml and main.py, commit them, and it is here.
      </EmptyState>
    );
  }
  return <RunColumns key={rerun} workflow={workflow} manifest={workflow.manifest} earlier={earlier.data} />;
}

function RunColumns(props: { workflow: Workflow; manifest: Manifest; earlier: Execution | undefined }) {
  const { workflow, manifest, earlier } = props;
  const { inputs } = manifest;
  return (
    <div className={classes.columns}>
      <Paper p="lg" component="section" aria-labelledby="run-title" className={classes.form}>
        <Title order={2} id="run-title" mb="xs">
          {earlier === undefined ? "Run" : "Run again"}
        </Title>
        {manifest.description !== "" && (
          <Text c="dimmed" mb="lg">
            {manifest.description}
          </Text>
        )}
        {earlier !== undefined && <EarlierNote earlier={earlier} manifest={manifest} />}
        {inputs.length === 0 && <Text>This workflow takes no inputs.</Text>}
        <RunForm
          path={`/api/workflows/${workflow.workflowId}/execute`}
          inputs={inputs}
          begin={beginForm(manifest, earlier)}
        />
      </Paper>
      <RunFacts workflow={workflow} manifest={manifest} />
    </div>
  );
}
