import { Alert, Paper, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import { ButtonLink } from "../app/button-link.tsx";
import { EmptyState, ErrorState, LoadingRows } from "../app/states.tsx";
import type { DraftSaving } from "../code/draft-saving.ts";
import { draftPath, draftQuery } from "../code/drafts.ts";
import { MANIFEST_FILE } from "../code/problems.ts";
import type { Execution } from "../execution/execution.ts";
import { RunForm } from "../form/run-form.tsx";
import type { Workflow } from "../workflows/workflows.ts";
import { beginForm, EarlierNote } from "./earlier.tsx";
import { RunFacts } from "./run-facts.tsx";
import classes from "./run-tab.module.css";

interface DraftRunProps {
  readonly workflow: Workflow;
  /** An execution whose inputs the form begins with. */
  readonly earlier: Execution | undefined;
}

/** The form of the viewer's own draft: runs the files as they are written, without committing them. */
export function DraftRun({ workflow, earlier }: DraftRunProps) {
  const draft = useQuery(draftQuery(workflow.workflowId));
  if (draft.isError) return <ErrorState error={draft.error} onRetry={() => void draft.refetch()} />;
  if (draft.isPending) return <LoadingRows label="The draft is loading" />;
  return <DraftColumns workflow={workflow} earlier={earlier} saving={draft.data} />;
}

function DraftColumns({ workflow, earlier, saving }: DraftRunProps & { saving: DraftSaving }) {
  const { workflowId } = workflow;
  const text = saving.getState().files.get(MANIFEST_FILE)?.text ?? "";
  const parsed = useMemo(() => parseManifest(text), [text]);
  if (!parsed.ok) {
    return (
      <EmptyState
        title="The draft cannot be run yet"
        action={
          <ButtonLink to="/workflows/$workflowId/code" params={{ workflowId }} search={{ file: MANIFEST_FILE }}>
            Go to config.yaml
          </ButtonLink>
        }
      >
        {parsed.problems[0]?.message}
      </EmptyState>
    );
  }
  const { manifest } = parsed;
  return (
    <div className={classes.columns}>
      <Paper p="lg" component="section" aria-labelledby="run-title" className={classes.form}>
        <Title order={2} id="run-title" mb="xs">
          Run your draft
        </Title>
        <Alert variant="light" color="yellow" mb="lg" p="sm">
          This runs the files of your draft, not the{" "}
          <Link to="/workflows/$workflowId/run" params={{ workflowId }}>
            latest commit
          </Link>
          . It is charged like any other run, and marked as a draft.
        </Alert>
        {earlier !== undefined && <EarlierNote earlier={earlier} manifest={manifest} />}
        {manifest.inputs.length === 0 && <Text>This workflow takes no inputs.</Text>}
        <RunForm
          path={`${draftPath(workflowId)}/execute`}
          inputs={manifest.inputs}
          begin={beginForm(manifest, earlier)}
          words="Run the draft"
        />
      </Paper>
      <RunFacts workflow={{ ...workflow, head: null }} manifest={manifest} />
    </div>
  );
}
