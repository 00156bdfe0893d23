import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import { ButtonLink } from "../app/button-link.tsx";
import { useRoomBelow } from "../app/room-below.ts";
import { useMayChange } from "../app/session.ts";
import { EmptyState, ErrorState, LoadingRows } from "../app/states.tsx";
import { commitFilesQuery, toShortId } from "../commits/commits.ts";
import { CodeEditor } from "./code-editor.tsx";
import classes from "./code-tab.module.css";
import type { DraftFile } from "./draft.ts";
import { FileTree } from "./file-tree.tsx";

const route = getRouteApi("/signed-in/workflows/$workflowId/code");

const NONE: ReadonlySet<string> = new Set();
const nothing = (): void => undefined;

/** The files of one commit, to be read: what a run has run. The address names the file and the line. */
export function CommittedCode({ workflowId, commitId }: { workflowId: string; commitId: string }) {
  const found = useQuery(commitFilesQuery(workflowId, commitId));
  if (found.isError) return <ErrorState error={found.error} onRetry={() => void found.refetch()} />;
  if (found.isPending) return <LoadingRows count={10} height={28} label="The files are loading" />;
  return <CommittedFiles workflowId={workflowId} commitId={commitId} files={found.data} />;
}

function CommittedFiles(props: { workflowId: string; commitId: string; files: readonly DraftFile[] }) {
  const { workflowId, commitId, files } = props;
  const { file: wanted, line } = route.useSearch();
  const navigate = route.useNavigate();
  const mayChange = useMayChange();
  const desk = useRef<HTMLDivElement>(null);
  const room = useRoomBelow(desk);
  const paths = files.map(({ path }) => path);
  const shown = files.find(({ path }) => path === wanted) ?? files.find(({ path }) => path === "main.py") ?? files[0];
  const open = shown?.path ?? "";
  const goTo = useMemo(() => (line === undefined ? undefined : { line: Number(line), column: 1 }), [line]);
  const show = (file: string): void => void navigate({ search: { commit: commitId, file }, replace: true });
  return (
    <div ref={desk} className={classes.desk} style={{ height: room }} data-files={paths.length > 1 || undefined}>
      <aside className={classes.files} aria-label="Files of the commit">
        <div className={classes.fileMenu}>
          <span className={classes.fileTitle}>
            Commit <code>{toShortId(commitId)}</code>
          </span>
        </div>
        <FileTree
          paths={paths}
          open={open}
          troubled={NONE}
          unsaved={NONE}
          mayChange={false}
          naming={undefined}
          onOpen={show}
          onNaming={nothing}
          onCreate={nothing}
          onRename={nothing}
          onDelete={nothing}
          onDrop={nothing}
        />
      </aside>
      <section className={classes.writing} aria-label={open}>
        <div className={classes.bar}>
          <h2 className={classes.open} title={open}>
            {open}
          </h2>
          <Text span size="sm" c="dimmed" className={classes.saveState}>
            As it is in commit {toShortId(commitId)}
          </Text>
          <ButtonLink
            to="/workflows/$workflowId/code"
            params={{ workflowId }}
            search={{ file: open, ...(line === undefined ? {} : { line }) }}
            variant="default"
          >
            {mayChange ? "Edit in draft" : "Latest files"}
          </ButtonLink>
        </div>
        {shown === undefined || shown.text === null ? (
          <EmptyState title="This file is not shown">It is no text, or more of it than can be shown here.</EmptyState>
        ) : (
          <CodeEditor path={open} text={shown.text} marks={[]} readOnly goTo={goTo} onChange={nothing} />
        )}
      </section>
    </div>
  );
}
