import { Button } from "@mantine/core";
import { type HotkeyItem, useHotkeys } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ComponentProps, lazy, Suspense, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { say } from "../app/announcer.tsx";
import { whenConnectionReturns } from "../app/connection.ts";
import { CheckIcon, FileIcon, PlayIcon } from "../app/icons.tsx";
import { loadPart } from "../app/load-part.ts";
import { useRoomBelow } from "../app/room-below.ts";
import { useMayChange } from "../app/session.ts";
import { EmptyState, LoadingRows } from "../app/states.tsx";
import { workflowQuery } from "../workflows/workflows.ts";
import { CodeEditor } from "./code-editor.tsx";
import classes from "./code-tab.module.css";
import { ConflictsNotice } from "./conflicts-notice.tsx";
import { DraftNotices } from "./draft-notices.tsx";
import type { DraftSaving, DraftState } from "./draft-saving.ts";
import { type FileActions, useFileActions } from "./file-actions.ts";
import { FileMenu } from "./file-menu.tsx";
import { FileTree, type Naming } from "./file-tree.tsx";
import { fixProblem } from "./fixes.ts";
import { ProblemList } from "./problem-list.tsx";
import { findManifestProblems, MANIFEST_FILE, mergeProblems, type ShownProblem, toMarks } from "./problems.ts";
import { SaveState } from "./save-state.tsx";
import { type TestPaneChoice, useTestPane } from "./test-pane-choice.ts";
import { UnshownFile } from "./unshown-file.tsx";

const CommitDialog = lazy(() =>
  loadPart(() => import("./commit-dialog.tsx")).then((loaded) => ({ default: loaded.CommitDialog })),
);

const TestPane = lazy(() => loadPart(() => import("./test-pane.tsx")).then((loaded) => ({ default: loaded.TestPane })));

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
  const [naming, setNaming] = useState<Naming>();
  const [committing, setCommitting] = useState(false);
  const [filesShown, setFilesShown] = useState(false);
  const desk = useRef<HTMLDivElement>(null);
  const room = useRoomBelow(desk);
  const paths = useMemo(() => [...state.files.keys()], [state.files]);
  const { open, place, show } = useOpenFile(paths, () => setFilesShown(false));
  const problems = useProblems(state);
  const onFix = (problem: ShownProblem): void => void fixProblem(saving, problem);
  const actions = useFileActions({ saving, open, show, setNaming });
  const test = useTestPane();
  const { run, save } = useDraftActs(workflowId, saving, test);
  const commit = (): void => setCommitting(true);
  const keys = listKeys({ save, run: test.isOpen ? undefined : run, commit });
  useHotkeys(committing || !mayChange ? [] : keys, [], true);
  useRefreshOnReturn(saving);
  const canCommit = state.changed || state.base === null;
  return (
    <>
      <DraftNotices workflowId={workflowId} saving={saving} state={state} head={workflow?.commitId} />
      <ConflictsNotice workflowId={workflowId} saving={saving} />
      <div
        ref={desk}
        className={classes.desk}
        style={{ height: room }}
        data-files={filesShown || undefined}
        data-test={test.isOpen || undefined}
      >
        <aside className={classes.files} aria-label="Files of the workflow">
          <FileMenu workflowId={workflowId} saving={saving} open={open} mayChange={mayChange} actions={actions} />
          <Tree
            paths={paths}
            open={open}
            problems={problems}
            unsaved={state.unsaved}
            naming={naming}
            onNaming={setNaming}
            onOpen={show}
            actions={actions}
          />
        </aside>
        <section className={classes.writing} aria-label={open}>
          <div className={classes.bar}>
            <FilesButton shown={filesShown} onToggle={() => setFilesShown(!filesShown)} />
            <h2 className={classes.open} title={open}>
              {open}
            </h2>
            <SaveState state={state} />
            {mayChange && <Acts canCommit={canCommit} onRun={run} onCommit={commit} test={test} />}
          </div>
          <OpenFile {...{ workflowId, saving, open, problems, place, onFix }} />
          <ProblemList problems={problems} onShow={show} onFix={mayChange ? onFix : undefined} />
        </section>
        {test.isOpen && mayChange && <TestPlace {...{ workflowId, saving, test }} onShow={show} />}
      </div>
      {committing && (
        <Suspense>
          <CommitDialog workflowId={workflowId} saving={saving} onShow={show} onClose={() => setCommitting(false)} />
        </Suspense>
      )}
    </>
  );
}

/** Without `run`, the form beside the code takes its key. */
function listKeys(acts: { save: () => void; run: (() => void) | undefined; commit: () => void }): HotkeyItem[] {
  return [
    ["mod+S", acts.save],
    ["mod+shift+Enter", acts.commit],
    ...(acts.run === undefined ? [] : [["mod+Enter", acts.run] satisfies HotkeyItem]),
  ];
}

/** Runs the draft beside the code, or on a page of its own where that has no room. */
function useDraftActs(workflowId: string, saving: DraftSaving, test: TestPaneChoice) {
  const navigate = route.useNavigate();
  const runOnPage = async (): Promise<void> => {
    if (!(await saving.saveNow())) return;
    await navigate({ to: "/workflows/$workflowId/run", params: { workflowId }, search: { draft: "1" } });
  };
  const save = async (): Promise<void> => {
    if (await saving.saveNow()) say("Draft saved");
  };
  return { run: test.isWide ? test.openToRun : () => void runOnPage(), save: () => void save() };
}

function TestPlace(props: ComponentProps<typeof TestPane>) {
  return (
    <Suspense fallback={<LoadingRows label="The test pane is loading" />}>
      <TestPane {...props} />
    </Suspense>
  );
}

/** On phones the files are out of sight until they are asked for. */
function FilesButton({ shown, onToggle }: { shown: boolean; onToggle: () => void }) {
  return (
    <Button
      variant="default"
      className={classes.filesButton}
      leftSection={<FileIcon />}
      aria-expanded={shown}
      onClick={onToggle}
    >
      Files
    </Button>
  );
}

function Tree(props: {
  readonly paths: readonly string[];
  readonly open: string;
  readonly problems: readonly ShownProblem[];
  readonly unsaved: readonly string[];
  readonly naming: Naming | undefined;
  readonly onNaming: (naming: Naming | undefined) => void;
  readonly onOpen: (path: string) => void;
  readonly actions: FileActions;
}) {
  const { paths, open, problems, unsaved, naming, onNaming, onOpen, actions } = props;
  return (
    <FileTree
      paths={paths}
      open={open}
      troubled={new Set(problems.flatMap(({ file, isWarning }) => (isWarning ? [] : [file])))}
      unsaved={new Set(unsaved)}
      mayChange={useMayChange()}
      naming={naming}
      onNaming={onNaming}
      onOpen={onOpen}
      onCreate={actions.create}
      onRename={actions.rename}
      onDelete={actions.confirmDelete}
      onDrop={actions.drop}
    />
  );
}

function Acts(props: { canCommit: boolean; onRun: () => void; onCommit: () => void; test: TestPaneChoice }) {
  const { canCommit, onRun, onCommit, test } = props;
  return (
    <div className={classes.acts}>
      {test.isWide && (
        <Button variant="default" aria-pressed={test.isOpen} onClick={test.toggle}>
          Test beside the code
        </Button>
      )}
      {!test.isOpen && (
        <Button variant="default" leftSection={<PlayIcon />} title="Ctrl+Enter" onClick={onRun}>
          Run this draft
        </Button>
      )}
      <Button leftSection={<CheckIcon />} title="Ctrl+Shift+Enter" disabled={!canCommit} onClick={onCommit}>
        Commit
      </Button>
    </div>
  );
}

function OpenFile(props: {
  readonly workflowId: string;
  readonly saving: DraftSaving;
  readonly open: string;
  readonly problems: readonly ShownProblem[];
  readonly place: Place | undefined;
  readonly onFix: (problem: ShownProblem) => void;
}) {
  const { workflowId, saving, open, problems, place, onFix } = props;
  const state = useSyncExternalStore(saving.subscribe, saving.getState);
  const mayChange = useMayChange();
  const file = state.files.get(open);
  const text = file?.text ?? null;
  const isStale = open !== MANIFEST_FILE && state.unsaved.includes(open);
  const marks = useMemo(() => {
    const own = problems.filter((problem) => problem.file === open);
    return isStale ? undefined : toMarks(text ?? "", own);
  }, [problems, text, open, isStale]);
  if (file === undefined) return <EmptyState title="No files">Make one, or drop some on the left.</EmptyState>;
  if (text === null) return <UnshownFile workflowId={workflowId} file={file} />;
  return (
    <CodeEditor
      path={open}
      text={text}
      config={state.files.get(MANIFEST_FILE)?.text ?? ""}
      marks={marks}
      readOnly={!mayChange}
      goTo={place}
      onFix={(problem) => onFix({ ...problem, file: open })}
      onChange={(written) => saving.change({ path: open, text: written })}
    />
  );
}

/** Which file is shown, and where in it the cursor was sent: as the address says. */
function useOpenFile(paths: readonly string[], onShow: () => void) {
  const { file, line } = route.useSearch();
  const navigate = route.useNavigate();
  const [place, setPlace] = useState<Place | undefined>(
    line === undefined ? undefined : { line: Number(line), column: 1 },
  );
  const show = (path: string, at?: Place): void => {
    onShow();
    setPlace(at);
    void navigate({ search: { file: path }, replace: true });
  };
  return { open: findOpenFile(paths, file), place, show };
}

/** The file that the address names, or what one wants to see first. */
function findOpenFile(paths: readonly string[], wanted: string | undefined): string {
  const first = [wanted, "main.py", MANIFEST_FILE].find((path) => path !== undefined && paths.includes(path));
  return first ?? paths[0] ?? "";
}

/** What is wrong now: of config.yaml as it stands here, of the rest as the service said when it saved last. */
function useProblems({ files, problems, warnings, unsaved }: DraftState) {
  const manifest = files.get(MANIFEST_FILE)?.text ?? null;
  const own = useMemo(() => (manifest === null ? [] : findManifestProblems(manifest)), [manifest]);
  return useMemo(() => {
    const found = [...problems, ...warnings.map((warning) => ({ ...warning, isWarning: true as const }))];
    // Of config.yaml it is known here what is wrong after each key. Without that, the list would come and go with each key.
    const theirs = found.filter(({ file }) => file !== MANIFEST_FILE || !unsaved.includes(MANIFEST_FILE));
    return mergeProblems(own, theirs);
  }, [own, problems, warnings, unsaved]);
}

/**
 * Reads the draft again when the author comes back, as another tab may have saved. Saves what could not be saved
 * before.
 */
function useRefreshOnReturn(saving: DraftSaving): void {
  useEffect(() => {
    const look = (): void => {
      if (!document.hidden) void saving.refresh().catch(() => undefined);
    };
    const save = (): void => void saving.saveNow();
    const stop = whenConnectionReturns(save);
    document.addEventListener("visibilitychange", look);
    globalThis.addEventListener("online", save);
    return () => {
      document.removeEventListener("visibilitychange", look);
      globalThis.removeEventListener("online", save);
      stop();
    };
  }, [saving]);
}
