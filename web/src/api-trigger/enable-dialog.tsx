import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { editTrigger } from "../../../domain/manifest/trigger-edit.ts";
import { Dialog } from "../app/dialog.tsx";
import { loadPart } from "../app/load-part.ts";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import type { DraftSaving } from "../code/draft-saving.ts";
import { draftQuery } from "../code/drafts.ts";
import { MANIFEST_FILE } from "../code/problems.ts";

const TextDiff = lazy(() =>
  loadPart(() => import("../code/text-diff.tsx")).then((loaded) => ({ default: loaded.TextDiff })),
);

/** Puts the API trigger's new state into the draft, after it was shown what that changes there. */
export function EnableDialog(props: { workflowId: string; enable: boolean; onClose: () => void }) {
  const { workflowId, enable, onClose } = props;
  const draft = useQuery(draftQuery(workflowId));
  return (
    <Dialog onClose={onClose} title={enable ? "Enable the API trigger" : "Disable the API trigger"} size="lg">
      {draft.isPending && <LoadingRows count={3} height={20} label="The draft is loading" />}
      {draft.isError && <ErrorState error={draft.error} onRetry={() => void draft.refetch()} />}
      {draft.isSuccess && <Change workflowId={workflowId} enable={enable} saving={draft.data} onClose={onClose} />}
    </Dialog>
  );
}

function Change(props: { workflowId: string; enable: boolean; saving: DraftSaving; onClose: () => void }) {
  const { workflowId, enable, saving, onClose } = props;
  const navigate = useNavigate();
  const before = saving.getState().files.get(MANIFEST_FILE)?.text ?? "";
  const edit = editTrigger(before, "api", enable);
  const apply = async (): Promise<void> => {
    if (edit.ok && edit.text !== before) saving.change({ path: MANIFEST_FILE, text: edit.text });
    await saving.saveNow();
    await navigate({ to: "/workflows/$workflowId/code", params: { workflowId }, search: { file: MANIFEST_FILE } });
  };
  if (!edit.ok) {
    return (
      <Alert color="red" variant="light" role="alert">
        {edit.message}
      </Alert>
    );
  }
  const isThere = edit.text === before;
  return (
    <Stack gap="md">
      <Text size="sm">
        {isThere
          ? "Your draft says so already. It holds once the draft is committed."
          : "This goes into your draft of config.yaml. It holds once you commit it."}
      </Text>
      {!isThere && (
        <Suspense fallback={<LoadingRows count={3} height={20} label="The change is loading" />}>
          <TextDiff path={MANIFEST_FILE} before={before} after={edit.text} />
        </Suspense>
      )}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button data-autofocus onClick={() => void apply()}>
          {isThere ? "Go to the draft" : "Change the draft"}
        </Button>
      </Group>
    </Stack>
  );
}
