import { Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { Dialog } from "../app/dialog.tsx";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import { TextWithCode } from "../app/text-with-code.tsx";
import type { Commit } from "../workflows/workflows.ts";
import { CommitActions } from "./commit-actions.tsx";
import { diffQuery, toShortId } from "./commits.ts";
import { FileDiffs } from "./file-diffs.tsx";
import { usePublishing } from "./publishing.ts";

/** Makes the files of an earlier commit the latest ones again, by a new commit. Shows first what that changes. */
export function RestoreDialog(props: { workflowId: string; commit: Commit; head: string; onClose: () => void }) {
  const { workflowId, commit, head, onClose } = props;
  const short = toShortId(commit.commitId);
  const diff = useQuery(diffQuery(workflowId, head, commit.commitId));
  const { state, publish } = usePublishing(workflowId);
  const restore = async (): Promise<void> => {
    const path = `/api/workflows/${workflowId}/commits/${commit.commitId}/restore`;
    const end = await publish(path, { expectedHead: head });
    if (end.kind !== "committed") return;
    notifications.show({
      color: "green",
      title: `Restored ${short}`,
      message: `As commit ${toShortId(end.commitId)}.`,
    });
    onClose();
  };
  return (
    <Dialog onClose={onClose} title={`Restore ${short}`} size={800}>
      <Stack gap="md">
        <Text size="sm">
          The files of “{commit.message.split("\n")[0]}” become the latest ones, in a new commit. What was committed
          after it stays in the history. Drafts stay as they are. This is what changes:
        </Text>
        {diff.isPending && <LoadingRows count={3} label="The changes are loading" />}
        {diff.isError && <ErrorState error={diff.error} onRetry={() => void diff.refetch()} />}
        {diff.isSuccess && <FileDiffs files={diff.data} />}
        <CommitActions
          state={state}
          isReady={diff.isSuccess}
          commit={{ label: "Restore these files", act: restore }}
          leave={{ label: "Cancel", act: onClose }}
          whenMoved="Close this and look at what was committed."
        >
          {state.kind === "failed" &&
            state.problems.map(({ file, line, column, message }) => (
              <Text key={`${file} ${line} ${column} ${message}`} size="sm">
                {file}:{line}:{column} <TextWithCode text={message} />
              </Text>
            ))}
        </CommitActions>
      </Stack>
    </Dialog>
  );
}
