import { Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import type { z } from "zod";
import type { SwitchPreview } from "../../../domain/api/schedules.ts";
import { callApi } from "../app/api.ts";
import { Dialog } from "../app/dialog.tsx";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import { TextDiff } from "../code/text-diff.tsx";
import { CommitActions } from "../commits/commit-actions.tsx";
import { usePublishing } from "../commits/publishing.ts";
import { toGivenName } from "./schedules.ts";

/** Pauses or resumes the schedule by a commit, and shows the commit before it is made. */
export function PauseDialog(props: {
  readonly workflowId: string;
  /** Of the schedule. */
  readonly name: string;
  readonly head: string;
  readonly enable: boolean;
  readonly onClose: () => void;
}) {
  const { workflowId, name, head, enable, onClose } = props;
  const path = `/api/workflows/${workflowId}/schedule`;
  const body = { enabled: enable, schedule: toGivenName(name), expectedHead: head };
  const preview = useQuery({
    // Apart from what becomes old with the commit: then it would be asked for once more, and refused.
    queryKey: ["schedule-change", workflowId, name, head, enable],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) =>
      callApi<z.infer<typeof SwitchPreview>>(path, {
        method: "POST",
        body: { ...body, dryRun: true },
        signal,
      }),
    gcTime: 0,
    retry: false,
  });
  const { state, publish } = usePublishing(workflowId);
  const commit = async (): Promise<void> => {
    const end = await publish(path, body);
    if (end.kind !== "committed") return;
    notifications.show({ color: "green", title: enable ? "Resumed" : "Paused", message: "The change is committed." });
    onClose();
  };
  return (
    <Dialog onClose={onClose} title={enable ? "Resume the schedule" : "Pause the schedule"} size="lg">
      <Stack gap="md">
        <Text size="sm">
          {enable
            ? "It runs again from its next scheduled time. Runs that were due while it was paused are not started."
            : "No scheduled run starts until you resume it. The form and the API keep working."}{" "}
          This is a commit of one line:
        </Text>
        {preview.isPending && <LoadingRows count={3} height={20} label="The change is loading" />}
        {preview.isError && <ErrorState error={preview.error} />}
        {preview.data !== undefined && (
          <TextDiff path="config.yaml" before={preview.data.before} after={preview.data.after} />
        )}
        <CommitActions
          state={state}
          isReady={preview.data !== undefined}
          commit={{ label: enable ? "Commit and resume" : "Commit and pause", act: commit }}
          leave={{ label: "Cancel", act: onClose }}
        />
      </Stack>
    </Dialog>
  );
}
