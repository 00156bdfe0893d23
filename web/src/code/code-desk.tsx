import { Button } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { CheckIcon, FileIcon, PlayIcon } from "../app/icons.tsx";
import { useMayChange } from "../app/session.ts";
import { workflowQuery } from "../workflows/workflows.ts";
import { CodeEditor } from "./code-editor.tsx";
import classes from "./code-tab.module.css";
import { DraftNotices } from "./draft-notices.tsx";
import type { DraftSaving, DraftState } from "./draft-saving.ts";
import { useFileActions } from "./file-actions.tsx";
import { FileMenu } from "./file-menu.tsx";
import { FileTree, type Naming } from "./file-tree.tsx";
import { ProblemList } from "./problem-list.tsx";
import { findManifestProblems, MANIFEST_FILE, mergeProblems, toMarks } from "./problems.ts";
import { SaveState } from "./save-state.tsx";
import { UnshownFile } from "./unshown-file.tsx";

const CommitDialog = lazy(() => import("./commit-dialog.tsx").then((loaded) => ({ default: loaded.CommitDialog })));

const route = getRouteApi("/signed-in/workflows/$workflowId/code");

interface Place {
  readonly line: number;
  readonly column: number;
}

/** Files on the left, the one that is open beside them, what is wrong with them below. */
export function CodeDesk({ workflowId, saving }: { workflowId: string; saving: DraftSaving }) {
  const state = useSyncExternalStore(saving.subscribe, saving.getState);
  const mayChange = useMayChange();
  const { data: workflow } = useQuery(workflowQuery(workflowId));
  const { file, line } = route.useSearch();
  const navigate = route.useNavigate();
  const [naming, setNaming] = useState<Naming>();
  const [committing, setCommitting] = useState(false);
  const [filesShown, setFilesShown] = useState(false);
  const [place, setPlace] = useState<Place>();
  const paths = useMemo(() => [...state.files.keys()], [state.files]);
  const open = findOpenFile(paths, file);
  const current = state.files.get(open);
  const problems = useProblems(state);
  const marks = useMemo(() => {
    const own = problems.filter((problem) => problem.file === open);
    return toMarks(current?.text ?? "", own);
  }, [problems, current?.text, open]);

  const show = (path: string, at?: Place): void => {
    setFilesShown(false);
    setPlace(at);
    void navigate({ search: { file: path }, replace: true });
  };
  const actions = useFileActions({ saving, open, show, setNaming });
  const run = async (): Promise<void> => {
    if (!(await saving.saveNow())) return;
    await navigate({ to: "/workflows/$workflowId/run", params: { workflowId }, search: { draft: "1" } });
  };
  useHotkeys(
    [
      ["mod+S", () => void saving.saveNow()],
      ["mod+Enter", () => void run()],
      ["mod+shift+Enter", () => mayChange && setCommitting(true)],
    ],
    [],
    true,
  );
  useRefreshOnReturn(saving);
  useEffect(() => {
    if (line !== undefined) setPlace({ line: Number(line), column: 1 });
  }, [line]);

  return (
    <>
      <DraftNotices
        workflowId={workflowId}
        saving={saving}
        state={state}
        head={workflow === undefined ? undefined : workflow.commitId}
      />
      <div className={classes.desk} data-files={filesShown || undefined}>
        <aside className={classes.files} aria-label="Files of the workflow">
          <FileMenu workflowId={workflowId} saving={saving} open={open} mayChange={mayChange} actions={actions} />
          <FileTree
            paths={paths}
            open={open}
            troubled={new Set(problems.map((problem) => problem.file))}
            unsaved={new Set(state.unsaved)}
            mayChange={mayChange}
            naming={naming}
            onNaming={setNaming}
            onOpen={show}
            onCreate={actions.create}
            onRename={actions.rename}
            onDelete={actions.confirmDelete}
            onDrop={actions.drop}
          />
        </aside>
        <section className={classes.writing} aria-label={open}>
          <div className={classes.bar}>
            <Button
              variant="default"
              className={classes.filesButton}
              leftSection={<FileIcon />}
              aria-expanded={filesShown}
              onClick={() => setFilesShown(!filesShown)}
            >
              Files
            </Button>
            <h2 className={classes.open} title={open}>
              {open}
            </h2>
            <SaveState state={state} />
            <div className={classes.acts}>
              {mayChange && (
                <>
                  <Button variant="default" leftSection={<PlayIcon />} title="Ctrl+Enter" onClick={() => void run()}>
                    Run this draft
                  </Button>
                  <Button
                    leftSection={<CheckIcon />}
                    title="Ctrl+Shift+Enter"
                    disabled={!state.changed && state.base !== null}
                    onClick={() => setCommitting(true)}
                  >
                    Commit
                  </Button>
                </>
              )}
            </div>
          </div>
          {current !== undefined && current.text !== null && (
            <CodeEditor
              path={open}
              text={current.text}
              marks={marks}
              readOnly={!mayChange}
              goTo={place}
              onChange={(text) => saving.change({ path: open, text })}
            />
          )}
          {current !== undefined && current.text === null && <UnshownFile workflowId={workflowId} file={current} />}
          <ProblemList problems={problems} onShow={show} />
        </section>
      </div>
      {committing && (
        <Suspense>
          <CommitDialog workflowId={workflowId} saving={saving} onShow={show} onClose={() => setCommitting(false)} />
        </Suspense>
      )}
    </>
  );
}

/** The file that the address names, or what one wants to see first. */
function findOpenFile(paths: readonly string[], wanted: string | undefined): string {
  const first = [wanted, "main.py", MANIFEST_FILE].find((path) => path !== undefined && paths.includes(path));
  return first ?? paths[0] ?? "";
}

/** What is wrong now: of config.yaml as it stands here, of the rest as the service said when it saved last. */
function useProblems({ files, problems, unsaved }: DraftState) {
  const manifest = files.get(MANIFEST_FILE)?.text ?? null;
  const own = useMemo(() => (manifest === null ? [] : findManifestProblems(manifest)), [manifest]);
  return useMemo(() => {
    // Places of what was written over meanwhile are nobody's any more.
    const theirs = problems.filter((problem) => !unsaved.includes(problem.file));
    return mergeProblems(own, theirs);
  }, [own, problems, unsaved]);
}

/** Whoever comes back to this page may have written in another one. */
function useRefreshOnReturn(saving: DraftSaving): void {
  useEffect(() => {
    const look = (): void => {
      if (!document.hidden) void saving.refresh().catch(() => undefined);
    };
    const online = (): void => void saving.saveNow();
    document.addEventListener("visibilitychange", look);
    globalThis.addEventListener("online", online);
    return () => {
      document.removeEventListener("visibilitychange", look);
      globalThis.removeEventListener("online", online);
    };
  }, [saving]);
}
