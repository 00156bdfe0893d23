import { Alert, Button, Group, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { AlertIcon } from "../app/icons.tsx";
import { useMayChange } from "../app/session.ts";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import { diffQuery, toShortId } from "../commits/commits.ts";
import { FileDiffs } from "../commits/file-diffs.tsx";
import classes from "./code-tab.module.css";
import type { DraftSaving, DraftState } from "./draft-saving.ts";
import { rebaseDraft } from "./drafts.ts";

interface NoticesProps {
  readonly workflowId: string;
  readonly saving: DraftSaving;
  readonly state: DraftState;
  /** The latest commit, null when there is none, undefined while it is not known. */
  readonly head: string | null | undefined;
}

/** What stands between an author and a commit: other tabs, other people, no connection, no right to write. */
export function DraftNotices({ workflowId, saving, state, head }: NoticesProps) {
  const mayChange = useMayChange();
  const hasMoved = head !== undefined && head !== null && head !== state.base && state.version > 0;
  return (
    <div className={classes.notices}>
      {!mayChange && <Notice color="gray">You may read these files, and not change them.</Notice>}
      {state.status === "conflict" && <ConflictNotice saving={saving} state={state} />}
      {(state.status === "refused" || state.status === "offline") && (
        <Notice color={state.status === "refused" ? "red" : "yellow"}>
          <b>{state.unsaved.join(", ")} could not be saved.</b> {state.message}
        </Notice>
      )}
      {hasMoved && <HeadMovedNotice workflowId={workflowId} saving={saving} base={state.base} head={head} />}
    </div>
  );
}

/** Something about the draft that is to be seen before it is written further. */
export function Notice({ color, children, actions }: { color: string; children: ReactNode; actions?: ReactNode }) {
  return (
    <Alert color={color} variant="light" icon={<AlertIcon />} p="xs" role="alert">
      <Group justify="space-between" gap="sm">
        <Text size="sm">{children}</Text>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
    </Alert>
  );
}

function ConflictNotice({ saving, state }: { saving: DraftSaving; state: DraftState }) {
  const decide = (keep: "mine" | "theirs"): void => {
    saving.resolveConflict(keep).catch((error: Error) => complain("This could not be decided", error));
  };
  return (
    <Notice
      color="red"
      actions={
        <>
          <Button variant="default" onClick={() => decide("theirs")}>
            Take the other one
          </Button>
          <Button onClick={() => decide("mine")}>Keep what is here</Button>
        </>
      }
    >
      <b>Your draft was changed in another tab or browser.</b> Not saved here: {state.unsaved.join(", ")}. Whichever you
      choose, the other files are as they were saved there.
    </Notice>
  );
}

/** Others have committed since this draft began: what, and how to go on from there. */
export function HeadMovedNotice(props: {
  readonly workflowId: string;
  readonly saving: DraftSaving;
  readonly base: string | null;
  readonly head: string;
  readonly onRebased?: () => void;
}) {
  const { workflowId, saving, base, head, onRebased } = props;
  const [shown, setShown] = useState(false);
  const takeOver = async (): Promise<void> => {
    try {
      if (!(await saving.saveNow())) return;
      await rebaseDraft(workflowId, saving);
      onRebased?.();
    } catch (error) {
      complain("The commit was not taken over", error as Error);
    }
  };
  return (
    <>
      <Notice
        color="yellow"
        actions={
          <>
            <Button variant="default" aria-expanded={shown} onClick={() => setShown(!shown)}>
              {shown ? "Hide it" : "Show what changed"}
            </Button>
            <Button onClick={() => void takeOver()}>Take it over</Button>
          </>
        }
      >
        <b>{toShortId(head)} was committed after your draft began.</b> Taking it over keeps everything you have written.
      </Notice>
      {shown && <ShownDiff workflowId={workflowId} from={base} to={head} />}
    </>
  );
}

function ShownDiff({ workflowId, from, to }: { workflowId: string; from: string | null; to: string }) {
  const diff = useQuery(diffQuery(workflowId, from, to));
  if (diff.isError) return <ErrorState error={diff.error} onRetry={() => void diff.refetch()} />;
  if (diff.isPending) return <LoadingRows count={3} label="The changes are loading" />;
  return <FileDiffs files={diff.data} />;
}

/** Shows that something about the draft failed. */
export function complain(title: string, error: Error): void {
  notifications.show({ color: "red", title, message: error.message });
}
