import { Button, Group, Stack, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { Dialog } from "../app/dialog.tsx";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import { commitFilesQuery, toShortId } from "../commits/commits.ts";
import classes from "./conflict-dialog.module.css";
import type { DraftSaving } from "./draft-saving.ts";
import { TextsSideBySide } from "./texts-side-by-side.tsx";

interface ConflictDialogProps {
  readonly workflowId: string;
  readonly saving: DraftSaving;
  readonly path: string;
  /** The commit that has the other text. */
  readonly theirs: string;
  readonly onSettled: () => void;
  readonly onClose: () => void;
}

/** A file that both have changed: their text beside one's own, which can be written further here, piece by piece or as a whole. */
export function ConflictDialog(props: ConflictDialogProps) {
  const { workflowId, path, theirs, onClose } = props;
  const isPhone = useMediaQuery("(max-width: 48em)");
  const commit = useQuery(commitFilesQuery(workflowId, theirs));
  return (
    <Dialog onClose={onClose} title={`Both have changed ${path}`} size={1200} fullScreen={isPhone === true}>
      {commit.isPending && <LoadingRows label="Their text is loading" />}
      {commit.isLoadingError && <ErrorState error={commit.error} onRetry={() => void commit.refetch()} />}
      {commit.data !== undefined && (
        <Decision {...props} other={commit.data.find((file) => file.path === path)?.text} isNarrow={isPhone === true} />
      )}
    </Dialog>
  );
}

/** `other` is undefined where they have deleted the file, null where there is no text to show. */
function Decision(props: ConflictDialogProps & { other: string | null | undefined; isNarrow: boolean }) {
  const { saving, path, theirs, other, isNarrow, onSettled } = props;
  const { files } = useSyncExternalStore(saving.subscribe, saving.getState);
  const own = files.get(path)?.text;
  const takeTheirs = (): void => {
    if (typeof other === "string") saving.change({ path, text: other });
    else saving.change({ path, delete: true });
    onSettled();
  };
  const canTake = other !== null && !(other === undefined && own === undefined);
  return (
    <Stack gap="md">
      <Text size="sm">{describe(own, other, isNarrow)}</Text>
      {typeof own === "string" && typeof other === "string" && (
        <>
          {!isNarrow && (
            <div className={classes.heads}>
              <span>
                Theirs, as committed in <code>{toShortId(theirs)}</code>
              </span>
              <span>Yours, in your draft</span>
            </div>
          )}
          <TextsSideBySide
            path={path}
            theirs={other}
            yours={own}
            isNarrow={isNarrow}
            onChange={(text) => saving.change({ path, text })}
          />
        </>
      )}
      <Group justify="flex-end" gap="xs">
        {canTake && (
          <Button variant="default" onClick={takeTheirs}>
            {other === undefined ? "Delete it, as they did" : "Take theirs as a whole"}
          </Button>
        )}
        <Button onClick={onSettled}>Done: it is as I want it</Button>
      </Group>
    </Stack>
  );
}

function describe(own: string | null | undefined, other: string | null | undefined, isNarrow: boolean): string {
  if (other === undefined) return "They have deleted this file; your draft still has it.";
  if (own === undefined) return "You have deleted this file; they have changed it since.";
  if (own === null || other === null) return "It is not a text, or too long to compare here. Your draft has your own.";
  if (isNarrow)
    return "Where the texts differ, their lines stand above yours: take them, or keep your own. You may also write.";
  return "Where the texts differ, an arrow takes their lines over into yours. You may also write on the right.";
}
