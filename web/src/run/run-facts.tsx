import { Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { DEFAULT_BOUNDS } from "../../../domain/manifest/bounds.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { formatSize } from "../../../domain/manifest/sizes.ts";
import { Credits } from "../app/credits.tsx";
import { Fact, Facts } from "../app/facts.tsx";
import { Time } from "../app/time.tsx";
import { toDuration } from "../app/time-text.ts";
import { executionsQuery } from "../executions/executions.ts";
import { State } from "../executions/state.tsx";
import type { Workflow } from "../workflows/workflows.ts";
import classes from "./run-facts.module.css";

const RECENT_SHOWN = 5;
const COMMIT_CHARACTERS = 7;

/** What stands beside the form: what will run, within which limits, and how it went before. */
export function RunFacts({ workflow, manifest }: { workflow: Workflow; manifest: Manifest }) {
  const { head, estimate } = workflow;
  const { limits } = manifest;
  return (
    <aside className={classes.aside} aria-label="About this run">
      <section>
        <Title order={2} size="h3" mb="xs">
          What runs
        </Title>
        <Facts>
          {head !== null && (
            <Fact name="Commit">
              <Link
                to="/workflows/$workflowId/code"
                params={{ workflowId: workflow.workflowId }}
                search={{ commit: head.commitId }}
                title={head.commitId}
              >
                <code>{head.commitId.slice(0, COMMIT_CHARACTERS)}</code>
              </Link>
              {" · "}
              <Time at={head.createdAt} />
            </Fact>
          )}
          <Fact name="Usual cost">
            {estimate === null ? "Not known yet" : <Credits amount={estimate.credits} unit />}
          </Fact>
          <Fact name="Time limit">{toDuration(limits.timeoutSeconds)}</Fact>
          <Fact name="Memory">{formatSize(limits.memoryBytes)}</Fact>
          <Fact name="Processors">{limits.cpu}</Fact>
          <Fact name="Processes and threads">{limits.processes ?? DEFAULT_BOUNDS.processesDefault}</Fact>
          <Fact name="Open files">{limits.openFiles ?? DEFAULT_BOUNDS.openFilesDefault}</Fact>
          <Fact name="Network">{limits.network ? "On" : "Off"}</Fact>
        </Facts>
      </section>
      <RecentRuns workflowId={workflow.workflowId} />
    </aside>
  );
}

function RecentRuns({ workflowId }: { workflowId: string }) {
  const { data } = useInfiniteQuery(executionsQuery({ workflow: workflowId }));
  const recent = data?.pages[0]?.executions.slice(0, RECENT_SHOWN) ?? [];
  if (recent.length === 0) return null;
  return (
    <section>
      <Title order={2} size="h3" mb="xs">
        Recent runs
      </Title>
      <ul className={classes.recent}>
        {recent.map(({ executionId, status, failure, createdAt }) => (
          <li key={executionId}>
            <Link to="/executions/$executionId" params={{ executionId }}>
              <State state={status} failure={failure} />
            </Link>
            <Text span size="sm" c="dimmed">
              <Time at={createdAt} />
            </Text>
          </li>
        ))}
      </ul>
    </section>
  );
}
