import { Button } from "@mantine/core";
import { lazy, Suspense, useState, useSyncExternalStore } from "react";
import { loadPart } from "../app/load-part.ts";
import classes from "./code-tab.module.css";
import { complain, Notice } from "./draft-notices.tsx";
import type { DraftConflict, DraftSaving } from "./draft-saving.ts";
import { settleConflict } from "./drafts.ts";

const ConflictDialog = lazy(() =>
  loadPart(() => import("./conflict-dialog.tsx")).then((loaded) => ({ default: loaded.ConflictDialog })),
);

/**
 * Lists files that both have changed. The text of the others is not in the draft, and can be opened beside it. The service
 * keeps the list, for every browser, until the author settles each file or commits.
 */
export function ConflictsNotice({ workflowId, saving }: { workflowId: string; saving: DraftSaving }) {
  const { conflicts } = useSyncExternalStore(saving.subscribe, saving.getState);
  const [path, setPath] = useState<string>();
  if (conflicts.length === 0) return null;
  const shown = conflicts.find((conflict) => conflict.path === path);
  const close = (): void => setPath(undefined);
  const settle = (conflict: DraftConflict): void => {
    close();
    settleConflict(workflowId, saving, conflict).catch((error: Error) =>
      complain(`${conflict.path} is still to be decided`, error),
    );
  };
  return (
    <div className={classes.notices}>
      <Notice
        color="yellow"
        actions={conflicts.map((conflict) => (
          <Button key={conflict.path} onClick={() => setPath(conflict.path)}>
            Compare {conflict.path}
          </Button>
        ))}
      >
        <b>You and another author changed {conflicts.length === 1 ? "the same file" : "the same files"}.</b> Your draft
        has your text, and not theirs yet.
      </Notice>
      {shown !== undefined && (
        <Suspense>
          <ConflictDialog
            workflowId={workflowId}
            saving={saving}
            path={shown.path}
            theirs={shown.commitId}
            onSettled={() => settle(shown)}
            onClose={close}
          />
        </Suspense>
      )}
    </div>
  );
}
