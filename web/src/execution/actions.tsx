import { Button, Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { say } from "../app/announcer.tsx";
import { callApi } from "../app/api.ts";
import { ButtonLink } from "../app/button-link.tsx";
import { ExternalIcon, RepeatIcon, StopIcon } from "../app/icons.tsx";
import { useMayChange } from "../app/session.ts";
import { hasEnded } from "../executions/state.tsx";
import { type Execution, executionQuery } from "./execution.ts";

/** What can be done with an execution: stop it, run it again, look at it in Temporal. */
export function ExecutionActions({ execution }: { execution: Execution }) {
  const { executionId, workflowId, status, draft, temporalUrl, cancelRequestedAt } = execution;
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
          search={{ ...(draft ? { draft: "1" } : {}), rerun: executionId }}
          variant={hasEnded(status) ? "filled" : "default"}
          leftSection={<RepeatIcon />}
        >
          Edit and rerun
        </ButtonLink>
      )}
    </Group>
  );
}
