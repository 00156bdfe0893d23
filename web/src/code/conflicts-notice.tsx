import { Button } from "@mantine/core";
import { lazy, Suspense, useState } from "react";
import { loadPart } from "../app/load-part.ts";
import classes from "./code-tab.module.css";
import { useConflicts } from "./conflicts.ts";
import { Notice } from "./draft-notices.tsx";
import type { DraftSaving } from "./draft-saving.ts";

const ConflictDialog = lazy(() =>
  loadPart(() => import("./conflict-dialog.tsx")).then((loaded) => ({ default: loaded.ConflictDialog })),
);

/** Files that both have changed: what the others wrote there is not in the draft, and can be looked at beside it. */
export function ConflictsNotice(props: { workflowId: string; saving: DraftSaving; base: string | null }) {
  const { workflowId, saving, base } = props;
  const conflicts = useConflicts(workflowId, base);
  const [shown, setShown] = useState<string>();
  const paths = Object.keys(conflicts.files).toSorted();
  if (paths.length === 0) return null;
  const theirs = shown === undefined ? undefined : conflicts.files[shown];
  return (
    <div className={classes.notices}>
      <Notice
        color="yellow"
        actions={paths.map((path) => (
          <Button key={path} onClick={() => setShown(path)}>
            Compare {path}
          </Button>
        ))}
      >
        <b>You and somebody else have changed {paths.length === 1 ? "the same file" : "the same files"}.</b> Your draft
        has what you wrote; what they wrote there is not in it yet.
      </Notice>
      {shown !== undefined && theirs !== undefined && (
        <Suspense>
          <ConflictDialog
            workflowId={workflowId}
            saving={saving}
            path={shown}
            theirs={theirs}
            onSettled={() => {
              conflicts.settle(shown);
              setShown(undefined);
            }}
            onClose={() => setShown(undefined)}
          />
        </Suspense>
      )}
    </div>
  );
}
