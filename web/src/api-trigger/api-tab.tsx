import { Button, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { ButtonLink } from "../app/button-link.tsx";
import { ExternalIcon } from "../app/icons.tsx";
import { loadPart } from "../app/load-part.ts";
import { useMayChange } from "../app/session.ts";
import { EmptyState, ErrorState, LoadingRows } from "../app/states.tsx";
import { type Workflow, workflowQuery } from "../workflows/workflows.ts";
import classes from "./api-tab.module.css";
import { KeyCard } from "./key-card.tsx";
import { RecentCalls } from "./recent-calls.tsx";
import { SnippetCard } from "./snippet-card.tsx";

const EnableDialog = lazy(() =>
  loadPart(() => import("./enable-dialog.tsx")).then((loaded) => ({ default: loaded.EnableDialog })),
);

const route = getRouteApi("/signed-in/workflows/$workflowId/api");

/** How programs run the workflow: whether they may, with which key, and the code to paste. */
export function ApiTab() {
  const { workflowId } = route.useParams();
  const found = useQuery(workflowQuery(workflowId));
  const [revealed, setRevealed] = useState<string>();
  if (found.isError) return <ErrorState error={found.error} onRetry={() => void found.refetch()} />;
  if (found.isPending) return <LoadingRows label="The API trigger is loading" />;
  const workflow = found.data;
  if (workflow.manifest === null) {
    return (
      <EmptyState
        title="Nothing to call yet"
        action={
          <ButtonLink to="/workflows/$workflowId/code" params={{ workflowId }}>
            Go to the code
          </ButtonLink>
        }
      >
        A workflow can be called once its files are committed.
      </EmptyState>
    );
  }
  return (
    <div className={classes.page}>
      <TriggerCard workflow={workflow} />
      <KeyCard workflowId={workflowId} revealed={revealed} onReveal={setRevealed} />
      <SnippetCard workflow={workflow} manifest={workflow.manifest} revealed={revealed} />
      <RecentCalls workflowId={workflowId} />
    </div>
  );
}

function TriggerCard({ workflow }: { workflow: Workflow }) {
  const { workflowId, apiEnabled, docsUrl } = workflow;
  const mayChange = useMayChange();
  const [changing, setChanging] = useState(false);
  return (
    <section className={classes.card} aria-labelledby="api-trigger">
      <div className={classes.head}>
        <div>
          <h2 id="api-trigger" className={classes.title}>
            <span className={classes.dot} data-enabled={apiEnabled || undefined} aria-hidden="true" />
            {apiEnabled ? "Calls are accepted" : "Calls are refused"}
          </h2>
          <Text size="sm" c="dimmed">
            {apiEnabled
              ? "Anyone with the key can run the latest commit."
              : "The API trigger is not enabled in the latest commit: calls are answered 403."}
          </Text>
        </div>
        <Group gap="xs">
          <Button
            component="a"
            href={docsUrl}
            target="_blank"
            rel="noreferrer"
            variant="default"
            rightSection={<ExternalIcon size={14} />}
          >
            OpenAPI
          </Button>
          {mayChange && (
            <Button variant={apiEnabled ? "default" : "filled"} onClick={() => setChanging(true)}>
              {apiEnabled ? "Disable" : "Enable"}
            </Button>
          )}
        </Group>
      </div>
      {changing && (
        <Suspense>
          <EnableDialog workflowId={workflowId} enable={!apiEnabled} onClose={() => setChanging(false)} />
        </Suspense>
      )}
    </section>
  );
}
