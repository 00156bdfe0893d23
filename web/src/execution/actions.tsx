import { Button, Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { say } from "../app/announcer.tsx";
import { callApi } from "../app/api.ts";
import { ButtonLink } from "../app/button-link.tsx";
import { ExternalIcon, RepeatIcon, StopIcon } from "../app/icons.tsx";
import { useMayChange } from "../app/session.ts";
import { hasEnded } from "../executions/state.tsx";
import { type Execution, executionQuery, lacksInputs } from "./execution.ts";

/** What can be done with an execution: stop it, run it again, look at it in Temporal. */
export function ExecutionActions({ execution }: { execution: Execution }) {
  const { executionId, workflowId, status, draft, cancelRequestedAt } = execution;
  const temporalUrl = findTemporalUrl(execution);
  const hasInputs = !lacksInputs(execution);
  const mayChange = useMayChange();
  const known = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => callApi(`/api/run-logs/${executionId}/cancel`, { method: "POST" }),
    onSuccess: () => {
      say("The run is being cancelled");
      return known.invalidateQueries({ queryKey: executionQuery(executionId).queryKey });
    },
    onError: (error) => notifications.show({ color: "red", title: "It was not cancelled", message: error.message }),
  });
  return (
    <Group gap="xs">
      {temporalUrl !== null && (
        <Button
          component="a"
          href={temporalUrl}
          target="_blank"
          rel="noreferrer"
          variant="default"
          leftSection={<ExternalIcon />}
        >
          Temporal
        </Button>
      )}
      {mayChange && !hasEnded(status) && (
        <Button
          variant="default"
          leftSection={<StopIcon />}
          loading={cancel.isPending}
          disabled={cancelRequestedAt !== null}
          onClick={() => cancel.mutate()}
        >
          {cancelRequestedAt === null ? "Cancel run" : "Cancelling"}
        </Button>
      )}
      {mayChange && (
        <ButtonLink
          to="/workflows/$workflowId/run"
          params={{ workflowId }}
          // What was tried as a draft is tried again as one: its inputs may be others than the latest commit's.
          search={{ ...(draft ? { draft: "1" } : {}), ...(hasInputs ? { rerun: executionId } : {}) }}
          variant={hasEnded(status) ? "filled" : "default"}
          leftSection={<RepeatIcon />}
        >
          {hasInputs ? "Edit and rerun" : "Go to the form"}
        </ButtonLink>
      )}
    </Group>
  );
}

/**
 * Where Temporal shows it, for those whom the service names an address to. None for what Temporal never saw, and none on
 * the server's own machine for a browser that is on another.
 */
function findTemporalUrl({ temporalUrl, failure, startedAt }: Execution): string | null {
  if (temporalUrl === null || (failure === "insufficient_credits" && startedAt === null)) return null;
  const isHere = isLoopback(new URL(temporalUrl).hostname) && !isLoopback(location.hostname);
  return isHere ? null : temporalUrl;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || host.startsWith("127.");
}
