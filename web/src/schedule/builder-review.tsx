import { Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import type { z } from "zod";
import type { DeclarationPreview } from "../../../domain/api/schedules.ts";
import { callApi } from "../app/api.ts";
import { ApiError } from "../app/api-error.ts";
import { Refusal } from "../app/refusal.tsx";
import { LoadingRows } from "../app/states.tsx";
import { TextDiff } from "../code/text-diff.tsx";
import { CommitActions } from "../commits/commit-actions.tsx";
import { usePublishing } from "../commits/publishing.ts";
import { NextRuns } from "./next-runs.tsx";

/** A schedule as the builder made it. The payload is JSON text. */
export interface Wanted {
  readonly cron: string;
  readonly timezone: string;
  readonly payload: string;
}

/** Shows what a schedule changes in config.yaml and when it is due next, and commits it. */
export function BuilderReview(props: {
  readonly workflowId: string;
  readonly head: string;
  readonly wanted: Wanted;
  readonly onBack: () => void;
  readonly onClose: () => void;
}) {
  const { workflowId, head, wanted, onBack, onClose } = props;
  const path = `/api/workflows/${workflowId}/schedule`;
  const body = { ...wanted, expectedHead: head };
  const preview = useQuery({
    queryKey: ["schedule-declaration", workflowId, body],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) =>
      callApi<z.infer<typeof DeclarationPreview>>(path, { method: "PUT", body: { ...body, dryRun: true }, signal }),
    gcTime: 0,
    retry: false,
  });
  const { state, publish } = usePublishing(workflowId);
  const commit = async (): Promise<void> => {
    const end = await publish(path, body, "PUT");
    if (end.kind !== "committed") return;
    notifications.show({ color: "green", title: "Schedule", message: "The change is committed." });
    onClose();
  };
  const isSame = preview.data?.before === preview.data?.after;
  return (
    <Stack gap="md">
      {preview.isPending && <LoadingRows count={3} height={20} label="The change is loading" />}
      <Refusal error={preview.error} />
      <Problems error={preview.error} />
      {preview.data !== undefined && isSame && <Text>config.yaml says this already: there is nothing to commit.</Text>}
      {preview.data !== undefined && !isSame && (
        <>
          <Text size="sm">It runs {preview.data.description}. This is a commit of config.yaml:</Text>
          <TextDiff path="config.yaml" before={preview.data.before} after={preview.data.after} />
          {preview.data.nextRuns.length > 0 && <NextRuns runs={preview.data.nextRuns} />}
          {preview.data.nextRuns.length === 0 && (
            <Text c="dimmed">The schedule is paused, and stays so: resume it to let it run.</Text>
          )}
        </>
      )}
      <CommitActions
        state={state}
        isReady={preview.data !== undefined && !isSame}
        commit={{ label: "Commit", act: commit }}
        leave={{ label: "Back", act: onBack }}
      />
    </Stack>
  );
}

/** What is wrong with the file as it would be. */
function Problems({ error }: { error: Error | null }) {
  if (!(error instanceof ApiError) || error.details.length === 0) return null;
  return (
    <ul>
      {error.details.map(({ message }) => (
        <li key={message}>{message}</li>
      ))}
    </ul>
  );
}
