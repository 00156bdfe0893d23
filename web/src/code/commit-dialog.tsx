import { Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, type KeyboardEvent, useState, useSyncExternalStore } from "react";
import { MESSAGE_CHARACTERS_MAX } from "../../../domain/api/limits.ts";
import classes from "../app/dialog.module.css";
import { Dialog } from "../app/dialog.tsx";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import { BuildProgress } from "../commits/build-progress.tsx";
import { diffQuery, toShortId } from "../commits/commits.ts";
import { FileDiffs } from "../commits/file-diffs.tsx";
import { usePublishing } from "../commits/publishing.ts";
import { workflowQuery } from "../workflows/workflows.ts";
import { CommitEffects } from "./commit-effects.tsx";
import { HeadMovedNotice, Notice } from "./draft-notices.tsx";
import type { DraftSaving } from "./draft-saving.ts";
import { previewQuery, reloadDraft } from "./drafts.ts";
import { ProblemList } from "./problem-list.tsx";

interface CommitDialogProps {
  readonly workflowId: string;
  readonly saving: DraftSaving;
  readonly onShow: (file: string, at: { line: number; column: number }) => void;
  readonly onClose: () => void;
}

/** Shows what a commit would change, for the files and for callers, asks what to call it, and makes it. */
export function CommitDialog({ workflowId, saving, onShow, onClose }: CommitDialogProps) {
  const state = useSyncExternalStore(saving.subscribe, saving.getState);
  const isPhone = useMediaQuery("(max-width: 48em)");
  const [message, setMessage] = useState("");
  const commit = useCommit({ workflowId, saving, onClose });
  const undecided = state.conflicts.map(({ path }) => path);
  const { publishing, problems, head, isSaved } = commit;
  const hasMoved = head !== null && head !== state.base;
  const isBusy = publishing.kind === "building";
  const mayCommit = message.trim() !== "" && !isBusy && !hasMoved && (problems.length === 0 || commit.hasFailed);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (mayCommit) void commit.make(message.trim());
  };
  const show = (file: string, at: { line: number; column: number }): void => {
    onClose();
    onShow(file, at);
  };
  return (
    <Dialog
      onClose={onClose}
      title="Commit"
      size={900}
      fullScreen={isPhone === true}
      closeOnClickOutside={false}
      closeOnEscape={!isBusy}
    >
      <form onSubmit={submit}>
        <Stack gap="md">
          {hasMoved && (
            <HeadMovedNotice
              workflowId={workflowId}
              saving={saving}
              base={state.base}
              head={head}
              onRebased={commit.reset}
            />
          )}
          <MessageField value={message} disabled={isBusy} onChange={setMessage} />
          <UndecidedNotice paths={undecided} onClose={onClose} />
          <ProblemList problems={problems} onShow={show} />
          <BuildProgress state={publishing} />
          {problems.length === 0 && commit.preview !== undefined && (
            <CommitEffects preview={commit.preview} before={commit.before} files={state.files} />
          )}
          <DraftDiff workflowId={workflowId} base={state.base} version={state.version} isSaved={isSaved} />
          <Acts isSaved={isSaved} isBusy={isBusy} mayCommit={mayCommit} onClose={onClose} />
        </Stack>
      </form>
    </Dialog>
  );
}

/** Lists files that another author changed, too, and that this author has not looked at since. */
function UndecidedNotice({ paths, onClose }: { paths: readonly string[]; onClose: () => void }) {
  if (paths.length === 0) return null;
  return (
    <Notice
      color="yellow"
      actions={
        <Button variant="default" onClick={onClose}>
          Compare first
        </Button>
      }
    >
      <b>Another author changed {paths.join(", ")}, too.</b> If you commit now, the latest commit will not have what
      they wrote there.
    </Notice>
  );
}

function Acts(props: { isSaved: boolean; isBusy: boolean; mayCommit: boolean; onClose: () => void }) {
  const { isSaved, isBusy, mayCommit, onClose } = props;
  return (
    <Group justify="space-between" gap="sm" className={classes.acts}>
      <Text size="sm" c="dimmed">
        {isSaved ? "Packages are built before anything changes for callers." : "The draft is being saved."}
      </Text>
      <Group gap="xs">
        <Button variant="default" onClick={onClose}>
          {isBusy ? "Close, and let it build" : "Cancel"}
        </Button>
        <Button type="submit" loading={isBusy} disabled={!mayCommit} title="Ctrl+Enter">
          Commit
        </Button>
      </Group>
    </Group>
  );
}

/** What committing would mean, what became of it, and the act itself. */
function useCommit({ workflowId, saving, onClose }: Omit<CommitDialogProps, "onShow">) {
  const state = useSyncExternalStore(saving.subscribe, saving.getState);
  const { data: workflow } = useQuery(workflowQuery(workflowId));
  const { state: publishing, publish, reset } = usePublishing(workflowId);
  const isSaved = state.status === "saved";
  const known = workflow?.commitId ?? null;
  const { data: preview } = useQuery({ ...previewQuery(workflowId, state.version, known), enabled: isSaved });

  const make = async (message: string): Promise<void> => {
    if (!(await saving.saveNow())) return;
    const { version, base } = saving.getState();
    const path = `/api/workflows/${workflowId}/commits`;
    const end = await publish(path, { message, version, expectedHead: base });
    if (end.kind !== "committed") return;
    await reloadDraft(workflowId, saving);
    const title = end.changed ? `Committed ${toShortId(end.commitId)}` : "Nothing to commit";
    const words = end.changed ? message : "The latest commit has just these files.";
    notifications.show({ color: "green", title, message: words });
    onClose();
  };
  return {
    make,
    reset,
    publishing,
    isSaved,
    preview,
    before: workflow?.manifest ?? null,
    problems: publishing.kind === "failed" ? publishing.problems : (preview?.problems ?? []),
    hasFailed: publishing.kind === "failed",
    head: publishing.kind === "moved" ? publishing.head : known,
  };
}

function MessageField(props: { value: string; disabled: boolean; onChange: (value: string) => void }) {
  const { value, disabled, onChange } = props;
  const press = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    // Also Ctrl+Enter of the page below is meant for this field while it is open.
    event.stopPropagation();
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.currentTarget.form?.requestSubmit();
  };
  return (
    <Textarea
      label="What changes, and why"
      required
      data-autofocus
      autosize
      minRows={2}
      maxRows={8}
      maxLength={MESSAGE_CHARACTERS_MAX}
      value={value}
      disabled={disabled}
      onKeyDown={press}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function DraftDiff(props: { workflowId: string; base: string | null; version: number; isSaved: boolean }) {
  const { workflowId, base, version, isSaved } = props;
  const diff = useQuery({ ...diffQuery(workflowId, base, "draft", version), enabled: isSaved });
  if (diff.isError) return <ErrorState error={diff.error} onRetry={() => void diff.refetch()} />;
  if (diff.data === undefined) return <LoadingRows count={3} label="The changes are loading" />;
  return <FileDiffs files={diff.data} />;
}
